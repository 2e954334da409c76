"""
A git history as a person typing it: commits into openings, jumps, deletions and typed lines.

`steps` walks the first parents of the newest commits, oldest first, so that every commit begins
where the last one ended. Within a commit files come in git's order and hunks from top to bottom;
what a hunk removes goes first, then its lines are typed one by one.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import git
from benchmarks.next_edit.commits import PROSE, hunks
from fim_lsp.context.grammars import language_of

_MAX_TYPED = 400  # lines per commit: one import of a library must not outweigh forty real commits


class Open(NamedTuple):
    """The file is opened, or looked at again."""

    path: str
    lines: tuple[str, ...]


class Replace(NamedTuple):
    """Lines [start, end) are gone at once (a deletion), or something outside put *lines* there."""

    path: str
    start: int
    end: int


class Type(NamedTuple):
    """One line is typed above line *at*."""

    path: str
    at: int
    line: str


class Save(NamedTuple):
    """The file is saved; the next one follows."""

    path: str


class Commit(NamedTuple):
    """A commit begins; *outside* are files changed by others (too large to type), by path."""

    id: str
    outside: dict[str, tuple[str, ...] | None]


Step = Open | Replace | Type | Save | Commit


class History:
    """The newest *n_commits* of the repository at *path* that touch code."""

    def __init__(self, path: Path, n_commits: int, skip: int = 0) -> None:
        self._git_dir = path
        ids = git(
            self._git_dir, "log", "--first-parent", "--format=%H", f"-n{n_commits * 8 + skip}"
        ).split()
        touching = [c for c in ids[skip:] if self._has_parent(c) and self._changes(c)]
        self.commits = touching[:n_commits][::-1]

    def workspace(self, commit: str) -> dict[str, str]:
        """Return the code files before *commit*, by path."""
        return self.files(f"{commit}^")

    def files(self, commit: str) -> dict[str, str]:
        """Return the code files at *commit*, by path."""
        tree = git(self._git_dir, "ls-tree", "-r", "--name-only", commit).splitlines()
        paths = [p for p in tree if language_of(p) not in PROSE]
        return {path: self._text(commit, path) for path in paths}

    def steps(self) -> Iterator[Step]:
        """Yield all of it, commit by commit."""
        previous = self.commits[0] + "^"
        for commit in self.commits:
            drift = git(
                self._git_dir, "diff", "--name-only", "--no-renames", previous, f"{commit}^"
            ).splitlines()
            outside = {
                p: self._lines(f"{commit}^", p) for p in drift if language_of(p) not in PROSE
            }
            yield Commit(commit, outside)
            yield from self._type(commit)
            previous = commit

    def _type(self, commit: str) -> Iterator[Step]:
        n_typed = 0
        for path in self._changes(commit):
            hunks = list(self._hunks(commit, path))
            n_lines = sum(len(lines) for *_, lines in hunks)
            before = self._lines(f"{commit}^", path) or ()
            if n_typed + n_lines > _MAX_TYPED:
                yield Commit(commit, {path: self._lines(commit, path)})
                continue
            n_typed += n_lines
            yield Open(path, before)
            for start, n_removed, lines in hunks:
                if n_removed:
                    yield Replace(path, start, start + n_removed)
                for offset, line in enumerate(lines):
                    yield Type(path, start + offset, line)
            yield Save(path)

    def _hunks(self, commit: str, path: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """(line in the text so far, lines removed, lines added) from top to bottom."""
        diff = git(self._git_dir, "diff", "-U0", "--no-renames", f"{commit}^", commit, "--", path)
        grown = 0
        for hunk in hunks(path, diff):
            yield hunk.start + grown, len(hunk.before), hunk.after
            grown += len(hunk.after) - len(hunk.before)

    def _changes(self, commit: str) -> list[str]:
        range_ = f"{commit}^", commit
        rows = git(
            self._git_dir, "diff", "--name-only", "--no-renames", "--diff-filter=AM", *range_
        )
        return [p for p in rows.splitlines() if language_of(p) not in PROSE]

    def _has_parent(self, commit: str) -> bool:
        return len(git(self._git_dir, "rev-list", "--parents", "-n1", commit).split()) > 1

    def _text(self, commit: str, path: str) -> str:
        return git(self._git_dir, "show", f"{commit}:{path}")

    def _lines(self, commit: str, path: str) -> tuple[str, ...] | None:
        try:
            return tuple(self._text(commit, path).split("\n"))
        except subprocess.CalledProcessError:
            return None

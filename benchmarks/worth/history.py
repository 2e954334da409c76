"""
A git history as a person typing it: commits into openings, jumps, deletions and typed lines.

`steps` walks the first parents of the newest commits, oldest first, so that every commit begins
where the last one ended. Within a commit files come in git's order and hunks from top to bottom;
what a hunk removes goes first, then its lines are typed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import CodeFiles, Lines, git, is_code
from benchmarks.next_edit.commits import hunks

_MOST_CHARS = 300_000  # a longer file is data or generated code
_MAX_TYPED = 400  # lines per commit: one import of a library must not outweigh forty real commits


class Open(NamedTuple):
    """The file is opened, or looked at again."""

    path: str
    lines: Lines


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
    outside: dict[str, Lines | None]


Files = Mapping[str, Lines]
Step = Open | Replace | Type | Save | Commit


class History:
    """The newest *n_commits* of the repository at *path* that touch code."""

    def __init__(self, path: Path, n_commits: int) -> None:
        self._path = path
        self._code = CodeFiles(path, _MOST_CHARS)
        log = git(path, "log", "--first-parent", "--format=%H %P", f"-n{n_commits * 8}")
        commits = (commit for commit, *parents in map(str.split, log.splitlines()) if parents)
        self.commits = [*islice(filter(self._changes, commits), n_commits)][::-1]

    def workspace(self) -> dict[str, str]:
        """Return the code files before the first commit, by path."""
        files = self._code.at(f"{self.commits[0]}^")
        return {path: "\n".join(lines) for path, lines in files.items()}

    def steps(self) -> Iterator[Step]:
        """Yield all of it, commit by commit."""
        previous = self.commits[0] + "^"
        for commit in self.commits:
            before = self._code.at(f"{commit}^")
            after = self._code.at(commit)
            drift = self._diff("--name-only", previous, f"{commit}^").splitlines()
            yield Commit(commit, {path: before.get(path) for path in filter(is_code, drift)})
            yield from self._type(commit, before, after)
            previous = commit

    def _type(self, commit: str, before: Files, after: Files) -> Iterator[Step]:
        n_typed = 0
        for path in filter(after.__contains__, self._changes(commit)):
            hunks = list(self._hunks(commit, path))
            n_lines = sum(len(lines) for *_, lines in hunks)
            if n_typed + n_lines > _MAX_TYPED:
                yield Commit(commit, {path: after.get(path)})
                continue
            n_typed += n_lines
            yield Open(path, before.get(path, ()))
            for start, n_removed, lines in hunks:
                if n_removed:
                    yield Replace(path, start, start + n_removed)
                for offset, line in enumerate(lines):
                    yield Type(path, start + offset, line)
            yield Save(path)

    def _hunks(self, commit: str, path: str) -> Iterator[tuple[int, int, Lines]]:
        """(line in the text so far, lines removed, lines added) from top to bottom."""
        grown = 0
        for hunk in hunks(path, self._diff("-U0", f"{commit}^", commit, "--", path)):
            yield hunk.start + grown, len(hunk.before), hunk.after
            grown += len(hunk.after) - len(hunk.before)

    def _changes(self, commit: str) -> list[str]:
        """Return the code files that a commit adds or changes."""
        rows = self._diff("--name-only", "--diff-filter=AM", f"{commit}^", commit)
        return [*filter(is_code, rows.splitlines())]

    def _diff(self, *arguments: str) -> str:
        return git(self._path, "diff", "--no-renames", *arguments)

"""
A git history into commits, and a commit into its hunks in order, with the texts they begin from.

Hunks are those of `git diff -U0`: files in git's order, from top to bottom. Merges are left out, as are
commits that change more than `MAX_LINES` lines of code: imports of libraries and formatters' work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import CodeFiles, Lines, git, is_code

MAX_LINES = 600  # of a commit, added and removed
MAX_CHARS = 400_000  # of a file that is read
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Hunk(NamedTuple):
    """In *path*, the lines *before* became *after*; *start* counts on the text before the commit."""

    path: str
    start: int
    before: Lines
    after: Lines


@dataclass
class Commit:
    """The hunks of a commit in order."""

    id: str
    hunks: list[Hunk] = field(default_factory=list)


class History:
    """The newest *n_commits* of a repository that change code, oldest first."""

    def __init__(self, path: Path, n_commits: int) -> None:
        self._code = CodeFiles(path, MAX_CHARS)
        self.commits = _commits(path, n_commits)

    def files(self, commit: Commit, *paths: str) -> dict[str, Lines]:
        """Return the code files before *commit*, or those of *paths*, by path."""
        return self._code.at(f"{commit.id}^", *paths)


def _commits(path: Path, n_commits: int) -> list[Commit]:
    log = git(path,
        "log", "--no-merges", "--format=commit %H", f"-n{4 * n_commits}", "-p", "-U0",
        "--no-renames", "--diff-filter=M", "--no-color", "--no-ext-diff",
    )  # fmt: skip
    commits = []
    for commit in hunks_of(log):
        n_lines = sum(len(hunk.before) + len(hunk.after) for hunk in commit.hunks)
        if 0 < n_lines <= MAX_LINES:
            commits.append(commit)
    return commits[:n_commits][::-1]


def hunks_of(log: str) -> Iterator[Commit]:
    """Yield the commits of `git log -p -U0`, with the hunks in code."""
    for part in ("\n" + log).split("\ncommit ")[1:]:
        commit = Commit(part.partition("\n")[0])
        for diff in part.split("\ndiff --git ")[1:]:
            head, _, body = diff.partition("\n@@ ")
            path = head.partition("\n+++ b/")[2].rstrip("\t")
            if is_code(path):
                commit.hunks += hunks(path, "@@ " + body)
        yield commit


def hunks(path: str, body: str) -> Iterator[Hunk]:
    """Yield the hunks of a diff of one file without context."""
    rows = iter(body.split("\n"))
    for row in rows:
        match = _HUNK.match(row)
        if match is None:
            continue  # "\\ No newline at end of file"
        n_old = int(match[2] or 1)
        n_new = int(match[4] or 1)
        lines = list(islice(_lines(rows), n_old + n_new))
        before = tuple(line[1:] for line in lines if line[0] == "-")
        after = tuple(line[1:] for line in lines if line[0] == "+")
        yield Hunk(path, int(match[1]) - (n_old > 0), before, after)


def _lines(rows: Iterator[str]) -> Iterator[str]:
    return (row for row in rows if row[:1] in ("-", "+"))

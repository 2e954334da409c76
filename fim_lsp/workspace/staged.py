"""
A repository into what a model may be shown of its next commit: public files only. Blocking.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from fim_lsp.prompt.commit_message import FileDiff, file_diffs
from fim_lsp.workspace import git_commit, paths
from fim_lsp.workspace.git_commit import NextCommit
from fim_lsp.workspace.git_files import git_folder
from fim_lsp.workspace.ignore_files import why_private

NOTHING = "nothing is staged that a model may be shown"
NO_GIT = "git does not say what is staged: {}"
MOST_FILES = 200  # of a diff; each is judged


class Staged(NamedTuple):
    """What a subject is made from; *note* is why there can be none."""

    repo: str = ""
    diffs: tuple[FileDiff, ...] = ()
    subjects: tuple[str, ...] = ()
    note: str = ""


class Rules(NamedTuple):
    """By what files are judged: the editor's folders, and the user's patterns."""

    roots: tuple[str, ...]
    excludes: Collection[str]


class Known(NamedTuple):
    """What git said of the index at *path* that was written at that time."""

    path: Path
    written_ns: int
    commit: NextCommit


def of_message(
    folder: Path, diff: str, rules: Rules, known: Known | None
) -> tuple[Staged, Known | None]:
    """
    For the commit whose message is edited in *folder*; *diff* is what the message itself shows of it.

    Git is asked again where what is *known* is of another index.
    """
    try:
        index = git_commit.index_of(folder)
        now = index.stat().st_mtime_ns
        if known is None or known[:2] != (index, now):
            known = Known(index, now, git_commit.next_commit(folder, index))
    except OSError as error:
        if not diff:
            return Staged(note=NO_GIT.format(error)), None
        known = None
    found = known.commit if known else NextCommit("", ())
    return _judged(folder, diff or found.diff, found.subjects, rules), known


def of_index(top: Path, rules: Rules) -> Staged:
    """For what is staged in the work tree *top*."""
    folder = git_folder(top / ".git")
    if folder is None:
        return Staged(note="there is no git repository")
    try:
        found = git_commit.next_commit(folder, folder / "index")
    except OSError as error:
        return Staged(note=NO_GIT.format(error))
    return _judged(folder, *found, rules)


def _judged(folder: Path, diff: str, subjects: tuple[str, ...], rules: Rules) -> Staged:
    """*diff* without the files that are private in the work tree of the repository in *folder*."""
    top = git_commit.work_tree(folder)
    if top is None:
        return Staged(note="the work tree of its repository was not found")
    root = paths.local_path(paths.root_of(top, rules.roots)) or top
    if reason := why_private(top / git_commit.FILE, root, rules.excludes):
        return Staged(note=f"the commit message is private ({reason})")
    shown = [
        each
        for each in file_diffs(diff)[:MOST_FILES]
        if not any(why_private(top / name, root, rules.excludes) for name in each.names)
    ]
    return Staged(top.name, tuple(shown), subjects, "" if shown else NOTHING)

"""A repository into what a model may be shown of its next commit: public files. Blocking."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fim_lsp.prompt.commit_message import FileDiff, file_diffs
from fim_lsp.workspace import paths
from fim_lsp.workspace.git_commit import NextCommit, index_of, next_commit, work_tree
from fim_lsp.workspace.git_files import git_folder
from fim_lsp.workspace.ignore_files import why_private

NOTHING = "nothing is staged: stage something first"
PRIVATE = "nothing is staged that a model may be shown: all of it is private"
NO_TREE = "the work tree of its repository was not found"
NO_GIT = "git cannot tell what is staged: {}"
MOST_FILES = 200  # of a diff; each is judged


class Staged(NamedTuple):
    """The input of a subject; *note* is why there can be none."""

    repo: str = ""
    diffs: tuple[FileDiff, ...] = ()
    subjects: tuple[str, ...] = ()
    note: str = ""


class Rules(NamedTuple):
    """By what files are judged: the editor's folders, and the user's patterns."""

    roots: tuple[str, ...]
    excludes: Collection[str]


class KnownCommit(NamedTuple):
    """The output of git for the index at *path* that was written at that time."""

    path: Path
    written_ns: int
    commit: NextCommit


def of_message(
    folder: Path, diff: str, rules: Rules, last: KnownCommit | None
) -> tuple[Staged, KnownCommit | None]:
    """
    Return the input of the subject for the commit whose message is edited in *folder*; *diff* is
    what the message itself shows of it.

    Git is asked again where what is *last* is of another index.
    """
    try:
        index = index_of(folder)
        now = index.stat().st_mtime_ns
        if last is None or last[:2] != (index, now):
            last = KnownCommit(index, now, next_commit(folder, index))
    except OSError as error:
        if not diff:
            return Staged(note=NO_GIT.format(error)), None
        last = None
    commit = last.commit if last else NextCommit("", ())
    return _judge(folder, diff or commit.diff, commit.subjects, rules, commit.diff), last


def of_index(top: Path, rules: Rules) -> Staged:
    """Return the input of the subject for what is staged in the work tree *top*."""
    folder = git_folder(top / ".git")
    if folder is None:
        return Staged(note="there is no git repository")
    if (tree := work_tree(folder)) is None or os.path.realpath(tree) != os.path.realpath(top):
        return Staged(note=NO_TREE)
    try:
        commit = next_commit(folder, folder / "index")
    except OSError as error:
        return Staged(note=NO_GIT.format(error))
    return _judge(folder, *commit, rules)


def _judge(
    folder: Path, diff: str, subjects: tuple[str, ...], rules: Rules, own_diff: str = ""
) -> Staged:
    """
    Return *diff* without the files that are private in the work tree of the repository in *folder*.

    *own_diff* is git's answer with prefixes that are known: its private names are looked for behind
    any prefix.
    """
    top = work_tree(folder)
    if top is None:
        return Staged(note=NO_TREE)
    root = paths.local_path(paths.root_of(top, rules.roots)) or top
    judge = partial(why_private, root=root, excludes=rules.excludes, may_be_gone=True)
    if reason := judge(top / paths.MESSAGE):
        return Staged(note=f"the commit message is private ({reason})")
    own_names = {name for own in file_diffs(own_diff)[:MOST_FILES] for name in own.names}
    private = tuple(name for name in own_names if judge(top / name))
    shown = [
        file_diff
        for file_diff in file_diffs(diff)[:MOST_FILES]
        if not any(judge(top / name) or name.endswith(private) for name in file_diff.names)
    ]
    why = PRIVATE if diff.strip() else NOTHING
    return Staged(top.name, tuple(shown), subjects, "" if shown else why)

"""
A repository into what its next commit changes, and the subjects of its last ones. Blocking.

Then, below, into what a model may be shown of that: public files only.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path, PurePath
from typing import NamedTuple

from fim_lsp.prompt.commit_message import FileDiff, file_diffs
from fim_lsp.workspace import paths
from fim_lsp.workspace.borrowed_git import borrow, checkout_of
from fim_lsp.workspace.git_config import is_unc_path, values
from fim_lsp.workspace.git_files import common_folder, git_folder
from fim_lsp.workspace.ignore_files import why_private
from fim_lsp.workspace.regular_files import read

FILE = "COMMIT_EDITMSG"
SUBJECTS = 10
LIMIT_S = 5.0  # for git, each time; a repository of a million files takes one
LONGEST = 400_000  # bytes of a diff: many times what a model is shown
_POINTER_BYTES = 8192
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_DIFF = (
    "diff-index", "--cached", "--patch", "--unified=3", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames",
    "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=dirty",
)  # fmt: skip
_LOG = ("rev-list", f"--max-count={SUBJECTS}", "--no-merges", "--format=%s")


class NextCommit(NamedTuple):
    """The changes of a commit, as a unified diff, and the *subjects* of the last commits, the newest first."""

    diff: str
    subjects: tuple[str, ...]


def is_message(path: PurePath | None) -> bool:
    """Return whether this is the file in which git has a commit message edited."""
    return path is not None and path.name == FILE


def work_tree(folder: Path) -> Path | None:
    """Return the work tree that belongs to the repository in *folder*; None where none does, or it belongs to another."""
    if folder.name == ".git":
        tree = Path(os.path.realpath(folder) if folder.is_symlink() else folder).parent
    elif named := read(folder / "gitdir", _POINTER_BYTES, follow=True):  # a further worktree
        tree = (folder / os.fsdecode(named.rstrip(b"\r\n"))).parent
    else:  # a submodule, or a repository that stands elsewhere
        found = values([folder / "config"], "core.worktree")
        tree = folder / found[-1].value if found else folder
    tree = Path(os.path.normpath(tree))
    if is_unc_path(tree) and not is_unc_path(folder):
        return None
    own = git_folder(tree / ".git")
    return tree if own is not None and os.path.realpath(own) == os.path.realpath(folder) else None


def index_of(folder: Path) -> Path:
    """Return the index of the commit whose message is edited: `git commit -a` and `git commit FILE` make one of their own."""
    made = (*folder.glob("next-index-*.lock"), folder / "index.lock")
    return next((each for each in made if each.is_file()), folder / "index")


def next_commit(folder: Path, index: Path) -> NextCommit:
    """
    Return the difference between *index* and the last commit of the repository in *folder*.

    Raises OSError where there is no git, or it fails.
    """
    found = checkout_of(folder)
    if not _is_own(folder, index, found.branch):
        raise OSError("the repository is made of another one's files")
    with borrow(found, index) as git:

        def ask(*arguments: str) -> str:
            data = git(*arguments, "--", limit_s=LIMIT_S, longest=LONGEST, must_succeed=True)
            return data.decode("utf-8", "replace")

        diff = ask(*_DIFF, found.commit or _EMPTY_TREE)
        log = ask(*_LOG, found.commit).splitlines() if found.commit else []
    return NextCommit(diff, tuple(filter(None, log[1::2])))  # each follows a line with the commit


def _is_own(folder: Path, index: Path, branch: str) -> bool:
    """
    Return whether what tells of commits and files is of the repository in *folder*.

    A stranger's archive may hold links, or a `commondir`, to another repository of the user, of which other rules hold.
    """
    common = common_folder(folder)
    own, shared = os.path.realpath(folder), os.path.realpath(common)
    is_one = own == shared or Path(own).parent == Path(shared, "worktrees")
    is_index = Path(os.path.realpath(index)) == Path(own, index.name)
    return is_one and is_index and Path(os.path.realpath(common / branch)) == Path(shared, branch)


# -- staged --------------------------------------------------------------------------------------
# A repository into what a model may be shown of its next commit: public files only. Blocking.


NOTHING = "nothing is staged that a model may be shown"
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


class Known(NamedTuple):
    """The output of git for the index at *path* that was written at that time."""

    path: Path
    written_ns: int
    commit: NextCommit


def of_message(
    folder: Path, diff: str, rules: Rules, known: Known | None
) -> tuple[Staged, Known | None]:
    """
    Return the input of the subject for the commit whose message is edited in *folder*; *diff* is what
    the message itself shows of it.

    Git is asked again where what is *known* is of another index.
    """
    try:
        index = index_of(folder)
        now = index.stat().st_mtime_ns
        if known is None or known[:2] != (index, now):
            known = Known(index, now, next_commit(folder, index))
    except OSError as error:
        if not diff:
            return Staged(note=NO_GIT.format(error)), None
        known = None
    found = known.commit if known else NextCommit("", ())
    return _judge(folder, diff or found.diff, found.subjects, rules), known


def of_index(top: Path, rules: Rules) -> Staged:
    """Return the input of the subject for what is staged in the work tree *top*."""
    folder = git_folder(top / ".git")
    if folder is None:
        return Staged(note="there is no git repository")
    if (tree := work_tree(folder)) is None or os.path.realpath(tree) != os.path.realpath(top):
        return Staged(note=NO_TREE)
    try:
        found = next_commit(folder, folder / "index")
    except OSError as error:
        return Staged(note=NO_GIT.format(error))
    return _judge(folder, *found, rules)


def _judge(folder: Path, diff: str, subjects: tuple[str, ...], rules: Rules) -> Staged:
    """Return *diff* without the files that are private in the work tree of the repository in *folder*."""
    top = work_tree(folder)
    if top is None:
        return Staged(note=NO_TREE)
    root = paths.local_path(paths.root_of(top, rules.roots)) or top
    if reason := why_private(top / FILE, root, rules.excludes):
        return Staged(note=f"the commit message is private ({reason})")
    shown = [
        each
        for each in file_diffs(diff)[:MOST_FILES]
        if not any(why_private(top / name, root, rules.excludes) for name in each.names)
    ]
    return Staged(top.name, tuple(shown), subjects, "" if shown else NOTHING)

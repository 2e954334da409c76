"""
A repository into what its next commit changes, and the subjects of its last ones. Blocking.

Git runs in an empty repository of our own that borrows the objects and the index of the user's. So it reads
nothing that the user's repository says: no configuration, attributes, hooks or grafts, and there is no work
tree to filter. It gets no other environment, may not reach any server, and has limits of time and size.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection
from pathlib import Path, PurePath
from typing import NamedTuple

from fim_lsp.prompt.commit_message import FileDiff, file_diffs
from fim_lsp.workspace import paths
from fim_lsp.workspace.git_config import is_unc_path, values
from fim_lsp.workspace.git_files import common_folder, git_folder
from fim_lsp.workspace.git_history import git_program, leads_to_other_machine
from fim_lsp.workspace.ignore_files import why_private
from fim_lsp.workspace.regular_files import read
from server_bridge.machine import executables

FILE = "COMMIT_EDITMSG"
SUBJECTS = 10
LIMIT_S = 5.0  # for git, each time; a repository of a million files takes one
LONGEST = 400_000  # bytes of a diff: many times what a model is shown
_POINTER_BYTES = 8192
_REFS_BYTES = 32_000_000  # of `packed-refs`: half a million branches and tags
_SHA256 = 64  # hexadecimal digits of such a repository's names

_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(rb"ref: (refs/[^\s:?*\[\\^~]{1,1000})\s*")
_EMPTY_TREE = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    _SHA256: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_CONFIG = """\
[core]
	repositoryformatversion = {}
	bare = true
	quotePath = false
	bigFileThreshold = 1m
"""
_KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
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
        tree = folder.parent
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
    git, common = git_program(), common_folder(folder)
    if git is None or leads_to_other_machine(common / "objects"):
        raise OSError("there is no git on the PATH, or the repository is on another machine")
    commit = _head(folder, common)
    n_digits = len(commit) or 40
    with tempfile.TemporaryDirectory(prefix="fim-lsp-") as name:
        own = Path(name)
        _make_repository(own, n_digits, read(common / "shallow", LONGEST, follow=False) or b"")
        environment = _environment(own, common / "objects", index)

        def ask(*arguments: str) -> str:
            argv = (git, "--no-pager", *arguments)
            data = executables.read_output(
                argv, own, environment, LIMIT_S, LONGEST, must_succeed=True
            )
            return data.decode("utf-8", "replace")

        diff = ask(*_DIFF, commit or _EMPTY_TREE[n_digits], "--")
        log = ask(*_LOG, commit, "--").splitlines() if commit else []
    return NextCommit(diff, tuple(filter(None, log[1::2])))  # each follows a line with the commit


def _head(folder: Path, common: Path) -> str:
    """Return the commit that is checked out, "" for none yet. Raises OSError where it is not known."""
    text = read(folder / "HEAD", _POINTER_BYTES, follow=False) or b""
    if (common / "reftable").exists():
        raise OSError("the repository keeps its branches in a form that is not read")
    named = _REF.fullmatch(text)
    if named and b".." not in named[1]:
        text = read(common / os.fsdecode(named[1]), _POINTER_BYTES, follow=False) or b""
        if not text:
            packed = read(common / "packed-refs", _REFS_BYTES, follow=False) or b""
            end = packed.find(b" " + named[1] + b"\n")
            text = packed[packed.rfind(b"\n", 0, end) + 1 : end] if end >= 0 else b""
        if not text:
            return ""
    found = _COMMIT.fullmatch(text.strip())
    if found is None:
        raise OSError("the repository does not say in a file what is checked out")
    return found[0].decode()


def _make_repository(own: Path, n_digits: int, shallow: bytes) -> None:
    (own / "objects").mkdir()
    (own / "refs").mkdir()
    (own / "HEAD").write_text("ref: refs/heads/none\n")
    if shallow:
        (own / "shallow").write_bytes(shallow)
    is_sha256 = n_digits == _SHA256
    extensions = "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
    (own / "config").write_text(_CONFIG.format(int(is_sha256)) + extensions)


def _environment(own: Path, objects: Path, index: Path) -> dict[str, str]:
    kept = {name: value for name in _KEPT if (value := os.environ.get(name))}
    return kept | {
        "HOME": str(own),
        "LC_ALL": "C",
        "GIT_DIR": str(own),
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_INDEX_FILE": str(index),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


# -- staged --------------------------------------------------------------------------------------
# A repository into what a model may be shown of its next commit: public files only. Blocking.


NOTHING = "nothing is staged that a model may be shown"
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
    try:
        found = next_commit(folder, folder / "index")
    except OSError as error:
        return Staged(note=NO_GIT.format(error))
    return _judge(folder, *found, rules)


def _judge(folder: Path, diff: str, subjects: tuple[str, ...], rules: Rules) -> Staged:
    """Return *diff* without the files that are private in the work tree of the repository in *folder*."""
    top = work_tree(folder)
    if top is None:
        return Staged(note="the work tree of its repository was not found")
    root = paths.local_path(paths.root_of(top, rules.roots)) or top
    if reason := why_private(top / FILE, root, rules.excludes):
        return Staged(note=f"the commit message is private ({reason})")
    shown = [
        each
        for each in file_diffs(diff)[:MOST_FILES]
        if not any(why_private(top / name, root, rules.excludes) for name in each.names)
    ]
    return Staged(top.name, tuple(shown), subjects, "" if shown else NOTHING)

"""
A repository into what its next commit changes, and the subjects of its last ones. Blocking.

Git is used for what it does faster than Python, as a process that can be ended. It does what a
repository's configuration says, so it sees none: it runs in an empty repository of ours that
borrows the objects of the user's, and the index. There are no attributes, hooks, grafts, filters or
remotes, and no work tree; it gets no other environment, may not reach any server, and has limits of
time and memory.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fim_lsp.workspace.git_files import common_folder, git_folder, head, is_unc_path, values
from fim_lsp.workspace.regular_files import read
from server_bridge.machine import executables

_NAME_BYTES = 200  # of a file that names a commit
_REFS_BYTES = 32_000_000  # of `packed-refs`: half a million branches and tags
_MEMORY_BYTES = 256_000_000  # of one object, or of an index: one of a million files takes 150 MB
_SHA256 = 64  # hexadecimal digits of such a repository's names

_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH = re.compile(rb"ref:\s*(refs(?:/(?!\.)[^/\s:?*\[\\^~]{1,1000})+)\s*")
_CONFIG = """\
[core]
	repositoryformatversion = {}
	bare = true
	quotePath = false
	bigFileThreshold = 1m
"""
_KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
_STUB = "/usr/bin/git"  # Apple's: opens a dialogue where git is not installed
_APPLE = (
    "/Library/Developer/CommandLineTools/usr/bin/git",
    "/Applications/Xcode.app/Contents/Developer/usr/bin/git",
)


class Checkout(NamedTuple):
    """
    The *commit* that is checked out, "" for none yet, the repository's objects, the commits where
    they end, and the *branch*, "" for none.
    """

    commit: str
    objects: Path
    shallow: bytes = b""
    branch: str = ""


def checkout_of(private: Path) -> Checkout:
    """
    Return what is checked out in the repository in *private*. Raises OSError where no file says
    that.
    """
    common = common_folder(private)
    if (common / "reftable").exists():
        raise OSError("the repository keeps its branches in a form that is not read")
    checked_out = head(private).strip()
    branch = ""
    if named := _BRANCH.fullmatch(checked_out):
        branch, checked_out = os.fsdecode(named[1]), _branch_commit(common, named[1])
        if not checked_out:
            return Checkout("", common / "objects", branch=branch)
    if not _COMMIT.fullmatch(checked_out):
        raise OSError("the repository does not say in a file what is checked out")
    shallow = read(common / "shallow", _REFS_BYTES, follow=False) or b""
    return Checkout(checked_out.decode(), common / "objects", shallow, branch)


@contextmanager
def borrow(checkout: Checkout, index: Path) -> Iterator[Callable[..., str]]:
    """
    Give git, which knows of the objects in *checkout* and of *index* and of nothing else: run with
    some arguments, it returns what it prints. Raises OSError where it fails or takes too long.

    Raises OSError where there is no git, or the repository is on another machine.
    """
    git = _program()
    # There, objects may be on another machine: Windows shows the user's credentials to one that is
    # asked.
    leads_away = os.name == "nt" and (checkout.objects / "info/alternates").exists()
    if git is None or leads_away:
        raise OSError("there is no git on the PATH, or the repository is on another machine")
    with tempfile.TemporaryDirectory(prefix="fim-lsp-") as name:
        own = Path(name)
        _make_repository(own, checkout)
        environment = _environment(own, checkout.objects, index)

        def ask(*arguments: str) -> str:
            argv = (git, "--no-pager", *arguments, "--")
            data = executables.read_output(
                argv, own, environment, LIMIT_S, LONGEST, must_succeed=True
            )
            return data.decode("utf-8", "replace")

        yield ask


def _branch_commit(common: Path, branch: bytes) -> bytes:
    """Return the commit of a branch, from its own file or that of all branches; b"" for none."""
    own = read(common / os.fsdecode(branch), _NAME_BYTES, follow=False)
    if own:
        return own.strip()
    packed = b"\n" + (read(common / "packed-refs", _REFS_BYTES, follow=False) or b"")
    end = packed.find(b" " + branch + b"\n")
    return packed[packed.rfind(b"\n", 0, end) + 1 : end] if end >= 0 else b""


def _program() -> str | None:
    """Return the path of git, None where there is none."""
    path = executables.program_path("git")
    if sys.platform == "darwin" and path == _STUB:
        return next((path for path in _APPLE if Path(path).is_file()), None)
    return path


def _make_repository(own: Path, checkout: Checkout) -> None:
    (own / "objects").mkdir()
    (own / "refs").mkdir()
    (own / "HEAD").write_text("ref: refs/heads/none\n")
    if checkout.shallow:
        (own / "shallow").write_bytes(checkout.shallow)
    is_sha256 = len(checkout.commit) >= _SHA256
    extensions = "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
    (own / "config").write_text(_CONFIG.format(int(is_sha256)) + extensions)


def _environment(own: Path, objects: Path, index: Path) -> dict[str, str]:
    kept = {name: value for name in _KEPT if (value := os.environ.get(name))}
    return kept | {
        "GIT_INDEX_FILE": str(index),
        "HOME": str(own),
        "LC_ALL": "C",
        "GIT_DIR": str(own),
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_ALLOC_LIMIT": str(_MEMORY_BYTES),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }  # fmt: skip


SUBJECTS = 10
LIMIT_S = 5.0  # for git, each time; a repository of a million files takes one
LONGEST = 400_000  # bytes of a diff: many times what a model is shown
_POINTER_BYTES = 8192
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_DIFF = (
    "diff-index", "--cached", "--patch", "--unified=3", "--no-ext-diff", "--no-textconv",
    "--no-color", "--no-renames",
    "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=dirty",
)  # fmt: skip
_LOG = ("rev-list", f"--max-count={SUBJECTS}", "--no-merges", "--format=%s")


class NextCommit(NamedTuple):
    """
    The changes of a commit, as a unified diff, and the *subjects* of the last commits, the newest
    first.
    """

    diff: str
    subjects: tuple[str, ...]


def work_tree(folder: Path) -> Path | None:
    """
    Return the work tree that belongs to the repository in *folder*; None where none does, or it
    belongs to another.
    """
    if folder.name == ".git":
        tree = Path(os.path.realpath(folder) if folder.is_symlink() else folder).parent
    elif named := read(folder / "gitdir", _POINTER_BYTES, follow=True):  # a further worktree
        tree = (folder / os.fsdecode(named.rstrip(b"\r\n"))).parent
    else:  # a submodule, or a repository that stands elsewhere
        try:
            named_trees = values([folder / "config"], "core.worktree")
        except OSError:
            return None
        tree = folder / named_trees[-1].value if named_trees else folder
    tree = Path(os.path.normpath(tree))
    if is_unc_path(tree) and not is_unc_path(folder):
        return None
    own = git_folder(tree / ".git")
    return tree if own is not None and os.path.realpath(own) == os.path.realpath(folder) else None


def index_of(folder: Path) -> Path:
    """
    Return the index of the commit whose message is edited: `git commit -a` and `git commit FILE`
    make one of their own.
    """
    made = (*folder.glob("next-index-*.lock"), folder / "index.lock")
    return next((path for path in made if path.is_file()), folder / "index")


def next_commit(folder: Path, index: Path) -> NextCommit:
    """
    Return the difference between *index* and the last commit of the repository in *folder*.

    Raises OSError where there is no git, or it fails.
    """
    checkout = checkout_of(folder)
    if not _is_own(folder, index, checkout.branch):
        raise OSError("the repository is made of another one's files")
    with borrow(checkout, index) as ask:
        diff = ask(*_DIFF, checkout.commit or _EMPTY_TREE)
        log = ask(*_LOG, checkout.commit).split("\n") if checkout.commit else []
    return NextCommit(diff, tuple(filter(None, log[1::2])))  # each follows a line with the commit


def _is_own(folder: Path, index: Path, branch: str) -> bool:
    """
    Return whether what tells of commits and files is of the repository in *folder*.

    A stranger's archive may hold links, or a `commondir`, to another repository of the user, of
    which other rules hold.
    """
    common = common_folder(folder)
    own, shared = os.path.realpath(folder), os.path.realpath(common)
    is_one = own == shared or Path(own).parent == Path(shared, "worktrees")
    is_index = Path(os.path.realpath(index)) == Path(own, index.name)
    return is_one and is_index and Path(os.path.realpath(common / branch)) == Path(shared, branch)

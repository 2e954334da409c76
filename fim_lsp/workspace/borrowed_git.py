"""
A repository into what git says of its commits. Blocking.

Git is used for what it does faster than Python, as a process that can be ended. It does what a repository's
configuration says, so it sees none: it runs in an empty repository of ours that borrows the objects of the user's, and
the index where one is given. There are no attributes, hooks, grafts, filters or remotes, and no work tree; it gets no
other environment, may not reach any server, and has limits of time and memory.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from fim_lsp.workspace.git_files import common_folder, head
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
    The *commit* that is checked out, "" for none yet, the repository's objects, the commits where they end, and the
    *branch*, "" for none.
    """

    commit: str
    objects: Path
    shallow: bytes = b""
    branch: str = ""


class Git(Protocol):
    """Git, run with some arguments: the first *longest* bytes that it prints within *limit_s*."""

    def __call__(
        self, *arguments: str, limit_s: float, longest: int, must_succeed: bool = False
    ) -> bytes:
        """Raises OSError; *must_succeed*: also where git fails or takes longer."""


def checkout_of(private: Path) -> Checkout:
    """Return what is checked out in the repository in *private*. Raises OSError where no file says that."""
    common = common_folder(private)
    if (common / "reftable").exists():
        raise OSError("the repository keeps its branches in a form that is not read")
    said = head(private).strip()
    branch = ""
    if named := _BRANCH.fullmatch(said):
        branch, said = os.fsdecode(named[1]), _branch_commit(common, named[1])
        if not said:
            return Checkout("", common / "objects", branch=branch)
    if not _COMMIT.fullmatch(said):
        raise OSError("the repository does not say in a file what is checked out")
    shallow = read(common / "shallow", _REFS_BYTES, follow=False) or b""
    return Checkout(said.decode(), common / "objects", shallow, branch)


@contextmanager
def borrow(found: Checkout, index: Path | None = None) -> Iterator[Git]:
    """
    Give git, which knows of the objects in *found* and of *index* and of nothing else.

    Raises OSError where there is no git, or the repository is on another machine.
    """
    git = _program()
    if git is None or _leads_to_other_machine(found.objects):
        raise OSError("there is no git on the PATH, or the repository is on another machine")
    with tempfile.TemporaryDirectory(prefix="fim-lsp-") as name:
        own = Path(name)
        _make_repository(own, found)
        environment = _environment(own, found.objects, index)

        def run(*arguments: str, limit_s: float, longest: int, must_succeed: bool = False) -> bytes:
            argv = (git, "--no-pager", *arguments)
            return executables.read_output(
                argv, own, environment, limit_s, longest, must_succeed=must_succeed
            )

        yield run


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
        return next((each for each in _APPLE if Path(each).is_file()), None)
    return path


def _leads_to_other_machine(objects: Path) -> bool:
    """
    Return whether it may name objects on another machine: Windows shows the user's credentials to
    one that is asked.
    """
    return os.name == "nt" and (objects / "info/alternates").exists()


def _make_repository(own: Path, found: Checkout) -> None:
    (own / "objects").mkdir()
    (own / "refs").mkdir()
    (own / "HEAD").write_text("ref: refs/heads/none\n")
    if found.shallow:
        (own / "shallow").write_bytes(found.shallow)
    is_sha256 = len(found.commit) >= _SHA256
    extensions = "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
    (own / "config").write_text(_CONFIG.format(int(is_sha256)) + extensions)


def _environment(own: Path, objects: Path, index: Path | None) -> dict[str, str]:
    kept = {name: value for name in _KEPT if (value := os.environ.get(name))}
    borrowed = {"GIT_INDEX_FILE": str(index)} if index else {}
    return kept | borrowed | {
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

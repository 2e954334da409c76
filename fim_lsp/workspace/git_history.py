"""
A repository's newest commits into the files that each of them changed. Blocking.

Git lists them, as it is much faster than Python and a process can be ended. It does what a
repository's configuration says, so it sees none: it runs in an empty repository of ours, takes only the objects
from the other one, and gets the commit by its number. It has no remote there, so it fetches nothing; no work
tree, hooks, filters or attributes; and no configuration of the user.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from fim_lsp.workspace.git_files import Checkout, checkout
from server_bridge.machine import executables

COMMITS = 1_000
LIMIT_S = 1.0  # 1,000 commits of a usual repository take 0.05 s; what was listed until then is used
_BYTES = 4_000_000  # of names: 40,000 of them
_OBJECT_BYTES = 64_000_000  # an object that needs more memory than that ends git
_FORMAT = "--format=%x00"  # what stands before the names of a commit

_STUB = "/usr/bin/git"  # Apple's: opens a dialogue where git is not installed
_APPLE = (
    "/Library/Developer/CommandLineTools/usr/bin/git",
    "/Applications/Xcode.app/Contents/Developer/usr/bin/git",
)


class History(NamedTuple):
    """The files that each commit changed, the newest commit first, up to the commit *head*."""

    head: str = ""
    commits: tuple[frozenset[str], ...] = ()


NONE = History()


def history(root: Path, near: str, files: Collection[str], known: History = NONE) -> History:
    """
    Return the newest commits of the repository that the file *near* is in; *known* where nothing was committed since.

    Files are named by their path below *root*. Those that are not among *files* are left out, whatever the
    reason: gone, private, no code.
    """
    root = Path(os.path.realpath(root))
    for top in (root / near).parents:
        if found := checkout(top):
            break
    else:
        return NONE
    if found.commit == known.head:
        return known
    names = _below(root, top)
    changed = (
        frozenset(filter(files.__contains__, map(names, each))) for each in list_commits(found)
    )
    return History(found.commit, tuple(filter(None, changed)))


def list_commits(found: Checkout) -> Iterator[list[str]]:
    """Yield the names of the files that each commit changed, the newest first; none where git is missing or fails."""
    git = git_program()
    if git is None or leads_to_other_machine(found.objects):
        return
    try:
        with tempfile.TemporaryDirectory(prefix="fim-lsp-") as name:
            output = _output(git, found, Path(name))
    except OSError:  # no room for a folder, or git does not start
        return
    yield from parse_names(output)


def parse_names(output: bytes) -> Iterator[list[str]]:
    """Yield the names of each commit, as git lists them with `-z` after `_FORMAT`."""
    names: list[str] = []
    for name in output.split(b"\0")[:-1]:  # behind the last one the list may be cut off
        if name:
            names.append(os.fsdecode(name.removeprefix(b"\n")))
        elif names:
            yield names
            names = []
    if names:
        yield names


def _output(git: str, found: Checkout, folder: Path) -> bytes:
    """Return the output of *git*, run in the new *folder*, which becomes a repository without anything in it."""
    for needed in ("objects", "refs"):
        (folder / needed).mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    environment = _environment(folder, found.objects)
    return executables.read_output(
        _command(git, found.commit), folder, environment, LIMIT_S, _BYTES
    )


def _below(root: Path, top: Path) -> Callable[[str], str]:
    """Return a function from paths below *top* to paths below *root*, "" for what is not there."""
    if not root.is_relative_to(top):
        inside = top.relative_to(root).as_posix()
        return lambda name: f"{inside}/{name}"
    prefix = f"{root.relative_to(top).as_posix()}/".removeprefix("./")
    return lambda name: name.removeprefix(prefix) if name.startswith(prefix) else ""


def git_program() -> str | None:
    """Return the path of git, None where there is none."""
    path = executables.program_path("git")
    if sys.platform == "darwin" and path == _STUB:
        return next((each for each in _APPLE if Path(each).is_file()), None)
    return path


def leads_to_other_machine(objects: Path) -> bool:
    """
    Return whether it may name objects on another machine: Windows shows the user's credentials to
    one that is asked.
    """
    return os.name == "nt" and (objects / "info/alternates").exists()


def _command(git: str, commit: str) -> list[str]:
    return [
        git, "--no-pager", "log", f"-n{COMMITS}", "-z", _FORMAT, "--name-only", "--no-renames", "--no-merges",
        "--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-notes", commit, "--",
    ]  # fmt: skip


def _environment(folder: Path, objects: Path) -> dict[str, str]:
    """Return the user's without what is for git; *folder* is the home, so that git finds no configuration."""
    users = {key: value for key, value in os.environ.items() if not key.upper().startswith("GIT_")}
    return {
        **users,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "GIT_DIR": str(folder),
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOC_LIMIT": str(_OBJECT_BYTES),
    }

"""A repository's newest commits into the files that each of them changed. Blocking."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from fim_lsp.workspace.borrowed_git import Checkout, borrow, checkout_at

COMMITS = 1_000
LIMIT_S = 1.0  # 1,000 commits of a usual repository take 0.05 s; what was listed until then is used
_BYTES = 4_000_000  # of names: 40,000 of them
_LOG = (
    "log", f"-n{COMMITS}", "-z", "--format=%x00", "--name-only", "--no-renames", "--no-merges",
    "--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-notes",
)  # fmt: skip


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
        if found := checkout_at(top):
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
    try:
        # Git is not told where a shallow clone ends: it stops there, and does not list all files as changed in one commit.
        with borrow(found._replace(shallow=b"")) as git:
            output = git(*_LOG, found.commit, "--", limit_s=LIMIT_S, longest=_BYTES)
    except OSError:  # no git, or no room for a folder
        return
    yield from parse_names(output)


def parse_names(output: bytes) -> Iterator[list[str]]:
    """Yield the names of each commit, as `_LOG` lists them: a NUL stands before those of each, and behind each."""
    names: list[str] = []
    for name in output.split(b"\0")[:-1]:  # behind the last one the list may be cut off
        if name:
            names.append(os.fsdecode(name.removeprefix(b"\n")))
        elif names:
            yield names
            names = []
    if names:
        yield names


def _below(root: Path, top: Path) -> Callable[[str], str]:
    """Return a function from paths below *top* to paths below *root*, "" for what is not there."""
    if not root.is_relative_to(top):
        inside = top.relative_to(root).as_posix()
        return lambda name: f"{inside}/{name}"
    prefix = f"{root.relative_to(top).as_posix()}/".removeprefix("./")
    return lambda name: name.removeprefix(prefix) if name.startswith(prefix) else ""

"""
A folder into the git repository whose work tree begins there: its rules besides `.gitignore`.
Blocking.

Git itself is not asked: it may be missing, and it does what the `.git/config` of a stranger's
archive says. Read are `.git` (a folder, or the file of a worktree or a submodule), `info/exclude`
in the repository's common folder, of the configuration `core.excludesFile` and `core.ignoreCase`,
and of the index which `.gitignore` files are left out of the work tree. The repository that
`GIT_DIR` names counts beside that of the folder.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fim_lsp.context.ignore_rules import LONGEST
from fim_lsp.context.privacy import Repository
from fim_lsp.regular_files import Wrong, is_folder, read_beginning, read_rules
from fim_lsp.workspace.git_config import (
    Setting,
    expand_home,
    is_true,
    is_unc_path,
    user_files,
    user_folder,
    values,
)
from fim_lsp.workspace.git_index import list_left_out

_HEAD = re.compile(rb"ref:\s*refs/|[0-9a-f]{40}")  # a branch, or a commit
_POINTER_BYTES = 8192  # of a file that names another: more than a path can have
_EXCLUDES = "core.excludesfile"


def repository(folder: Path) -> Repository | None:
    """
    Return the repository whose work tree begins at *folder*; None where none does. Raises OSError
    where one of its files cannot be read.

    Where `GIT_DIR` names another one for this folder, its rules count as well.
    """
    own = _git_folder(folder / ".git")
    named = _find_named(folder)
    if named is not None and own is not None and own.samefile(named):
        named = None
    found = [_read_repository(folder, private) for private in (own, named) if private is not None]
    if not found:
        return None
    first, *others = found
    return Repository(
        any(each.fold for each in found),
        first.rules,
        (*first.others, *(rule for each in others for rule in (*each.rules, *each.others))),
        frozenset[bytes]().union(*(each.left_out for each in found)),
    )


def _read_repository(folder: Path, private: Path) -> Repository:
    """Return the repository in *private*, whose work tree begins at *folder*."""
    common = _common_folder(private)
    configs = [*user_files(), common / "config"]
    if any(is_true(setting.value) for setting in values(configs[-1:], "extensions.worktreeconfig")):
        configs.append(private / "config.worktree")
    fold = values(configs, "core.ignorecase")[:1]
    hashes = values([common / "config"], "extensions.objectformat")
    is_sha256 = any(setting.value == "sha256" for setting in hashes)
    rules = _with_excludes(
        any(is_true(setting.value) for setting in fold),
        [(".git/info/exclude", _rules(common / "info/exclude"))],
        [folder / path for path in _excludes(values(configs, _EXCLUDES))],
    )
    return rules._replace(left_out=list_left_out(private, 32 if is_sha256 else 20))


def _find_named(folder: Path) -> Path | None:
    """Return the repository that `GIT_DIR` names, where its work tree begins at *folder*."""
    name = os.environ.get("GIT_DIR")
    if not name:
        return None
    private = Path(os.path.abspath(name))  # noqa: PTH100 (links stay)
    if not is_folder(private):
        return None
    said = values([private / "config"], "core.worktree")
    worktree = os.environ.get("GIT_WORK_TREE") or (private / said[0].value if said else ".")
    is_here = os.path.realpath(worktree) == os.path.realpath(folder)
    return private if is_here else None


def no_repository() -> Repository:
    """Return the rules for a folder in no repository: the user's own excludes count there, too."""
    return _with_excludes(sys.platform in ("win32", "darwin"), [], excludes_files())


def excludes_files() -> list[Path]:
    """
    Return the files of rules that the user's own configuration of git names. Raises OSError where
    that cannot be read.
    """
    return [*_excludes(values(user_files(), _EXCLUDES))]


def _with_excludes(fold: bool, rules: list[tuple[str, bytes]], files: list[Path]) -> Repository:
    everywhere = [("git's core.excludesFile", _rules(path)) for path in files]
    return Repository(fold, (*rules, *everywhere[-1:]), tuple(everywhere[:-1]))


def _excludes(settings: list[Setting]) -> Iterator[Path]:
    """
    Yield the files that *settings* name, those on a condition first; an empty name switches them
    off.
    """
    for setting in settings:
        if setting.value:
            yield expand_home(setting.value)
    if not settings or not settings[-1].sure:
        yield user_folder() / "ignore"


def _rules(path: Path) -> bytes:
    """Return a file of rules; as git, and unlike `.gitignore`, it may be a link."""
    if is_unc_path(path) and path not in excludes_files():
        return b"*"  # a stranger's `.git/config` names another machine: it is not asked
    return read_rules(path, LONGEST, follow=True) or b""


def _git_folder(path: Path) -> Path | None:
    """
    Return the repository that *path*, a `.git`, is or names, else None. Raises OSError
    where it cannot be read, or leads to none: to a disk that is not mounted.
    """
    try:
        private = path if is_folder(path) else _read_pointer(path)
        if private is None or (is_unc_path(private) and not is_unc_path(path)):
            return None
        common = _common_folder(private)
        is_whole = is_folder(common / "objects") and is_folder(common / "refs")
        if is_whole and _HEAD.match(_head(private)):
            return private
        if is_whole:  # after a power cut, as a rule; what it hides stays hidden
            raise Wrong(private / "HEAD", "names no branch", "name one: ref: refs/heads/…")
        if private is not path:  # git ends there, too
            raise FileNotFoundError(errno.ENOENT, "leads to no repository", str(path))
        return None
    except ValueError:  # it holds a NUL
        return None


def _read_pointer(path: Path) -> Path | None:
    """Return the folder that the file *path* of a worktree or submodule names."""
    text = read_beginning(path, _POINTER_BYTES, follow=True) or b""
    if not text.startswith(b"gitdir: "):
        return None
    return path.parent / os.fsdecode(text.removeprefix(b"gitdir: ").rstrip(b"\r\n"))


def _head(private: Path) -> bytes:
    """
    Return what is checked out in the repository in *private*; a link to the branch is the old form.
    """
    path = private / "HEAD"
    if path.is_symlink():
        return b"ref: " + os.fsencode(path.readlink())
    return read_beginning(path, _POINTER_BYTES, follow=False) or b""


def _common_folder(private: Path) -> Path:
    """Return the folder that all worktrees of a repository share."""
    named = read_beginning(private / "commondir", _POINTER_BYTES, follow=True)
    common = private / os.fsdecode(named.rstrip(b"\r\n")) if named else private
    return private if is_unc_path(common) and not is_unc_path(private) else common

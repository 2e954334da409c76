"""
A folder into the git repository whose work tree begins there: its rules besides `.gitignore`. Blocking.

Git itself is not asked: it may be missing, and it does what the `.git/config` of a stranger's archive
says (`borrowed_git` runs it without any configuration). Read are `.git` (a folder, or the file of a worktree or a submodule), `info/exclude` in the
repository's common folder, and of the configuration `core.excludesFile` and `core.ignoreCase`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fim_lsp.context.ignore_rules import LONGEST
from fim_lsp.context.privacy import Repository
from fim_lsp.workspace.git_config import (
    Setting,
    expand_home,
    is_true,
    is_unc_path,
    user_files,
    user_folder,
    values,
)
from fim_lsp.workspace.regular_files import read

_HEAD = re.compile(rb"ref:\s*refs/|[0-9a-f]{40}")  # a branch, or a commit
_POINTER_BYTES = 8192  # of a file that names another: more than a path can have
_EXCLUDES = "core.excludesfile"


def repository(folder: Path) -> Repository | None:
    """Return the repository whose work tree begins at *folder*; None where none does."""
    private = git_folder(folder / ".git")
    if private is None:
        return None
    common = common_folder(private)
    configs = [*user_files(), common / "config"]
    if any(is_true(each.value) for each in values(configs[-1:], "extensions.worktreeconfig")):
        configs.append(private / "config.worktree")
    fold = values(configs, "core.ignorecase")[:1]
    return _with_excludes(
        any(is_true(each.value) for each in fold),
        [(".git/info/exclude", _rules(common / "info/exclude"))],
        [folder / path for path in _excludes(values(configs, _EXCLUDES))],
    )


def no_repository() -> Repository:
    """Return the rules for a folder in no repository: the user's own excludes count there, too."""
    return _with_excludes(sys.platform in ("win32", "darwin"), [], excludes_files())


def excludes_files() -> list[Path]:
    """Return the files of rules that the user's own configuration of git names."""
    return [*_excludes(values(user_files(), _EXCLUDES))]


def _with_excludes(fold: bool, rules: list[tuple[str, bytes]], files: list[Path]) -> Repository:
    everywhere = [("git's core.excludesFile", _rules(path)) for path in files]
    return Repository(fold, (*rules, *everywhere[-1:]), tuple(everywhere[:-1]))


def _excludes(settings: list[Setting]) -> Iterator[Path]:
    """Yield the files that *settings* name, those on a condition first; an empty name switches them off."""
    for each in settings:
        if each.value:
            yield expand_home(each.value)
    if not settings or not settings[-1].sure:
        yield user_folder() / "ignore"


def _rules(path: Path) -> bytes:
    """Return a file of rules; as git, and unlike `.gitignore`, it may be a link."""
    if is_unc_path(path) and path not in excludes_files():
        return b"*"  # a stranger's `.git/config` names another machine: it is not asked
    return read(path, LONGEST + 1, follow=True) or b""


def git_folder(path: Path) -> Path | None:
    """Return the repository that *path*, a `.git`, is or names."""
    try:
        private = path if path.is_dir() else _read_pointer(path)
        if private is None or (is_unc_path(private) and not is_unc_path(path)):
            return None
        if not _HEAD.match(head(private)):
            return None
        common = common_folder(private)
        return private if (common / "objects").is_dir() and (common / "refs").is_dir() else None
    except (OSError, ValueError):  # a path that is too long, or holds a NUL
        return None


def _read_pointer(path: Path) -> Path | None:
    """Return the folder that the file *path* of a worktree or submodule names."""
    text = read(path, _POINTER_BYTES, follow=True) or b""
    if not text.startswith(b"gitdir: "):
        return None
    return path.parent / os.fsdecode(text.removeprefix(b"gitdir: ").rstrip(b"\r\n"))


def head(private: Path) -> bytes:
    """Return what is checked out in the repository in *private*; a link to the branch is the old form."""
    path = private / "HEAD"
    if path.is_symlink():
        return b"ref: " + os.fsencode(path.readlink())
    return read(path, _POINTER_BYTES, follow=False) or b""


def common_folder(private: Path) -> Path:
    """Return the folder that all worktrees of a repository share."""
    named = read(private / "commondir", _POINTER_BYTES, follow=True)
    common = private / os.fsdecode(named.rstrip(b"\r\n")) if named else private
    return private if is_unc_path(common) and not is_unc_path(private) else common

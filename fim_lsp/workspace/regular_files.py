"""
Regular files into bytes: never a device, a pipe or a terminal, and never more than is wanted.
Blocking.

A cloned repository may hold a link to /dev/stdin or /dev/zero, or a FIFO, under any name.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


def read(path: Path, longest: int, *, follow: bool) -> bytes | None:
    """
    Return at most *longest* bytes of the file; None when it is not there, not regular or not
    readable.

    Without *follow* a symbolic link is none, as git takes `.gitignore` since 2.32.
    """
    try:
        return read_rules(path, longest, follow=follow)
    except (OSError, ValueError):  # a path that holds a NUL
        return None


def read_rules(path: Path, longest: int, *, follow: bool) -> bytes | None:
    """
    Return the same of a file that says what is private. Raises OSError where one is there that
    cannot be read: nothing is known of its rules.
    """
    about = look(path, follow=follow)
    if about is None or not stat.S_ISREG(about.st_mode):
        return None
    flags = _FLAGS if follow else _FLAGS | _NOFOLLOW
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        now = os.fstat(file.fileno())
        if (now.st_dev, now.st_ino) != (about.st_dev, about.st_ino):
            raise OSError(errno.ESTALE, "was replaced meanwhile", str(path))
        return file.read(longest)


def look(path: Path, *, follow: bool = True) -> os.stat_result | None:
    """
    Return what is at *path*, None where nothing is. Raises OSError where that cannot be known.
    """
    try:
        return path.stat() if follow else path.lstat()
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise


def is_folder(path: Path) -> bool:
    """Return whether there is a folder at *path*. Raises OSError where that cannot be known."""
    about = look(path)
    return about is not None and stat.S_ISDIR(about.st_mode)

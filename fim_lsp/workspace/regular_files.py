"""
Regular files into bytes: never a device, a pipe or a terminal, and never more than is wanted.
Blocking.

A cloned repository may hold a link to /dev/stdin or /dev/zero, or a FIFO, under any name.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


def read(path: Path, longest: int, *, follow: bool) -> bytes | None:
    """
    Return at most *longest* bytes of the file; None when it is not there, not regular or not
    readable.

    Without *follow* a symbolic link is none, as git takes `.gitignore` since 2.32.
    """
    try:
        about = path.stat() if follow else path.lstat()
        if not stat.S_ISREG(about.st_mode):
            return None
        flags = _FLAGS if follow else _FLAGS | _NOFOLLOW
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            now = os.fstat(file.fileno())
            same = (now.st_dev, now.st_ino) == (about.st_dev, about.st_ino)
            return file.read(longest) if same else None
    except (OSError, ValueError):  # a path that holds a NUL
        return None

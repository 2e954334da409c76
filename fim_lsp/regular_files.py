"""
Regular files into bytes: never a device, a pipe or a terminal, and never more than is wanted.
Blocking.

A cloned repository may hold a link to /dev/stdin or /dev/zero, or a FIFO, under any name. A file of
rules or settings is *known*, also where there is none, or `Wrong`: then what it says is not known,
and so all that it may hide is private. Only the loop knows the third state, *not known yet*.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}
_TRIES = 3  # of a file that is written meanwhile
# Many editors empty a file and then write it. A file that changed so lately may be half of itself.
REST_S = 0.1
MOST_REST_S = 1.0  # that a file of rules which is written all the time is waited for
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # what it begins with, if its writer marks it
_UTF_16_SHARE = 3  # each other byte of such a text is 0; git takes a rule up to the first one
_KINDS = {stat.S_IFDIR: "is a folder", stat.S_IFIFO: "is a pipe", stat.S_IFSOCK: "is a socket"}


class Wrong(OSError):
    """A fault of a file of rules or settings, and how to mend it."""

    def __init__(self, file: Path, what: str, mend: str) -> None:
        super().__init__(errno.EINVAL, f"{what}: {mend}", str(file))


def read(path: Path, longest: int, *, follow: bool) -> bytes | None:
    """
    Return at most *longest* bytes of the file; None when it is not there, not regular or not
    readable.

    Without *follow* a symbolic link counts as no file.
    """
    try:
        return read_beginning(path, longest, follow=follow)
    except (OSError, ValueError):  # a path that holds a NUL
        return None


def read_beginning(path: Path, longest: int, *, follow: bool) -> bytes | None:
    """
    Return at most *longest* bytes of a file as it was at one moment; None where there is none.
    Raises OSError where that cannot be known, Wrong where it is no regular file.
    """
    for _ in range(_TRIES):
        if (about := _look_at_file(path, follow=follow)) is None:
            return None
        if _is_null(about):
            return b""
        with open(path, "rb", opener=lambda name, _: os.open(name, _FLAGS)) as file:
            data = file.read(longest)
            n_opened = os.fstat(file.fileno()).st_ino
        after = _look_at_file(path, follow=follow)
        if after is not None and stamp(after) == stamp(about) and n_opened == about.st_ino:
            return data
    raise Wrong(path, "is being written", "it is read again soon")


def read_rules(path: Path, longest: int, *, follow: bool) -> bytes | None:
    """
    Return a file that says what is private, once it was not written for `REST_S`; None where there
    is none.

    Raises Wrong where something is there that cannot be read, is written meanwhile, is no text in
    an encoding that ASCII is a part of, or has more than *longest* bytes.
    """
    try:
        data = _read_at_rest(path, longest + 1, follow=follow)
    except Wrong:
        raise
    except OSError as error:
        raise Wrong(path, error.strerror or str(error), "make it readable, or delete it") from error
    if data and (data.startswith(_UTF_16) or data.count(0) * _UTF_16_SHARE >= len(data)):
        raise Wrong(path, "is text in UTF-16", "save it as UTF-8")
    if data and len(data) > longest:
        raise Wrong(path, f"has more than {longest} bytes", "shorten it")
    return data


def _read_at_rest(path: Path, longest: int, *, follow: bool) -> bytes | None:
    """
    Return the beginning of a file as `read_beginning` does, after the file was left alone for
    `REST_S`: an earlier reading may lack the rule that comes next. A file that is not there is
    looked for twice where its folder was changed. Raises Wrong after `MOST_REST_S`.
    """
    until = time.monotonic() + MOST_REST_S
    was_there = True
    while True:
        data = read_beginning(path, longest, follow=follow)
        left_s = _rest_left(path if data is not None else path.parent)
        if left_s <= 0 or (data is None and not was_there):
            return data
        was_there = data is not None
        if time.monotonic() > until:
            raise Wrong(path, "is being written", "it is read again soon")
        time.sleep(left_s)


def _rest_left(path: Path) -> float:
    """
    Return in how many seconds *path*, and what it leads to, will not have changed for `REST_S`.

    A time in the future, of another machine's clock, says nothing about that.
    """
    now = time.time()
    abouts = [about for about in (look(path, follow=False), look(path)) if about is not None]
    files = [about for about in abouts if not stat.S_ISCHR(about.st_mode)]
    ages = [now - at for about in files for at in (about.st_mtime, about.st_ctime)]
    return max((REST_S - age for age in ages if abs(age) < REST_S), default=0.0)


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


def _look_at_file(path: Path, *, follow: bool) -> os.stat_result | None:
    """Return what is known of the regular file at *path*, None where there is nothing."""
    about = look(path, follow=False)
    if about is not None and stat.S_ISLNK(about.st_mode):
        if not follow:
            raise Wrong(path, "is a link", "write into the file itself")
        if (about := look(path)) is None:
            raise Wrong(path, "leads to nothing", "delete the link, or make what it leads to")
    if about is None or stat.S_ISREG(about.st_mode) or _is_null(about):
        return about
    what = _KINDS.get(stat.S_IFMT(about.st_mode), "is a device")
    raise Wrong(path, what, "put a file in its place, or delete it")


def _is_null(about: os.stat_result) -> bool:
    """Return whether this is /dev/null, the usual name for a file with nothing in it."""
    device: int = getattr(about, "st_rdev", 0)  # Windows has none
    null: int = getattr(os.stat(os.devnull), "st_rdev", 0)  # noqa: PTH116 (no path of ours)
    return stat.S_ISCHR(about.st_mode) and device == null


def stamp(about: os.stat_result) -> tuple[int, ...]:
    """Return what changes when a file is written; a writer may set the time of its change back."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns

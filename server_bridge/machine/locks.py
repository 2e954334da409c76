"""
Files by which the processes of a user share another one: their locks tell which of them live.

    engine-….json     locked by the shared process for as long as it lives; where it is, its key
    engine-….users    locked by each process that uses it
    engine-….shown    what it was shown, see `shown`

A lock ends with its process, however that ends. Files are made and deleted by one process at a
time, which has locked their folder: so a locked file lies where it is looked for, and holds what
its own process wrote. Windows has no such locks, and some network disks have none. A file that
another program has locked or put there is an OSError after a moment: each has a process of its own
then.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from server_bridge.machine import private_files, processes

if sys.platform != "win32":
    import fcntl

HELD_S = 0.5  # of ours, none has locked the folder longer
# Programs that clean up delete what is some days old, and so do we.
FRESH_S = 3600.0
OLD_S = 7 * 86400.0


def take(path: Path) -> int | None:
    """
    Return the empty file of a process that is to be started, locked; None where one lives. The lock
    lasts until each process that inherited the file has closed it. Raises OSError.
    """
    with _alone(path.parent):
        if find(path) is not None:
            return None
        for left in path.parent.glob("engine-*"):  # also by another machine, or before a restart
            with suppress(OSError):  # it is a folder, or gone already
                is_old = time.time() > left.lstat().st_mtime + OLD_S
                # A lock that no session uses has its own end, whatever a clock says that was set.
                is_left = is_old and not is_used(left) and find(left.with_suffix(".json")) is None
                if left in (path, hashes_file(path)) or is_left:
                    left.unlink()
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        _lock(file, waits_s=HELD_S)  # another process may just look at it
        return file


def release(file: int) -> None:
    """Give up the lock of a process that does not serve: for others it lives no more."""
    _lock(file, shared=True)


def find(path: Path) -> bytes | None:
    """Return what the living process of *path* wrote, "" while it starts; None without one."""
    with suppress(OSError), os.fdopen(private_files.open_private(path), "rb") as file:
        if not _lock(file.fileno(), shared=True):
            return file.read(private_files.MOST_BYTES)
    return None


def is_there(path: Path, lock: int) -> bool:
    """Return whether *path* is still the file that was taken as *lock*, and is believed."""
    with suppress(OSError):
        about = path.stat()
        is_believed = not (stat.S_ISREG(about.st_mode) and private_files.find_problem(about))
        return is_believed and os.path.samestat(about, os.fstat(lock))
    return False


def list_shared(folder: Path) -> list[tuple[str, int, int]]:
    """
    Return the processes whose files lie in *folder*: the model of each, its memory in bytes, and
    how many processes use it.
    """
    found = []
    for path in sorted(folder.glob("engine-*.json")):
        with suppress(ValueError, LookupError, TypeError):  # it starts, or is of another version
            answer = json.loads(find(path) or b"")
            users = str(users_file(path))
            n_users = sum(users in processes.list_open(pid) for pid in processes.list_all())
            found.append((answer["model"], processes.memory(int(answer["pid"])), n_users))
    return found


def join(path: Path) -> int:
    """Return the lock of a user of the process of *path*. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(path.parent):
        users = private_files.open_private(users_file(path), os.O_RDWR | os.O_CREAT)
        if _lock(users, shared=True, waits_s=HELD_S):
            return users
        os.close(users)
    raise TimeoutError(f"another program has locked {users_file(path)}")


def leave(path: Path, users: int) -> None:
    """Give up the lock of a user; the last one deletes what a process that was killed has left."""
    os.close(users)
    if find(path) is None:
        delete_unused(path)


def is_alone(path: Path, users: int) -> bool:
    """Return whether *users* is the lock of the only user; it is given up for a moment to see."""
    with suppress(OSError), _alone(path.parent, waits_s=0.0):
        is_only = _lock(users)
        _lock(users, shared=True, waits_s=HELD_S)
        return is_only
    return False


def is_used(path: Path) -> bool:
    """Return whether a process uses the one of *path*; then its files do not look old."""
    is_used = False
    with suppress(OSError), os.fdopen(private_files.open_private(users_file(path))) as file:
        is_used = not _lock(file.fileno())
        if is_used and time.time() > os.fstat(file.fileno()).st_mtime + FRESH_S:
            for each in (users_file(path), path, hashes_file(path)):
                os.utime(each)
    return is_used


def delete_unused(path: Path) -> bool:
    """Delete the files, where that can be, and return True; unless one uses that of *path*."""
    with suppress(OSError), _alone(path.parent):
        if is_used(path):
            return False
        for each in (path, users_file(path), hashes_file(path)):
            each.unlink(missing_ok=True)
    return True


def users_file(path: Path) -> Path:
    """Return the file that the users of the process of *path* have open."""
    return path.with_suffix(".users")


def hashes_file(path: Path) -> Path:
    """Return the file of what the process of *path* was shown."""
    return path.with_suffix(".shown")


def _lock(file: int, *, shared: bool = False, waits_s: float = 0.0) -> bool:
    """Lock an open file; return whether no other process has locked it for *waits_s*."""
    if sys.platform != "win32":
        until = time.monotonic() + waits_s
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, how | fcntl.LOCK_NB)
                break
            if time.monotonic() >= until:
                return False
            time.sleep(0.001)
    return True


@contextmanager
def _alone(folder: Path, waits_s: float = HELD_S) -> Iterator[None]:
    """
    Keep other processes from making or deleting files in *folder*, for some microseconds. Raises
    TimeoutError where another one does not give it free.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if not _lock(descriptor, waits_s=waits_s):
            raise TimeoutError(f"another program has locked {folder}")
        yield
    finally:
        os.close(descriptor)

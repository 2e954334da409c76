"""
The files of which a process that sessions share was shown text, also by sessions that have ended.

    engine-….shown    beside its file (`locks`): a hash of each file's name

The hashes are keyed with what the process says of itself, in which there is a random key: they tell
nothing once its file is gone, and count for no later process. A hash counts wherever it stands, so
a write that was cut off spoils no other. All of this touches the disk: call it in a thread.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from server_bridge.machine import locks, private_files

ENGINES = "engine-*.json"
HASH_BYTES = 16
MOST_BYTES = 1 << 20  # 65,536 files; weeks of work take a tenth of it


def note(folder: Path, names: Iterable[str]) -> None:
    """
    Note that the living processes of *folder* are shown text of files. Raises OSError; an engine
    for which there can be no note ends.
    """
    files = [*names]
    for path, said in _list_living(folder):
        noted = locks.hashes_file(path)
        try:
            file = private_files.open_private(noted, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        except OSError:
            if not os.path.lexists(noted):  # no disk space, a folder that cannot be written
                end(path)
            raise
        try:
            _append(file, b"".join(_hash(said, name) for name in files))
        except OSError:
            noted.chmod(0o640)  # a file that others can read counts as if it named all files
            raise
        finally:
            os.close(file)


def end(path: Path) -> None:
    """
    Have the process of *path* end, which looks at its file: the file goes or, in a folder that
    cannot be written, becomes readable for others. Raises OSError.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError:
        path.chmod(0o640)


def is_noted(folder: Path, name: str) -> bool:
    """
    Return whether a living process of *folder* was shown text of the file *name*; True where its
    notes cannot be read, or had no room for all files.
    """
    living = _list_living(folder)
    return any(map(_is_odd, folder.glob(ENGINES))) or any(
        _has(locks.hashes_file(path), _hash(said, name)) for path, said in living
    )


def _append(file: int, hashes: bytes) -> None:
    is_full = os.fstat(file).st_size >= MOST_BYTES
    if not is_full and os.write(file, hashes) < len(hashes):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_odd(path: Path) -> bool:
    """Return whether a process that may live has a file that others could have written."""
    try:
        os.close(private_files.open_private(path))
    except OSError:
        return path.is_file()
    return False


def _has(file: Path, digest: bytes) -> bool:
    try:
        noted = private_files.read(file, MOST_BYTES)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return digest in noted or len(noted) == MOST_BYTES


def _list_living(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the file of each process that serves, and what it says."""
    for path in folder.glob(ENGINES):
        if said := locks.find(path):
            yield path, said


def _hash(said: bytes, name: str) -> bytes:
    key = blake2b(said).digest()
    return blake2b(name.encode(errors="surrogateescape"), digest_size=HASH_BYTES, key=key).digest()

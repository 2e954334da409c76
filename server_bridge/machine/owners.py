"""Sockets of this user into the processes that have them open, as Linux tells them (proc(5), "/proc/PID/fd")."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

PROCESSES = Path("/proc")


def processes(inodes: Collection[int]) -> dict[int, int]:
    """
    The process of each of *inodes*; a socket that several have open belongs to the first of them.

    None of those that another user's process has open. Takes some 10 ms.
    """
    names = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, int] = {}
    for pid in sorted(int(each.name) for each in PROCESSES.glob("[0-9]*")):
        for name in _opened(pid):
            if name in names:
                found.setdefault(names[name], pid)
    return found


def _opened(pid: int) -> list[str]:
    """What a process has open, by the names that the kernel gives it."""
    folder, names = PROCESSES / str(pid) / "fd", []
    try:
        for each in os.listdir(folder):  # noqa: PTH208 (200 processes have 20,000 files open)
            try:
                names.append(os.readlink(f"{folder}/{each}"))  # noqa: PTH115
            except OSError:  # it was closed meanwhile
                continue
    except OSError:  # another user's, or it has ended
        pass
    return names

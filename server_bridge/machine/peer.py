"""The user, and the process, at the other end of a connection on this machine (proc(5), "/proc/PID/fd")."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Sequence
from pathlib import Path

from server_bridge.machine import sockets

PROCESSES = Path("/proc")


def can_tell() -> bool:
    """Return whether this system tells the user at the other end of a connection."""
    return sockets.can_tell()


def uid(connection: socket.socket) -> int | None:
    """Return the user at the other end, None where the system does not tell."""
    found = _other_end(connection)
    return found.uid if found else None


def processes(connections: Sequence[socket.socket]) -> list[int | None]:
    """Return the process at the other end of each, None where the system does not tell. Takes some 10 ms."""
    inodes = [found.inode if (found := _other_end(each)) else 0 for each in connections]
    known = _processes_of({each for each in inodes if each})
    return [known.get(each) for each in inodes]


def _other_end(connection: socket.socket) -> sockets.Socket | None:
    try:
        ours, theirs = connection.getsockname()[:2], connection.getpeername()[:2]
    except OSError:  # it is closed
        return None
    return sockets.find_connected(sockets.end(*theirs), sockets.end(*ours))


def _processes_of(inodes: Collection[int]) -> dict[int, int]:
    """
    Return the process of each of *inodes*; a socket that several have open belongs to the first of them.

    None of those that another user's process has open. Takes some 10 ms.
    """
    names = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, int] = {}
    for pid in sorted(int(each.name) for each in PROCESSES.glob("[0-9]*")):
        for name in _list_open(pid):
            if name in names:
                found.setdefault(names[name], pid)
    return found


def _list_open(pid: int) -> list[str]:
    """Return the open files of a process, by the names that the kernel gives them."""
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

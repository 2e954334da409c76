"""A connection on this machine into the user, and the process, at its other end."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from server_bridge.machine import owners, sockets


def can_tell() -> bool:
    """Whether this system tells the user at the other end of a connection."""
    return sockets.can_tell()


def uid(connection: socket.socket) -> int | None:
    """The user at the other end, None where the system does not tell."""
    found = _other_end(connection)
    return found.uid if found else None


def processes(connections: Sequence[socket.socket]) -> list[int | None]:
    """The process at the other end of each, None where the system does not tell. Takes some 10 ms."""
    inodes = [found.inode if (found := _other_end(each)) else 0 for each in connections]
    known = owners.processes({each for each in inodes if each})
    return [known.get(each) for each in inodes]


def _other_end(connection: socket.socket) -> sockets.Socket | None:
    try:
        ours, theirs = connection.getsockname()[:2], connection.getpeername()[:2]
    except OSError:  # it is closed
        return None
    return sockets.connected(sockets.end(*theirs), sockets.end(*ours))

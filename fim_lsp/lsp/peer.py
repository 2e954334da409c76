"""A connection on this machine into the user at its other end."""

from __future__ import annotations

import socket

from server_bridge.machine import sockets


def can_tell() -> bool:
    """Whether this system tells the user at the other end of a connection."""
    return sockets.can_tell()


def uid(connection: socket.socket) -> int | None:
    """The user at the other end, None where the system does not tell."""
    ours, theirs = connection.getsockname()[:2], connection.getpeername()[:2]
    found = sockets.connected(sockets.end(*theirs), sockets.end(*ours))
    return found.uid if found else None

"""
A connection on this machine into the user at its other end.

Linux lists all connections with their users (proc(5), "/proc/net/tcp"). Other systems do not tell
without special rights.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"  # of one that is closed already the table says user 0

Address = tuple[
    str, int
]  # an IP address as Python writes it, IPv4 also where IPv6 carries it; a port


class Connection(NamedTuple):
    """A row of the table: the end of a connection that belongs to the user *uid*."""

    local: Address
    remote: Address
    uid: int


def can_tell() -> bool:
    """Whether this system tells the user at the other end of a connection."""
    return _TABLES[0].exists()


def uid(connection: socket.socket) -> int | None:
    """The user at the other end, None where the system does not tell. Reads files."""
    ours, theirs = _address(*connection.getsockname()[:2]), _address(*connection.getpeername()[:2])
    for table in _TABLES:
        with contextlib.suppress(OSError):
            for row in established(table.read_text("ascii")):
                if (row.local, row.remote) == (theirs, ours):
                    return row.uid
    return None


def established(table: str) -> Iterator[Connection]:
    """The connections of a table that are open at both ends."""
    for line in table.splitlines()[1:]:
        _, local, remote, state, _, _, _, uid, _, inode, *_ = line.split()
        if state == _ESTABLISHED and inode != "0":
            yield Connection(_parsed(local), _parsed(remote), int(uid))


def _parsed(text: str) -> Address:
    """`0100007F:1F90`: words of 32 bits in the machine's order, and a port."""
    host, _, port = text.partition(":")
    words = [int(host[at : at + 8], 16) for at in range(0, len(host), 8)]
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    return _address(str(ipaddress.ip_address(packed)), int(port, 16))


def _address(host: str, port: int) -> Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address), port

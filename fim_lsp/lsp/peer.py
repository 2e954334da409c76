"""
A connection on this machine into the user at its other end.

Linux tells it of one connection (sock_diag(7), 15 µs), and lists all of them with their users (proc(5),
"/proc/net/tcp", 6 ms) for where that is not allowed. Other systems do not tell without special rights.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"  # of one that is closed already the table says user 0

# linux/netlink.h and linux/sock_diag.h; the two kinds of answers that there are
_NETLINK_SOCK_DIAG, _NLM_F_REQUEST = 4, 1
_NLMSG_ERROR, _SOCK_DIAG_BY_FAMILY = 2, 20
_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, number, port
_QUESTION = struct.Struct(
    "=BBBxI"
)  # inet_diag_req_v2 up to the connection: family, protocol, more, states
_PORTS = struct.Struct(">HH")
_ANY_INTERFACE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # and no cookie
_ANSWER = struct.Struct("=BBxx48xIIIII")  # inet_diag_msg: family, state, …, user, inode
_WAIT_S = 1.0  # the kernel answers at once

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
    """The user at the other end, None where the system does not tell."""
    ours, theirs = _address(*connection.getsockname()[:2]), _address(*connection.getpeername()[:2])
    try:
        return _told(theirs, ours)
    except OSError:
        return _listed(theirs, ours)


def _told(local: Address, remote: Address) -> int | None:
    """The user of the connection from *local*, by the kernel. Raises OSError where it takes no such question."""
    packed = [ipaddress.ip_address(host).packed for host, _ in (local, remote)]
    family = socket.AF_INET if len(packed[0]) == 4 else socket.AF_INET6  # noqa: PLR2004 (bytes)
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 1 << int(_ESTABLISHED))
    question += _PORTS.pack(local[1], remote[1])
    question += b"".join(host.ljust(16, b"\0") for host in packed) + _ANY_INTERFACE
    length = _HEADER.size + len(question)
    header = _HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_WAIT_S)
        kernel.send(header + question)
        answer = kernel.recv(4096)
    kind = _HEADER.unpack_from(answer)[1]
    if kind == _NLMSG_ERROR:
        number = -struct.unpack_from("=i", answer, _HEADER.size)[0]
        if number == errno.ENOENT:
            return None
        raise OSError(number, os.strerror(number))
    _, state, *_, user, inode = _ANSWER.unpack_from(answer, _HEADER.size)
    return user if state == int(_ESTABLISHED) and inode else None


def _listed(local: Address, remote: Address) -> int | None:
    """The same by the tables."""
    for table in _TABLES:
        with contextlib.suppress(OSError):
            for row in established(table.read_text("ascii")):
                if (row.local, row.remote) == (local, remote):
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

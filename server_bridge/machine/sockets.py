"""
The TCP sockets of this machine and the user of each, as Linux tells them.

The kernel answers questions about single ones (sock_diag(7), 20 to 45 µs). Where it takes none, as
in some sandboxes, all are read from its tables (proc(5), "/proc/net/tcp", 6 ms). Other systems do
not tell without special rights.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from server_bridge.machine import processes
from server_bridge.machine.addresses import Address, plain


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user at the other end, None where the system does not tell."""
    socket_there = _other_end(connection)
    return socket_there.uid if socket_there else None


def peer_processes(connections: Sequence[socket.socket]) -> list[int | None]:
    """
    Return the process at the other end of one, None where the system does not tell. Takes some 10
    ms.
    """
    inodes = [far.inode if (far := _other_end(one)) else 0 for one in connections]
    found = _processes_of({one for one in inodes if one})
    return [found.get(one) for one in inodes]


def _other_end(connection: socket.socket) -> Socket | None:
    try:
        ours = connection.getsockname()[:2]
        theirs = connection.getpeername()[:2]
    except OSError:  # it is closed
        return None
    return find_connected(end(*theirs), end(*ours))


def _processes_of(inodes: Collection[int]) -> dict[int, int]:
    """
    Return the process of folder of *inodes*; a socket that several have open belongs to the first
    of them.

    None of those that another user's process has open. Takes some 10 ms.
    """
    names = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, int] = {}
    for pid in processes.list_all():
        for name in processes.list_open(pid):
            if name in names:
                found.setdefault(names[name], pid)
    return found


End = tuple[Address, int]  # IPv4 also where IPv6 carries it; a port

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
# include/net/tcp_states.h
ESTABLISHED = 1
LISTEN = 10

# linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h
_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST = 0x1
_DUMP = 0x300
_ERROR = 2
_DONE = 3
_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, number, port
_QUESTION = struct.Struct("=BBBxI")  # inet_diag_req_v2: family, protocol, extensions, states
_PORTS = struct.Struct(">HH")
_ANY_INTERFACE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # and no cookie
_ANSWER = struct.Struct("=BBxx4x16s16s24xII")  # inet_diag_msg: family, state, hosts, user, inode
_WAIT_S = 1.0  # the kernel answers at once
_READ = 1 << 16


class Socket(NamedTuple):
    """
    One end of a connection, or a socket that listens; *inode* is 0 where no process has it open.
    """

    local: End
    remote: End
    state: int
    uid: int
    inode: int


def can_tell() -> bool:
    """Return whether this system tells whose a socket is."""
    return TABLES[0].exists()


def end(host: str, port: int) -> End:
    """Return an address as Python's sockets write it."""
    return plain(ipaddress.ip_address(host.partition("%")[0])), port


def find_connected(local: End, remote: End) -> Socket | None:
    """
    Return the socket at *local* that is connected with *remote*, also where either end has shut
    down its half.

    None where the system does not tell, and once no process has that socket open.
    """
    hosts = local[0].packed, remote[0].packed
    try:
        sockets = _query_kernel(local[0].version, ESTABLISHED, (local[1], remote[1]), hosts, 0)
    # ENOENT, too: a kernel that cannot tell says what one says that has no such socket.
    except OSError:
        sockets = read_tables(TABLES)
    return next((one for one in sockets if one[:2] == (local, remote) and one.inode), None)


def find_listening(port: int) -> list[Socket]:
    """Return the sockets that listen at *port*."""
    try:
        sockets = dump_listening(4, port) + dump_listening(6, port)
    except OSError:
        sockets = read_tables(TABLES)
    return at_port(sockets, port)


def at_port(sockets: list[Socket], port: int) -> list[Socket]:
    """Return those that listen at *port*."""
    return [one for one in sockets if one.state == LISTEN and one.local[1] == port]


def dump_listening(version: int, port: int) -> list[Socket]:
    """
    Return the kernel's list of the sockets of IP *version* that listen at *port*. Raises OSError
    where it has none.
    """
    return _query_kernel(version, LISTEN, (port, 0), (b"", b""), _DUMP)


def read_tables(tables: tuple[Path, ...]) -> list[Socket]:
    """Return all sockets, from Linux's *tables*; of one that cannot be read, none."""
    return [row for table in tables for row in _rows(table)]


def _query_kernel(
    version: int, state: int, ports: tuple[int, int], hosts: tuple[bytes, bytes], flags: int
) -> list[Socket]:
    """
    Return the kernel's answer. Raises OSError where it takes no such question, or knows no such
    socket.
    """
    if not hasattr(socket, "AF_NETLINK"):
        raise OSError(errno.EAFNOSUPPORT, "not Linux")
    family = socket.AF_INET if version == 4 else socket.AF_INET6  # noqa: PLR2004 (of IP)
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 1 << state) + _PORTS.pack(*ports)
    question += b"".join(host.ljust(16, b"\0") for host in hosts) + _ANY_INTERFACE
    length = _HEADER.size + len(question)
    header = _HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _REQUEST | flags, 0, 0)
    sockets: list[Socket] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(_WAIT_S)
        kernel.send(header + question)
        while True:
            for kind, body in _messages(kernel.recv(_READ)):
                if kind == _DONE:
                    return sockets
                if kind == _ERROR:
                    number = -struct.unpack_from("=i", body)[0]
                    raise OSError(number, os.strerror(number))
                sockets.append(_answer(body))
            if not flags:
                return sockets


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the messages of an answer: their types and what follows their headers."""
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        yield kind, data[_HEADER.size : length]
        data = data[max(_HEADER.size, (length + 3) & ~3) :]


def _answer(body: bytes) -> Socket:
    family, state, *hosts, uid, inode = _ANSWER.unpack_from(body)
    n_bytes = 4 if family == socket.AF_INET else 16
    ports = _PORTS.unpack_from(body, 4)
    local, remote = (
        (plain(ipaddress.ip_address(host[:n_bytes])), port)
        for host, port in zip(hosts, ports, strict=True)
    )
    return Socket(local, remote, state, uid, inode)


def _rows(table: Path) -> Iterator[Socket]:
    try:
        lines = table.read_text("ascii").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        _, local, remote, state, _, _, _, uid, _, inode, *_ = line.split()
        yield Socket(_parse_end(local), _parse_end(remote), int(state, 16), int(uid), int(inode))


def _parse_end(text: str) -> End:
    """Parse `0100007F:1F90`: words of 32 bits, each in the machine's own order, and a port."""
    host, _, port = text.partition(":")
    words = (int(host[at : at + 8], 16) for at in range(0, len(host), 8))
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    return plain(ipaddress.ip_address(packed)), int(port, 16)

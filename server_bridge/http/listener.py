"""
Which user listens at a port of this machine.

A server that was found, not named, gets code only if it runs as the user does: any other user may
listen at a usual port, and answer as llama.cpp would. Linux tells the user of every socket in
/proc/net/tcp; elsewhere the processes of this user are asked for their sockets (psutil), which
needs no privilege. Where neither knows the listener, it is not this user's.

Root counts as another user: what listens as root is most often a proxy that hands on to a container
or to a service of another account.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from server_bridge.machine.addresses import port_of
from server_bridge.protocol import BackendUnavailable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LISTEN = "0A"  # include/net/tcp_states.h
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOCAL = ipaddress.IPv4Address("127.0.0.1")


class Listener(NamedTuple):
    """A listening socket: *is_ours* if it belongs to this user; *socket* tells it from any other."""

    is_ours: bool
    socket: tuple[float, ...]


class AnotherUser(BackendUnavailable):
    """A server that was not named is not, as far as can be seen, this user's."""


async def only_ours(url: str) -> Listener:
    """Who listens at the local address *url*. Raises AnotherUser unless it is this user."""
    port = port_of(url)
    found = await asyncio.to_thread(listener, port)
    if found is not None and found.is_ours:
        return found
    what = "a server of another user" if found else "a server whose user cannot be seen"
    raise AnotherUser(
        f"{what} listens on port {port}: set fim.backend.url to {url} to use it, "
        "or fim.backend.kind to embedded to ignore it"
    )


def listener(port: int) -> Listener | None:
    """Who answers at *port* of 127.0.0.1, None where that cannot be seen. Takes some milliseconds."""
    return in_tables(port) if sys.platform == "linux" else in_processes(port)


def in_tables(port: int, tables: tuple[Path, ...] = TABLES) -> Listener | None:
    """By Linux's tables of sockets, which have the user of each."""
    found = [row for table in tables for row in _rows(table) if row.port == port]
    exact = [row for row in found if row.address == LOCAL]
    answering = exact or [row for row in found if row.address.is_unspecified]
    if not answering:
        return None
    return Listener(
        all(row.uid == os.geteuid() for row in answering),
        tuple(sorted(row.inode for row in answering)),
    )


def in_processes(port: int) -> Listener | None:
    """By the sockets of this user's processes; the system shows no others without a privilege."""
    import psutil  # noqa: PLC0415 (not installed on Linux, where the tables tell more)

    me = psutil.Process().username()
    for process in psutil.process_iter():
        try:
            if process.username() != me:
                continue
            for each in process.net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN and _answers(each.laddr, port):
                    return Listener(True, (process.pid, process.create_time()))
        except (psutil.Error, OSError):
            continue
    return None


class _Row(NamedTuple):
    address: Address
    port: int
    uid: int
    inode: int


def _rows(table: Path) -> Iterator[_Row]:
    """The listening sockets in one of Linux's tables (proc(5))."""
    try:
        lines = table.read_text("ascii").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split()
        if fields[3] == LISTEN:
            address, _, port = fields[1].partition(":")
            yield _Row(_address(address), int(port, 16), int(fields[7]), int(fields[9]))


def _address(words: str) -> Address:
    """An address as Linux prints it: words of 32 bits, each in the machine's own order."""
    each = (int(words[at : at + 8], 16) for at in range(0, len(words), 8))
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in each)
    return _plain(ipaddress.ip_address(packed))


def _answers(at: tuple[str, int], port: int) -> bool:
    """Whether a socket that listens *at* an address answers at *port* of 127.0.0.1."""
    address = _plain(ipaddress.ip_address(at[0]))
    return at[1] == port and (address == LOCAL or address.is_unspecified)


def _plain(address: Address) -> Address:
    """An IPv4 address in an IPv6 one as itself."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address

"""
The user who listens at a port of this machine.

A server that was found, not named, gets code only if it runs as the user does: any other user may
listen at a usual port, and answer as llama.cpp would. Linux tells the user of every socket;
elsewhere the processes of this user are asked for their sockets (psutil), which needs no privilege.
Where neither knows the listener, it is not this user's.

Root counts as another user: what listens as root is most often a proxy that hands on to a container
or to a service of another account.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import sys
from typing import NamedTuple

from server_bridge.machine import sockets
from server_bridge.machine.addresses import plain, port_of
from server_bridge.machine.sockets import Socket
from server_bridge.protocol import BackendUnavailable

LOCAL = ipaddress.IPv4Address("127.0.0.1")


class Listener(NamedTuple):
    """
    A listening socket: *is_ours* if it belongs to this user; *socket* tells it from any other.
    """

    is_ours: bool
    socket: tuple[float, ...]


class AnotherUser(BackendUnavailable):
    """A server that was not named is not, as far as can be seen, this user's."""


async def only_ours(url: str) -> Listener:
    """
    Return the listener at the local address *url*. Raises AnotherUser unless it is this user's.
    """
    port = port_of(url)
    listening = await asyncio.to_thread(listener, port)
    if listening is not None and listening.is_ours:
        return listening
    what = "a server of another user" if listening else "a server whose user cannot be seen"
    raise AnotherUser(
        f"{what} listens on port {port}: set fim.backend.url to {url} to use it, "
        "or fim.backend.kind to embedded to ignore it"
    )


def listener(port: int) -> Listener | None:
    """
    Return the listener at *port* of 127.0.0.1, None where that cannot be seen. May take some
    milliseconds.
    """
    return among(sockets.find_listening(port)) if sys.platform == "linux" else in_processes(port)


def among(listening: list[Socket]) -> Listener | None:
    """Return the one of the sockets listening at a port that answers at 127.0.0.1."""
    exact = [each for each in listening if each.local[0] == LOCAL]
    answering = exact or [each for each in listening if each.local[0].is_unspecified]
    if not answering:
        return None
    return Listener(
        all(each.uid == os.geteuid() for each in answering),
        tuple(sorted(each.inode for each in answering)),
    )


def in_processes(port: int) -> Listener | None:
    """
    Find the listener by the sockets of this user's processes; the system shows no others without a
    privilege.
    """
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


def _answers(at: tuple[str, int], port: int) -> bool:
    """Return whether a socket that listens *at* an address answers at *port* of 127.0.0.1."""
    address = plain(ipaddress.ip_address(at[0]))
    return at[1] == port and (address == LOCAL or address.is_unspecified)

"""
llama.cpp servers that run on this machine and that the user did not name.

Any process may listen at a usual port. So before one of them is used it has to be this user's, and
to answer as llama.cpp does, soon. All usual ports are asked at once: one that is silent must not
delay the first suggestion. A port that did not answer as llama.cpp is left alone until something
else listens there, or for half a minute, since it has a log of its own.

Root counts as another user: what listens as root is most often a proxy that hands on to a container
or to a service of another account.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from server_bridge.http.client import Http, Trust
from server_bridge.http.responses import Loading
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.identity import proof
from server_bridge.machine import sockets
from server_bridge.machine.addresses import plain, port_of
from server_bridge.machine.sockets import Socket
from server_bridge.protocol import BackendError, BackendTimeout, BackendUnavailable, Model

PROBE_S = 0.5  # llama.cpp tells its properties in a millisecond, also while it evaluates
FRESH_S = 0.25  # a verdict holds for all addresses, which are tried one after the other
AGAIN_S = 30.0  # between two questions to a listener that is no llama.cpp server

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
    exact = [socket for socket in listening if socket.local[0] == LOCAL]
    answering = exact or [socket for socket in listening if socket.local[0].is_unspecified]
    if sys.platform == "win32" or not answering:
        return None
    return Listener(
        all(socket.uid == os.geteuid() for socket in answering),
        tuple(sorted(socket.inode for socket in answering)),
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
            for connection in process.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN and _answers(connection.laddr, port):
                    return Listener(True, (process.pid, process.create_time()))
        except (psutil.Error, OSError):
            continue
    return None


def _answers(at: tuple[str, int], port: int) -> bool:
    """Return whether a socket that listens *at* an address answers at *port* of 127.0.0.1."""
    address = plain(ipaddress.ip_address(at[0]))
    return at[1] == port and (address == LOCAL or address.is_unspecified)


KeyOf = Callable[[int], "str | Callable[[], Awaitable[str]]"]


@dataclass(frozen=True, slots=True)
class PortVerdict:
    """
    The result of a look at an address: *problem* says why it is not to be used, "" if it is.

    *listener* is this user's, None if there is none; it was asked at *asked_s*, in seconds.
    """

    problem: str = ""
    is_another_users: bool = False
    listener: Listener | None = None
    asked_s: float = 0.0


class LocalServers:
    """
    State: what was found last at each of *urls*, and when, in seconds of *now*.

    *key_of* gives the key for a port.
    """

    def __init__(
        self,
        urls: Sequence[str],
        key_of: KeyOf = lambda _: "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._urls = tuple(urls)
        self._keys = {url: key_of(port_of(url)) for url in urls}
        self._now = now
        self._verdicts = dict.fromkeys(self._urls, PortVerdict())
        self._found_at = -AGAIN_S
        self._finding = asyncio.Lock()

    def notice(self) -> str:
        """Return a message about servers that another user runs, "" where there are none."""
        return next((one.problem for one in self._verdicts.values() if one.is_another_users), "")

    def server(self, url: str, model: str, slots_dir: str) -> LlamaServer:
        """Return the server at one of the addresses, as a `Backend`."""
        trust = Trust(guard=lambda: only_ours(url))
        return _LocalServer(self, Http(url, self._keys[url], model=model, trust=trust), slots_dir)

    async def admit(self, url: str) -> None:
        """Raise BackendUnavailable unless a llama.cpp server of this user answers at *url*."""
        async with self._finding:
            if self._now() - self._found_at > FRESH_S:
                verdicts = await asyncio.gather(*(self._ask(at) for at in self._urls))
                self._verdicts = dict(zip(self._urls, verdicts, strict=True))
                self._found_at = self._now()
        if problem := self._verdicts[url].problem:
            raise BackendUnavailable(problem)

    async def _ask(self, url: str) -> PortVerdict:
        """Look at what listens at *url* now."""
        last = self._verdicts[url]
        now = self._now()
        listener: Listener | None = None

        async def guard() -> None:
            nonlocal listener
            listener = await only_ours(url)
            if last.problem and last.listener == listener and now - last.asked_s < AGAIN_S:
                raise _AskedAlready

        http = Http(url, self._keys[url], PROBE_S, trust=Trust(guard=guard))
        try:
            await proof(http)
        except _AskedAlready:
            return last
        except Loading:
            return PortVerdict(listener=listener, asked_s=now)
        except BackendError as error:
            problem = f"{url} does not answer" if isinstance(error, BackendTimeout) else str(error)
            return PortVerdict(problem, isinstance(error, AnotherUser), listener, now)
        finally:
            await http.aclose()
        return PortVerdict(listener=listener, asked_s=now)


class _AskedAlready(Exception):
    """The listener is one that was asked just now."""


class _LocalServer(LlamaServer):
    """
    A server that is connected to once it was admitted; a chat model there was not started for this.
    """

    def __init__(self, servers: LocalServers, http: Http, slots_dir: str) -> None:
        super().__init__(http, state_dir=slots_dir, must_fill=True)
        self._servers = servers

    async def connect(self) -> Model:
        """See `Backend`."""
        if not self.state.is_ready:
            await self._servers.admit(self.state.url)
        return await super().connect()

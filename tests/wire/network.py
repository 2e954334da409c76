"""Connections in memory, below httpx and httpcore: bytes of HTTP/1.1, and the time they take."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, NamedTuple

import httpcore
import pytest

from server_bridge.http import transport

LARGEST = 1 << 16  # bytes of a read
IDLE_S = 5.0  # llama.cpp closes a connection on which nothing is asked


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    body: bytes
    head: str = ""


class Reset(Exception):
    """The server resets the connection."""


Serve = Callable[[Asked], AsyncGenerator[bytes, None]]  # a pause before a piece is an await


class Network(httpcore.AsyncNetworkBackend):
    """The way to one server. *n_open* are the connections that stand; *fault* is its certificate's."""

    def __init__(self, serve: Serve) -> None:
        self.serve = serve
        self.n_open = 0
        self.is_down = False
        self.fault = ""
        self.way_s = 0.001

    async def connect_tcp(self, *_: Any, **__: Any) -> Connection:
        await asyncio.sleep(self.way_s)
        if self.is_down:
            raise httpcore.ConnectError("refused")
        return Connection(self)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Connection(httpcore.AsyncNetworkStream):
    """One of them: the answer to what was written is read piece by piece."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._asked = b""
        self._left = b""
        self._answer: AsyncGenerator[bytes, None] | None = None
        self._next: asyncio.Future[bytes] | None = None
        self._is_over = self._is_closed = False
        self._since = asyncio.get_running_loop().time()
        network.n_open += 1

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self._is_over = self._is_over or self.get_extra_info("is_readable")
        if self._is_over:  # httpcore reads all the same: the server may have said why
            raise httpcore.WriteError("closed")
        self._asked += buffer
        head, end, body = self._asked.partition(b"\r\n\r\n")
        size = int((head.lower().partition(b"content-length:")[2] or b"0").split(b"\r")[0])
        if end and len(body) >= size:
            method, path, _ = head.decode().split(" ", 2)
            self._asked = b""
            self._answer = self._network.serve(Asked(method, path, body, head.decode()))

    async def start_tls(self, *_: Any, **__: Any) -> Connection:
        if self._network.fault:
            await self.aclose()
            raise httpcore.ConnectError(f"[SSL: CERTIFICATE_VERIFY_FAILED] {self._network.fault}")
        return self

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if not self._left and not self._is_over:
            assert self._answer is not None
            self._next = self._next or asyncio.ensure_future(anext(self._answer, b""))
            if not (await asyncio.wait({self._next}, timeout=timeout))[0]:
                raise httpcore.ReadTimeout
            done = self._next
            self._next = None
            self._since = asyncio.get_running_loop().time()
            self._is_over = bool(done.exception()) or not done.result()
            if done.exception():
                assert isinstance(done.exception(), Reset), done.exception()
                raise httpcore.ReadError("reset")
            self._left = done.result()
        piece = self._left[:max_bytes]
        self._left = self._left[max_bytes:]
        return piece

    async def aclose(self) -> None:
        self._network.n_open -= not self._is_closed
        self._is_over = self._is_closed = True
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait({self._next})
        if self._answer is not None:
            await self._answer.aclose()

    def get_extra_info(self, info: str) -> Any:
        if info != "is_readable":
            return None
        idle_s = asyncio.get_running_loop().time() - self._since
        return bool(self._left) or self._is_over or idle_s > IDLE_S


@contextlib.contextmanager
def connected(network: Network) -> Iterator[None]:
    """Have all of the product's clients use *network*."""
    with pytest.MonkeyPatch.context() as patch:
        new_client = transport.new_client

        def new(*given: Any) -> Any:
            client: Any = new_client(*given)
            client._transport._pool._network_backend = network
            return client

        patch.setattr(transport, "new_client", new)
        yield

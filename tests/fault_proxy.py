"""
A proxy that does what networks and servers do on bad days, in front of a real server.

    async with fault_proxy(url) as proxy:
        proxy.fault = "hang"

Faults apply to connections that are open and to new ones: `kill` (nothing listens any more), `hang`
(bytes go in, none comes out), `drip` (a byte of the answer every so often), `half` (half an answer,
then the end), `garbage` (200 and no JSON), `refuse` (401), `error` (500), `loading` (503). "" is a good day. `odd` has answers to single paths, a status and a body each, while all else
works; `swallowed` has how many requests for a path get no answer, `slow_s` after how long one comes. With a *certificate* it speaks TLS.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ssl import SSLContext
from urllib.parse import urlsplit

from tests.tcp_server import tcp_server

DRIP_S = 0.05
LOADING = '{"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}'
ANSWERS = {
    "garbage": (200, '{"content": "x", <<<'),
    "refuse": (401, '{"error": {"code": 401, "message": "no", "type": "authentication_error"}}'),
    "error": (500, '{"error": {"code": 500, "message": "CUDA error", "type": "server_error"}}'),
    "loading": (503, LOADING),
    "foreign": (200, '{"hello": "world"}'),
}


class FaultProxy:
    """State: today's fault, odd answers by path, the socket, the open connections, the requests *heard*."""

    def __init__(self, url: str, certificate: SSLContext | None = None) -> None:
        self._target = urlsplit(url)
        self._certificate = certificate
        self._listening = AsyncExitStack()
        self._port = 0
        self.fault = ""
        self.odd: dict[str, tuple[int, str]] = {}
        self.swallowed: dict[str, float] = {}
        self.slow_s: dict[str, float] = {}
        self.heard: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http{'s' if self._certificate else ''}://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Listen, on the same port as before."""
        server = tcp_server(self._serve, self._port, self._certificate)
        host = await self._listening.enter_async_context(server)
        self._port = int(host.rpartition(":")[2])

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        await self._listening.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request after the other, each as today's fault has it."""
        while True:
            request = await _message(reader)
            self.heard.append(request)
            fault = self.fault
            path = request.split(b" ", 2)[1].decode()
            self.swallowed[path] = self.swallowed.get(path, 0) - 1
            if fault == "hang" or self.swallowed[path] >= 0:
                await asyncio.Event().wait()
            if fault in ANSWERS or path in self.odd:
                status, body = self.odd.get(path) or ANSWERS[fault]
                writer.write(
                    f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
                )
                await writer.drain()
                continue
            await asyncio.sleep(self.slow_s.get(path, 0.0))
            answer = await self._asked(request)
            if fault == "half":
                writer.write(answer[: len(answer) // 2])
                await writer.drain()
                return
            for start in range(0, len(answer), 1 if fault == "drip" else len(answer)):
                writer.write(answer[start : start + 1] if fault == "drip" else answer)
                await writer.drain()
                if fault == "drip":
                    await asyncio.sleep(DRIP_S)

    async def _asked(self, request: bytes) -> bytes:
        assert self._target.hostname
        there, back = await asyncio.open_connection(self._target.hostname, self._target.port)
        try:
            back.write(request.replace(b"Connection: keep-alive", b"Connection: close"))
            answer = await there.read()
        finally:
            back.close()
            with suppress(OSError):
                await back.wait_closed()
        return answer.replace(b"Connection: close\r\n", b"", 1)


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return head + await reader.readexactly(length)


@asynccontextmanager
async def fault_proxy(url: str, certificate: SSLContext | None = None) -> AsyncIterator[FaultProxy]:
    """A running proxy in front of *url*."""
    proxy = FaultProxy(url, certificate)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()

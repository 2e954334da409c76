"""The connection below httpx: when it is kept, when it is not, and what is no answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from server_bridge.http.plain import PlainTransport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
KEEP_S = 60.0


class Server:
    """Answers each request with the next of *answers*, and counts its connections."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.n_connections = 0
        self.url = ""
        self.writer: asyncio.StreamWriter
        self.tasks: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.ensure_future(self._answer(reader, writer)))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        self.writer = writer
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                answer = self.answers.pop(0)
                writer.write(answer)
                if not answer:
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(
    *answers: bytes, keep_s: float = KEEP_S
) -> AsyncIterator[tuple[Server, httpx.AsyncClient]]:
    server = Server(*answers)
    async with await asyncio.start_server(server.accept, "127.0.0.1") as listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        transport = PlainTransport(keep_s)
        async with httpx.AsyncClient(transport=transport, timeout=60, trust_env=False) as client:
            yield server, client
        for task in server.tasks:
            task.cancel()
        await asyncio.gather(*server.tasks)


async def test_a_connection_is_kept() -> None:
    """For the next request, after an answer that was read to its end."""
    async with serving(OK, OK) as (server, client):
        assert [(await client.get(server.url)).text for _ in range(2)] == ["ok", "ok"]
        assert server.n_connections == 1


async def test_for_some_time_only() -> None:
    """Servers close what is idle, and may do so just when we write."""
    async with serving(OK, OK, keep_s=-1.0) as (server, client):
        assert [(await client.get(server.url)).text for _ in range(2)] == ["ok", "ok"]
        assert server.n_connections == 2


async def test_what_comes_unasked_ends_it() -> None:
    """It would be taken for the next answer."""
    async with serving(OK, OK) as (server, client):
        response = await client.get(server.url)
        wire = response.extensions["network_stream"]
        server.writer.write(b"HTTP/1.1 408 Too Late\r\nContent-Length: 0\r\n\r\n")
        while not wire.get_extra_info("is_readable"):
            await asyncio.sleep(0.01)
        assert (await client.get(server.url)).text == "ok"
        assert server.n_connections == 2


async def test_an_answer_that_is_left_ends_it() -> None:
    """That is how a stream is closed."""
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
    async with serving(endless, OK) as (server, client):
        async with client.stream("GET", server.url) as response:
            assert await anext(response.aiter_raw()) == b"ok"
        assert (await client.get(server.url)).text == "ok"
        assert server.n_connections == 2


async def test_a_cancelled_request_takes_it_along() -> None:
    """The next one has another connection, whenever the first was cancelled."""
    async with serving(b" ", OK) as (server, client):
        asked = asyncio.create_task(client.get(server.url))
        while server.answers != [OK]:
            await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        assert (await client.get(server.url)).text == "ok"


async def test_continue_is_no_answer() -> None:
    """100 comes before one (RFC 9110, 15.2.1)."""
    async with serving(b"HTTP/1.1 100 Continue\r\n\r\n" + OK) as (server, client):
        assert (await client.get(server.url)).text == "ok"


NO_ANSWERS = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\n",
    "another protocol": b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
}


@pytest.mark.parametrize("kind", NO_ANSWERS)
async def test_what_is_no_answer(kind: str) -> None:
    """One of httpx's errors, which the client knows."""
    answer = NO_ANSWERS[kind]
    async with serving(answer, b"") as (server, client):
        asked = asyncio.create_task(client.get(server.url))
        while server.answers == [answer, b""]:
            await asyncio.sleep(0.01)
        server.writer.close()
        with pytest.raises(httpx.RemoteProtocolError):
            await asked


async def test_no_server_is_there() -> None:
    """Refused at once."""
    transport = PlainTransport(KEEP_S)
    async with httpx.AsyncClient(transport=transport, timeout=60, trust_env=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("http://127.0.0.1:1")

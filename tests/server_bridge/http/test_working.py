"""A server that computes is told from one that hangs by what it answers meanwhile, not by the time it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from server_bridge.http.client import Http
from server_bridge.protocol import BackendTimeout

PATIENCE_S = 0.05
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
EVENT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {}\n\n"
)


@asynccontextmanager
async def computing(answer: bytes) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server that answers GET at once and POST with *answer* when the event is set."""
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if head.startswith(b"POST"):
                await done.wait()
            writer.write(answer if head.startswith(b"POST") else ANSWER)
            if head.startswith(b"POST") and answer is EVENT:
                writer.close()
                return

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    yield f"http://{host}:{port}", done
    server.close()


def client(url: str, done: asyncio.Event, looks: int) -> Http:
    """Return a client that finds at each look that the server works, and has it end at the last of *looks*."""
    http = Http(url, patience_s=PATIENCE_S)
    seen = 0

    async def is_working() -> bool:
        nonlocal seen
        seen += 1
        if seen == looks:
            done.set()
        return seen <= looks

    http.is_working = is_working
    return http


async def test_an_answer_may_take_as_long_as_the_server_works() -> None:
    """Three times the patience, of a request and of the head of a stream."""
    async with computing(ANSWER) as (url, done):
        http = client(url, done, 3)
        await http.get("/health")
        assert await http.post("/completion", b"{}") == {}
        await http.aclose()
    async with computing(EVENT) as (url, done):
        http = client(url, done, 3)
        assert [event async for event in http.stream("/completion", b"{}")] == [{}]
        await http.aclose()


async def test_a_server_that_hangs_is_given_up() -> None:
    """It does not say that it works: after one look the request ends."""
    async with computing(ANSWER) as (url, done):
        http = client(url, done, 0)
        await http.get("/health")
        with pytest.raises(BackendTimeout):
            await http.post("/completion", b"{}")
        await http.aclose()
        done.set()

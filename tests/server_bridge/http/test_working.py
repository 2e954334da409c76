"""A server that computes is told from one that hangs by what it answers meanwhile, not by the time it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from server_bridge.http import client as module
from server_bridge.http.client import Http
from server_bridge.http.responses import Lost
from server_bridge.patience import NextStep
from server_bridge.protocol import BackendTimeout

PATIENCE_S = 0.05
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
EVENT = HEAD + b"data: {}\n\n"


@asynccontextmanager
async def computing(answer: bytes) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server that answers GET at once and POST with *answer* when the event is set."""
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if is_slow := head.startswith(b"POST /slow"):
                writer.write(EVENT)
            if head.startswith(b"POST"):
                await done.wait()
            text = answer.removeprefix(HEAD) if is_slow else answer
            writer.write(text if head.startswith(b"POST") else ANSWER)
            if head.startswith(b"POST") and answer is not ANSWER:
                writer.close()
                return

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    yield f"http://{host}:{port}", done
    server.close()


def client(url: str, done: asyncio.Event, steps: list[NextStep]) -> Http:
    """
    Return a client whose looks come to *steps*; the server ends its answer at the last, if that says
    to wait.
    """
    http, left = Http(url, patience_s=PATIENCE_S), [*steps]

    async def look() -> NextStep:
        step = left.pop(0)
        if step is NextStep.WAIT and not left:
            done.set()
        return step

    http.watch = lambda: look
    return http


async def test_an_answer_may_take_as_long_as_the_server_works() -> None:
    """Three times the patience, of a request and of the head of a stream."""
    async with computing(ANSWER) as (url, done):
        http = client(url, done, [NextStep.WAIT] * 3)
        await http.get("/health")
        assert await http.post("/completion", b"{}") == {}
        await http.aclose()
    async with computing(EVENT) as (url, done):
        http = client(url, done, [NextStep.WAIT] * 3)
        assert [event async for event in http.stream("/completion", b"{}")] == [{}]
        await http.aclose()


@pytest.mark.parametrize(
    ("step", "error"),
    [(NextStep.LEAVE, BackendTimeout), (NextStep.ASK_AGAIN, Lost), (NextStep.END, Lost)],
)
async def test_a_server_that_hangs_is_given_up(step: NextStep, error: type[Exception]) -> None:
    """The error has follow what the look came to, and another connection is opened next."""
    async with computing(ANSWER) as (url, done):
        http = client(url, done, [NextStep.WAIT, step])
        done.clear()
        await http.get("/health")
        with pytest.raises(BackendTimeout) as caught:
            await http.post("/completion", b"{}")
        assert type(caught.value) is error
        assert not http.is_open
        await http.aclose()
        done.set()


async def test_it_is_told_while_an_answer_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is, and at each look; an answer that came in time is not late later."""
    async with computing(ANSWER) as (url, done):
        http, told = client(url, done, [NextStep.WAIT] * 3), list[int]()
        await http.get("/health")
        monkeypatch.setattr(module, "LATE_S", PATIENCE_S / 2)
        http.on_late = lambda: told.append(1)
        await http.post("/completion", b"{}")
        assert len(told) == 1 + 3
        monkeypatch.setattr(module, "LATE_S", 10 * PATIENCE_S)
        told.clear()
        await http.get("/health")
        await asyncio.sleep(20 * PATIENCE_S)
        assert told == []
        await http.aclose()


async def test_a_stream_may_pause_for_as_long_as_the_server_works() -> None:
    """On a busy machine a token may take seconds, behind those that are there already."""
    async with computing(EVENT) as (url, done):
        http = client(url, done, [NextStep.WAIT] * 3)
        http.patience_s = 0.01
        assert [event async for event in http.stream("/slow", b"{}")] == [{}, {}]
        await http.aclose()

"""A server that computes is told from one that hangs by what it answers meanwhile, not by the time it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from server_bridge.http import client as module
from server_bridge.http.client import Http
from server_bridge.http.responses import Lost
from server_bridge.patience import NextStep
from server_bridge.protocol import BackendTimeout
from tests.tcp_server import tcp_server

PATIENCE_S = 0.05
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
EVENT = HEAD + b"data: {}\n\n"


@asynccontextmanager
async def computing(answer: bytes, *steps: NextStep) -> AsyncIterator[Http]:
    """
    A connection to a server that answers GET at once and POST with *answer*; the client's looks come to *steps*, and
    the server ends its answer at the last, if that says to wait.
    """
    done = asyncio.Event()
    left = [*steps]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if is_slow := head.startswith(b"POST /slow"):
                writer.write(EVENT)
            if head.startswith(b"POST"):
                await done.wait()
            text = answer.removeprefix(HEAD) if is_slow else answer
            writer.write(text if head.startswith(b"POST") else ANSWER)
            if head.startswith(b"POST") and answer is not ANSWER:
                return

    async def look() -> NextStep:
        step = left.pop(0)
        if step is NextStep.WAIT and not left:
            done.set()
        return step

    async with tcp_server(serve) as host, aclosing(Http(f"http://{host}")) as http:
        http.patience_s = PATIENCE_S
        http.watch = lambda: look
        await http.get("/health")
        yield http


WAITS = [NextStep.WAIT] * 3


async def test_an_answer_may_take_as_long_as_the_server_works() -> None:
    """Three times the patience, of a request, of the head of a stream and of a pause behind what is there already."""
    async with computing(ANSWER, *WAITS) as http:
        assert await http.post("/completion", b"{}") == {}
    for path, n_events in (("/completion", 1), ("/slow", 2)):
        async with computing(EVENT, *WAITS) as http:
            assert [event async for event in http.stream(path, b"{}")] == [{}] * n_events


@pytest.mark.parametrize(
    ("step", "error"),
    [(NextStep.LEAVE, BackendTimeout), (NextStep.ASK_AGAIN, Lost), (NextStep.END, Lost)],
)
async def test_a_server_that_hangs_is_given_up(step: NextStep, error: type[Exception]) -> None:
    """The error has follow what the look came to, and another connection is opened next."""
    async with computing(ANSWER, NextStep.WAIT, step) as http:
        with pytest.raises(BackendTimeout) as caught:
            await http.post("/completion", b"{}")
        assert type(caught.value) is error
        assert not http.is_open


@pytest.mark.timed
async def test_it_is_told_while_an_answer_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is, and at each look; an answer that came in time is not late later."""
    async with computing(ANSWER, *WAITS) as http:
        told = list[int]()
        monkeypatch.setattr(module, "LATE_S", PATIENCE_S / 2)
        http.on_late = lambda: told.append(1)
        await http.post("/completion", b"{}")
        assert len(told) == 1 + 3
        monkeypatch.setattr(module, "LATE_S", 10 * PATIENCE_S)
        told.clear()
        await http.get("/health")
        await asyncio.sleep(20 * PATIENCE_S)
        assert told == []

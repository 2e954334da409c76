"""Answers that are too long, too slow or not what was asked for: read no further than they may be."""

from __future__ import annotations

import asyncio
import gzip
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, nullcontext
from itertools import repeat
from typing import ClassVar

import pytest

from server_bridge import patience
from server_bridge.http.answer_bounds import AnswerBounds
from server_bridge.http.client import Http
from server_bridge.http.events import DONE
from server_bridge.http.responses import MOST_BYTES, UnexpectedAnswer, body_of
from server_bridge.patience import RULES, Allowance, NextStep, Seen
from server_bridge.protocol import BackendError, BackendTimeout, BackendUnavailable
from tests.fuzz import in_turn
from tests.server_bridge.recorder import recorder
from tests.tcp_server import tcp_server

pytestmark = [pytest.mark.promise("answers-are-bounded"), pytest.mark.promise("keys-stay")]

PIECE = 1 << 16
LIMIT = 8 * MOST_BYTES  # more was never read: what is on the way fits into the sockets' buffers
ENDLESS = 1 << 30
HEAD = "HTTP/1.1 200 OK\r\n"
EVENTS = HEAD + "Content-Type: text/event-stream\r\n\r\n"


class Server:
    """Answers every request with *head* and *pieces*; *n_sent* counts their bytes, *asked* is the request."""

    def __init__(self, head: str, pieces: Iterator[bytes], wait_s: float = 0) -> None:
        self.head = head
        self.pieces = pieces
        self.wait_s = wait_s
        self.n_sent = 0
        self.asked = b""
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked = await reader.readuntil(b"\r\n\r\n")
        writer.write(self.head.encode())
        for piece in self.pieces:
            writer.write(piece)
            await writer.drain()
            self.n_sent += len(piece)
            if self.wait_s:
                await asyncio.sleep(self.wait_s)
            if self.n_sent > ENDLESS:
                break


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Server]:
    async with tcp_server(server.answer) as host:
        server.url = f"http://{host}"
        yield server


async def asked(http: Http, way: str) -> None:
    """Ask in one of the ways there are; all of the answer."""
    try:
        if way == "get":
            await http.get("/props")
        else:
            async for _ in http.stream("/completion", b"{}"):
                pass
    finally:
        await http.aclose()


def chunked(piece: bytes) -> bytes:
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


BODIES = {
    "until the end": (HEAD + "\r\n", b" " * PIECE),
    "by length": (HEAD + f"Content-Length: {ENDLESS}\r\n\r\n", b" " * PIECE),
    "chunked": (HEAD + "Transfer-Encoding: chunked\r\n\r\n", chunked(b" " * PIECE)),
    "of an error": ("HTTP/1.1 500 X\r\n\r\n", b" " * PIECE),
    "one line": (EVENTS, b" " * PIECE),
    "comments": (EVENTS, b": \n" * (PIECE // 3)),
    "events": (EVENTS, b'data: {"content": "%s"}\n\n' % (b"a" * 1000) * (PIECE // 1024)),
}


@pytest.mark.parametrize("way", ["get", "stream"])
@pytest.mark.parametrize("kind", BODIES)
async def test_an_endless_answer_is_read_to_a_limit(kind: str, way: str, monkeypatch) -> None:
    """The connection is closed where no answer is so long, and the memory with it."""
    # A stream may be longer the longer it takes: on a busy machine for ever.
    monkeypatch.setattr("server_bridge.http.events.BYTES_PER_S", 0)
    head, piece = BODIES[kind]
    async with serving(Server(head, repeat(piece))) as server:
        with pytest.raises(UnexpectedAnswer, match="more than 2 MB"):
            await asked(Http(server.url, patience_s=60), way)
    assert server.n_sent < LIMIT


@pytest.mark.parametrize("way", ["get", "stream"])
@pytest.mark.parametrize("encoding", ["gzip", "x-unheard-of"])
async def test_what_is_compressed_is_not_unpacked(encoding: str, way: str) -> None:
    """A megabyte of gzip may hold a gigabyte; we ask for none, and take none."""
    body = gzip.compress(b" " * (1 << 20))
    head = HEAD + f"Content-Encoding: {encoding}\r\n\r\n"
    async with serving(Server(head, iter([body]))) as server:
        with pytest.raises(UnexpectedAnswer, match="compresses"):
            await asked(Http(server.url), way)
    assert b"accept-encoding: identity\r\n" in server.asked.lower()


@pytest.mark.parametrize("word", ["identity", "none", "UTF-8", "", "text/plain", "no-gzip"])
async def test_another_word_there_compresses_nothing(word: str) -> None:
    """Servers write it where they mean a charset, or that there is no compression."""
    with recorder(answer=b'{"a": 1}') as server:
        server.headers["Content-Encoding"] = word
        async with aclosing(Http(server.url)) as http:
            assert await http.get("/x") == {"a": 1}


async def test_pieces_of_a_byte_leave_others_their_turn() -> None:
    """What has arrived already is given out without a wait; that must not keep the editor waiting."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    class Arrived:
        headers: ClassVar[dict[str, str]] = {}

        async def aiter_raw(self) -> AsyncIterator[bytes]:
            for _ in range(100):
                time.sleep(0.001)  # noqa: ASYNC251 (work that gives no turn)
                yield b" "

    task = asyncio.create_task(others())
    assert len(await body_of("http://x", Arrived())) == 100
    task.cancel()
    assert turns >= 10


@pytest.mark.promise("encrypted-or-warned")
@pytest.mark.parametrize("way", ["get", "stream"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int, way: str) -> None:
    """The other server hears nothing: no key, no code."""
    with recorder() as other:
        head = f"HTTP/1.1 {status} X\r\nLocation: {other.url}/props\r\nContent-Length: 0\r\n\r\n"
        async with serving(Server(head, iter([]))) as server:
            with pytest.raises(BackendError, match=str(status)):
                await asked(Http(server.url), way)
    assert other.heard == []


SLOW = {
    "get": (HEAD + f"Content-Length: {ENDLESS}\r\n\r\n", b" "),
    "head": ("", b"H"),
    "line": (EVENTS, b"d"),
    "comments": (EVENTS, b":\n"),
}


@pytest.mark.parametrize("way", ["get", "stream"])
@pytest.mark.parametrize("kind", SLOW)
async def test_a_trickle_ends_with_our_patience(kind: str, way: str, monkeypatch) -> None:
    """A byte now and then is no answer, however many there are; a queue may take longer, not for ever."""
    monkeypatch.setitem(
        RULES, (patience.ServerKind.TEXT, Seen.WORKING), Allowance(0.3, NextStep.LEAVE)
    )
    head, piece = SLOW[kind]
    async with serving(Server(head, repeat(piece), wait_s=0.02)) as server:
        with pytest.raises(BackendTimeout):
            await asyncio.wait_for(asked(Http(server.url, patience_s=0.3), way), 30)
    assert server.n_sent < 200


async def test_a_long_stream_has_as_long_as_it_needs() -> None:
    """Patience is for one event: a text of many tokens may take minutes."""
    events = (b'data: {"content": "a"}\n\n' for _ in range(12))
    async with serving(Server(EVENTS, events, wait_s=0.05)) as server:
        http = Http(server.url, patience_s=0.4)
        assert len([event async for event in http.stream("/completion", b"{}")]) == 12
        await http.aclose()


async def test_an_end_that_is_held_open_is_an_end() -> None:
    """What follows `[DONE]` is waited for only for a moment; the next request has a connection."""

    def pieces() -> Iterator[bytes]:
        yield b'data: {"a": 1}\n\ndata: [DONE]\n\n'
        yield from repeat(b":\n")

    async with serving(Server(EVENTS, pieces(), wait_s=0.01)) as server:
        http = Http(server.url, patience_s=30)
        for _ in range(2):
            events = [event async for event in http.stream("/completion", b"{}")]
            assert events == [{"a": 1}, DONE]
            server.pieces = pieces()
        await http.aclose()
    assert server.n_sent < 1000


@pytest.mark.parametrize(
    ("events", "is_over"),
    [
        ([(0.0, 0)] * 5, False),
        ([(0.0, 0)] * 6, True),  # one more without text than may be in a row
        ([*[(0.0, 0)] * 5, (0.0, 1), *[(0.0, 1)] * 5], False),
        ([(59.0, 0), (59.0, 1), (118.0, 1)], False),
        ([(61.0, 0)], True),  # too long without text
        ([(59.0, 1), (120.0, 1)], True),
        ([(0.0, n) for n in range(20)], False),
        ([(0.0, n) for n in range(21)], True),  # more events than tokens
        ([(0.0, 128 * 11)], False),
        ([(0.0, 128 * 11 + 1)], True),  # more text than so many tokens can have
    ],
)
def test_an_answer_has_bounds(events: list[tuple[float, int]], is_over: bool, monkeypatch) -> None:
    """Of three tokens: events at a time, in seconds, with so many characters by then."""
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    bounds = AnswerBounds("http://server", 3, most_empty=5, most=20)
    with pytest.raises(UnexpectedAnswer) if is_over else nullcontext():
        for at, n_chars in events:
            now = 1000.0 + at
            bounds.note(n_chars)


CODE = "def open_sesame(): pass"
ECHOES = [
    f'{{"error": {{"message": "parse error near {CODE}", "type": "invalid_request_error"}}}}',
    f'{{"error": {{"message": "why", "type": "{CODE}"}}}}',
    f'{{"error": "{CODE}"}}',
    f'{{"detail": [{{"input": "{CODE}"}}]}}',
    f'{{"error": {{"type": "exceed_context_size_error", "n_ctx": "{CODE}"}}}}',
    CODE,
    f"<html>{CODE}",
]


@pytest.mark.parametrize(
    ("answer", "status"), in_turn(ECHOES, [302, 400, 401, 404, 422, 429, 500, 501, 502, 503])
)
async def test_what_a_failed_answer_repeats_is_not_told(answer: str, status: int, caplog) -> None:
    """Servers repeat the request in their errors: no message has it, and no log but a developer's."""
    caplog.set_level(logging.INFO)
    with recorder(status, answer.encode()) as server, pytest.raises(BackendError) as caught:
        await asked(Http(server.url), "get")
    told = f"{caught.value} {caught.value!r} {caught.value.__cause__!r} {caplog.text}"
    assert "sesame" not in told


async def test_a_developer_sees_the_beginning_of_it(caplog: pytest.LogCaptureFixture) -> None:
    """At the level `debug`, cut."""
    caplog.set_level(logging.DEBUG, "server_bridge")
    with recorder(500, CODE.encode() * 100) as server, pytest.raises(BackendUnavailable):
        await asked(Http(server.url), "get")
    assert CODE in caplog.text
    assert len(caplog.text) < 1000

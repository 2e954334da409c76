"""`fim_lsp.lsp.transport`: bytes into messages and back."""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading

import pytest

from fim_lsp.lsp import transport
from fim_lsp.lsp.transport import BadFrame, Client, Frame, Skipped, frames


def framed(body: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(body) + body


NO_LENGTH = Skipped("a header without Content-Length")


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (b"", []),
        (framed(b"{}") + framed(b"[1]"), [b"{}", b"[1]"]),
        (framed(b""), [b""]),
        (framed(b"x", b"CONTENT-LENGTH \t:\t %d \r\n\r\n"), [b"x"]),
        (framed(b"x", b"Content-Length: 00%d\r\n\r\n"), [b"x"]),
        (framed(b"x", b"Content-Length: %d\n\n"), [b"x"]),
        (framed(b"x", b"Content-Type: a; b=c\r\nContent-Length: %d\r\n\r\n"), [b"x"]),
        (b"Content-Type: a\r\n\r\n" + framed(b"x"), [NO_LENGTH, b"x"]),
        (framed(b"a\r\n\r\nContent-Length: 9\r\n\r\n"), [b"a\r\n\r\nContent-Length: 9\r\n\r\n"]),
        (framed(b"x") + b"Content-Len", [b"x"]),
        (framed(b"x") + b"Content-Length: 9\r\n\r\nshort", [b"x"]),
    ],
)
def test_messages_are_read_by_their_length(data: bytes, messages: list[Frame]) -> None:
    """Any case and order of LSP's two fields; what is cut off at the end is no message."""
    assert [*frames(io.BytesIO(data))] == messages


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"GET / HTTP/1.1\r\n", "expected Content-Length, not 'GET / HTTP/1.1"),
        (b"Content-Length: 1\r\nHost: x\r\n\r\nx", "expected Content-Length, not 'Host: x"),
        (b"\r\n", "expected Content-Length"),
        (b"X" * 5000, "expected Content-Length"),
        (b"Content-Length\r\n\r\n", "expected Content-Length"),
        (b"Content-Length: -1\r\n", "up to 1073741824, not '-1'"),
        (b"Content-Length: +1\r\n", "not '+1'"),
        (b"Content-Length: 1 1\r\n", "not '1 1'"),
        (b"Content-Length: \xd9\xa5\r\n", "not '"),
        (bytes(range(256)) + b"\n", "expected Content-Length"),
        (b"Content-Length: \r\n", "not ''"),
        (b"Content-Length: 1073741825\r\n", "not '1073741825'"),
        (b"Content-Length: " + b"9" * 4000 + b"\r\n", "…'"),
    ],
)
def test_what_is_no_header_is_refused_at_its_line(data: bytes, says: str) -> None:
    """Without reading on, and what stood there is cut."""
    with pytest.raises(BadFrame) as refused:
        [*frames(io.BytesIO(data))]
    assert says in str(refused.value)
    assert len(str(refused.value)) < 120


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that tests can reach."""
    monkeypatch.setattr(transport, "MOST_BYTES", 100)
    monkeypatch.setattr(transport, "_CHUNK_BYTES", 64)


LONG = "x" * 300


@pytest.mark.parametrize(
    ("message", "methods", "uris"),
    [
        ({"method": "m", "params": {"uri": "file:///a", "text": LONG}}, {"m"}, {"file:///a"}),
        ({"params": {"text": LONG, "uri": "file:///a"}, "method": "m"}, {"m"}, {"file:///a"}),
        ({"text": LONG, "a": [{"uri": "u"}, {"uri": 'v"\\'}, {"uri": 3}]}, set(), {"u", 'v"\\'}),
        ({"text": f'{LONG}"uri": "no", "method":"no" {{"uri":"no"' + LONG}, set(), set()),
        ({"text": LONG + '\\","uri":"no"'}, set(), set()),
        ({"text": LONG, "uri": "größe\n"}, set(), {"größe\n"}),
    ],
)
@pytest.mark.usefixtures("small")
def test_of_a_long_message_only_its_names_are_kept(
    message: object, methods: set[str], uris: set[str]
) -> None:
    """Wherever they stand in it, and nothing that only looks like one; the next message is read."""
    for separators in ((",", ":"), (", ", ": ")):
        body = json.dumps(message, separators=separators).encode()
        skipped, following = frames(io.BytesIO(framed(body) + framed(b"next")))
        assert isinstance(skipped, Skipped)
        assert skipped.reason == f"a message of {len(body)} bytes; 100 are the most"
        assert skipped.methods == methods
        assert skipped.uris == uris
        assert following == b"next"


async def test_only_so_many_messages_are_read_ahead() -> None:
    """A client that sends faster than is handled waits: what it says does not pile up here."""
    given = 0
    done = threading.Event()

    def endless() -> object:
        nonlocal given
        while not done.is_set():
            given += 1
            yield b"x"

    client = Client(endless(), io.BytesIO(), lambda: None)  # type: ignore[arg-type]
    messages = client.messages()
    for _ in range(100):
        await anext(messages)
    await asyncio.sleep(0.05)
    done.set()
    assert given <= 100 + transport._READ_AHEAD + 1


async def test_a_client_that_leaves_is_told_at_once() -> None:
    """On the reading thread, before its last messages are handled."""
    left = threading.Event()
    client = Client(iter([b"a", b"b"]), io.BytesIO(), left.set)
    assert [message async for message in client.messages()] == [b"a", b"b"]
    assert left.is_set()


async def test_messages_that_are_sent_arrive_whole_and_in_order() -> None:
    """A reader that is slow holds nothing up but what is sent to it."""
    source, sink = os.pipe()
    with os.fdopen(source, "rb") as reader, os.fdopen(sink, "wb") as writer:
        client = Client(iter(()), writer, lambda: None)
        sizes = [9, 50_000, 9, 4096, 4097, 65_536, 9, 50_000, 9]  # the pipe takes one of the large
        lines = [b"%d" % number * size + b"\n" for number, size in enumerate(sizes)]
        for line in lines:
            client.write(line)
        received = await asyncio.to_thread(lambda: [reader.readline() for _ in lines])
        client.flush(10.0)
    assert received == lines


async def test_a_client_that_never_reads_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it leaves unread does not pile up for ever."""
    monkeypatch.setattr(transport, "_MOST_UNREAD", 10)
    source, sink = os.pipe()
    hold = threading.Event()

    def silent() -> object:
        hold.wait()
        yield b"never"

    writer = os.fdopen(sink, "wb", buffering=0)
    client = Client(silent(), writer, lambda: None)  # type: ignore[arg-type]
    for _ in range(15):
        client.write(b"x" * 100_000)
    assert [message async for message in client.messages()] == []
    os.close(source)
    client.flush(10.0)
    hold.set()
    writer.close()

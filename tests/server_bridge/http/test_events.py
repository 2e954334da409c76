"""The events of a stream: by the standard, and as servers write them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from server_bridge.http.events import DONE, EventReader
from server_bridge.http.responses import UnexpectedAnswer

pytestmark = pytest.mark.promise("answers-are-bounded")

ONE = {"a": 1}
TWO = {"a": "é😀"}
TWO_TEXT = '{"a": "é😀"}'.encode()
STREAMS: dict[str, tuple[bytes, list[Any]]] = {
    "plain": (b'data: {"a": 1}\n\ndata: ' + TWO_TEXT + b"\n\ndata: [DONE]\n\n", [ONE, TWO, DONE]),
    "no space": (b'data:{"a": 1}\n\ndata:[DONE]\n\n', [ONE, DONE]),
    "carriage returns": (b'data: {"a": 1}\r\rdata: ' + TWO_TEXT + b"\r\r", [ONE, TWO]),
    "mixed": (b'data: {"a": 1}\r\n\rdata: ' + TWO_TEXT + b"\n\r\n", [ONE, TWO]),
    "empty events": (b'data:\n\ndata: \n\ndata\n\n\n\ndata: {"a": 1}\n\ndata:\n\n', [ONE]),
    "a mark": (b'\xef\xbb\xbfdata: {"a": 1}\n\n', [ONE]),
    "comments": (b': hello\n\n:\n\ndata: {"a": 1}\n: in between\n\n', [ONE]),
    "comments that look like data": (b': data: {"a": 2}\n\ndata: {"a": 1}\n\n', [ONE]),
    "several lines": (b'data: {"a":\ndata: 1\ndata: }\n\n' + b"data: [DONE]\n\n", [ONE, DONE]),
    "other fields": (b'id: 7\nevent: message\nretry: 10\ndata: {"a": 1}\nid\n\n', [ONE]),
    "unknown fields": (b'id: 7\n\ndatabase: {"a": 2}\nDATA: 3\ndata: {"a": 1}\n\n', [ONE]),
    "pings": (b'event: ping\ndata: ping\n\ndata: 17\n\ndata: {"a": 1}\n\ndata: null\n\n', [ONE]),
    "no blank lines": (b'data: {"a": 1}\ndata: {"a": 1}\ndata: [DONE]', [ONE, ONE, DONE]),
    "the end in quotes": (b'data: {"a": 1}\n\ndata: "[DONE]"\n\n', [ONE, DONE]),
    "an error by its name": (b'event: error\ndata: {"code": 5}\n\n', [{"error": {"code": 5}}]),
    "an error in words": (b"event: error\ndata: oh\n\n", [{"error": {"message": "oh"}}]),
    "an error as a field": (b'error: {"code": 5}\n\n', [{"error": {"code": 5}}]),
    "an error in data": (b'event: error\ndata: {"error": "x"}\n\n', [{"error": "x"}]),
    "an answer": (TWO_TEXT, [TWO]),
    "an answer of many lines": (b'\n{\n "a":\n\n1\n}\n', [ONE]),
    "an answer with a mark": (b"\xef\xbb\xbf" + TWO_TEXT, [TWO]),
    "a value a line": (b'{"a": 1}\n' + TWO_TEXT + b"\n\n", [ONE, TWO]),
    "odd values": (b'data: {"a": NaN}\n\ndata: {"a": "\xff"}\n\n', [{"a": None}, {"a": "\ufffd"}]),
    "blank lines": (b"\r\n\n\r", []),
}


def read(pieces: list[bytes]) -> list[Any]:
    """Return the events in *pieces*."""
    reader = EventReader("http://server")
    events = [event for piece in pieces for event in reader.read(piece)]
    return [*events, *reader.end()]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_read_as_its_standard_says(name: str) -> None:
    """However its bytes are cut into pieces, in the middle of a character or of a line end, too."""
    stream, events = STREAMS[name]
    choice = random.Random(name)
    assert read([stream]) == events
    assert read([bytes([byte]) for byte in stream]) == events
    for _ in range(20):
        cuts = sorted(choice.sample(range(len(stream) + 1), min(3, len(stream))))
        ends = zip([0, *cuts], [*cuts, len(stream)], strict=True)
        assert read([stream[start:end] for start, end in ends]) == events


def test_an_event_comes_as_soon_as_it_is_whole() -> None:
    """With the end of its line: the blank line may come with the next token only."""
    reader = EventReader("http://server")
    assert list(reader.read(b'data: {"a": 1}')) == []
    assert list(reader.read(b"\r")) == [ONE]
    assert list(reader.read(b"\n\r\n")) == []


@pytest.mark.parametrize(
    "stream", [b'data: {"a": \n\n', b"data: {oops}\n\n", b'data: {"a"', b"<html>", b"Not Found"]
)
def test_what_was_cut_or_is_another_thing_is_an_error(stream: bytes) -> None:
    """A piece of the text may be in it, so nothing is to be passed over."""
    with pytest.raises(UnexpectedAnswer, match="not a JSON object"):
        read([stream])

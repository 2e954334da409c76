"""
The JSON objects of a stream, read by the standard of server-sent events (HTML, section 9.2).

Any line end, comments, one byte order mark, events of several `data:` lines, fields in any order.
The form is decided by the first line and not by a header: where that is no field, all of the
answer is JSON, one value or one a line. Beyond the standard, as servers do it: an object that is
whole in its first line is an event without the blank line behind it, the last event needs none
either, and `error` may be the name of a field. Data that is no object is passed over (`ping`).

No library: httpx-sse wants the header, leaves the mark, drops the last event and hands out texts
of any length.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from typing import Any

from server_bridge.http.responses import (
    MOST_BYTES,
    OK,
    SIGN,
    Object,
    UnexpectedAnswer,
    body_of,
    check_size,
    is_good,
    object_in,
    parse,
    pieces_of,
)
from server_bridge.patience import NextStep, Seen, ServerKind, Watch

BYTES_PER_S = 1 << 17  # of a stream: 500 tokens, with what servers say of each
REST_S = 0.3  # for the end of an answer that has said `[DONE]`; some servers hold it open
MARK = b"\xef\xbb\xbf"  # of the byte order
FIELD = re.compile(rb"(?:data|event|id|retry|error)?:|(?:data|event|id|retry)$")
DONE: Object = {"done": True}  # what `[DONE]` is handed out as


async def events_in(url: str, response: Any, patience_s: float) -> AsyncGenerator[Object, None]:
    """
    Yield the objects of an answer as they come.

    Raises asyncio.TimeoutError where one event trickles for more than *patience_s*,
    UnexpectedAnswer where all of them are more than a model could have written in the time. The
    *response* limits the wait for each piece. A comment says that the answer waits its turn: it is
    a `SIGN`, by which its reader can leave, and the wait begins again, within what `patience`
    allows.
    """
    if not is_good(response.status_code):
        body = await body_of(url, response, patience_s)
        yield object_in(url, response.status_code, body, response.headers)
        return
    started = last = time.monotonic()
    n_bytes = 0
    reader = EventReader(url)
    is_done = False
    queue = Watch(ServerKind.TEXT)
    async with aclosing(pieces_of(url, response)) as pieces:
        async for piece in pieces:
            n_bytes += len(piece)
            now = time.monotonic()
            check_size(url, n_bytes, MOST_BYTES + int(BYTES_PER_S * (now - started)))
            for event in reader.read(piece):
                yield event
                last = now = time.monotonic()
                is_done |= event is DONE
                queue = Watch(ServerKind.TEXT)
            if reader.has_sign and queue.decide(Seen.WORKING, now) is NextStep.WAIT:
                last = now
                reader.has_sign = False
                yield SIGN
            if is_done:
                await _read_rest(pieces)
                return
            if now > last + patience_s:
                raise TimeoutError
    for event in reader.end():
        yield event


async def _read_rest(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read what follows the end, if it comes at once: the connection can be used again then."""
    with suppress(TimeoutError):
        async with asyncio.timeout(REST_S):
            async for _ in pieces:
                pass


class EventReader:
    """
    One stream, read piece by piece; *url* is for messages. State: the line that goes on, the data
    of the event; *has_sign*: there was a comment, or a ping.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._begun: list[bytes] = []
        self._data: list[bytes] = []
        self._kind = b""
        self._is_stream: bool | None = None  # None before the first line
        self._ends_with_cr = False
        self.has_sign = False

    def read(self, piece: bytes) -> Iterator[Object]:
        """Yield the events that are whole with *piece*."""
        if self._ends_with_cr:
            piece = piece.removeprefix(b"\n")
        self._ends_with_cr = piece.endswith(b"\r")
        *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            yield from self._take(b"".join((*self._begun, line)))
            self._begun.clear()
        self._begun.append(rest)

    def end(self) -> Iterator[Object]:
        """Yield what the end of the answer makes whole."""
        yield from self._take(b"".join(self._begun))
        if self._is_stream:
            yield from self._dispatch()
        elif self._data:
            whole = b"\n".join(self._data)
            is_one = len(self._data) == 1 or parse(whole) is not None
            for each in [whole] if is_one else filter(bytes.strip, self._data):
                yield object_in(self._url, OK, each)

    def _take(self, line: bytes) -> Iterator[Object]:
        if self._is_stream is None:
            line = line.removeprefix(MARK)
            if not line.strip():
                return
            self._is_stream = FIELD.match(line) is not None
        if not self._is_stream:
            self._data.append(line)
        elif not line:
            yield from self._dispatch()
        else:
            yield from self._take_field(*line.split(b":", 1))

    def _take_field(self, name: bytes, value: bytes = b"") -> Iterator[Object]:
        value = value.removeprefix(b" ")
        self.has_sign |= not name
        if name in (b"event", b"error"):
            self._kind = value if name == b"event" else name
        if name in (b"data", b"error"):
            self._data.append(value)
            if len(self._data) == 1 and _object(value) is not None:
                yield from self._dispatch()

    def _dispatch(self) -> Iterator[Object]:
        """Yield the event that ends here, unless it has no data."""
        data = b"\n".join(self._data)
        kind = self._kind
        self._data = []
        self._kind = b""
        value = _object(data)
        if data.strip(b' "').upper() == b"[DONE]":
            yield DONE
        elif kind == b"error" and data.strip():
            said = value if value is not None else {"message": data.decode(errors="replace")}
            yield said if "error" in said else {"error": said}
        elif value is not None:
            yield value
        elif _is_object(data):
            raise UnexpectedAnswer(f"{self._url} sent an event that is not a JSON object")
        else:
            self.has_sign |= bool(data.strip())


def _object(data: bytes) -> Object | None:
    """Return the object that *data* is, None where it is another value, or not whole."""
    value = parse(data) if _is_object(data) else None
    return value if isinstance(value, dict) else None


def _is_object(data: bytes) -> bool:
    return data.lstrip().startswith(b"{")

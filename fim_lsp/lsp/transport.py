r"""
The bytes of one client into message bodies and back, over stdin and stdout.

Each direction has a thread of its own: asyncio cannot wait for every kind of stdin (files, Windows
pipes), and a client that does not read must not hold the event loop. Printed text goes to
stderr: one stray line on stdout would end the session.

A header has the two fields of LSP 3.17 ("Header Part") and no other. Anything else where a header
should be ends the connection: it cannot be told where the next message begins, and an HTTP request,
as any web page can send one to a port, is no message.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import select
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from queue import SimpleQueue
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from fim_lsp.display import sanitize

# Of a body. It is parsed in one go, which takes 100 ms for so much. The longest document that gets
# suggestions (`documents.DOCUMENT_CHARS`) fits in, as source code is.
MOST_BYTES = 1 << 24
# A longer body is read past, up to this length: then it is no message of an editor.
_ABSURD_BYTES = 1 << 30
_LINE_BYTES = 4096  # of a header; ours are 30
_READ_AHEAD = 16  # messages: the client waits rather than that we keep all it has to say
_MOST_UNREAD = 10_000  # messages a client may leave unread before it counts as gone
_AT_ONCE_BYTES = 4096  # a pipe or socket that can be written to takes so many (PIPE_BUF on Linux)
_CHUNK_BYTES = 1 << 20
_SEAM_BYTES = 8192  # the longest URI that is found where two chunks meet

_FIELD = re.compile(rb"(content-length|content-type)[ \t]*:(.*)\n", re.IGNORECASE)
_LENGTH = re.compile(rb"[0-9]{1,10}")
# A member of an object. Within a string its quotes would have a backslash before them.
_MEMBER = re.compile(rb'[{,\s]"(uri|method)"\s*:\s*("(?:[^"\\]|\\.){0,4096}")')
_EXIT = re.compile(rb'.{0,60}"method"\s*:\s*"exit".{0,60}', re.DOTALL)


class Skipped(NamedTuple):
    """A message that was not read: why, what its method was, and the URIs in it."""

    reason: str
    methods: frozenset[str] = frozenset()
    uris: frozenset[str] = frozenset()


class BadFrame(Exception):
    """The input is not LSP, and nothing after it can be read; the text says what is wrong."""


Frame: TypeAlias = bytes | Skipped


class Client:
    """
    Both directions of one connection.

    *received* are the client's messages, *sink* takes ours. *left* is called on a thread when the
    client is gone. Create it on the event loop; all methods belong there.
    """

    def __init__(self, received: Iterator[Frame], sink: BinaryIO, left: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._received: asyncio.Queue[Frame | BadFrame | None] = asyncio.Queue()
        self._room: SimpleQueue[None] = SimpleQueue()  # a semaphore, but twice as fast
        for _ in range(_READ_AHEAD):
            self._room.put(None)
        self._unsent: SimpleQueue[bytes | None] = SimpleQueue()
        self._n_unsent = 0
        self._writable = _writable(sink)
        read = threading.Thread(target=self._read, args=(received, left), name="from client")
        self._sender = threading.Thread(target=self._send, args=(sink,), name="to client")
        for thread in (read, self._sender):
            thread.daemon = True
            thread.start()

    async def messages(self) -> AsyncIterator[Frame]:
        """
        Yield all messages until the client is gone; raises BadFrame where they cannot be
        understood.
        """
        while (frame := await self._received.get()) is not None:
            self._room.put(None)
            if isinstance(frame, BadFrame):
                raise frame
            yield frame

    def write(self, data: bytes) -> None:
        """Send *data*, which is whole messages; never waits."""
        if self._n_unsent == 0 and self._writable is not None:
            data = self._send_at_once(self._writable, data)
        if data:
            self._n_unsent += 1
            self._unsent.put(data)
            if self._n_unsent > _MOST_UNREAD:
                self.end()

    def end(self) -> None:
        """Go on as if the client had gone."""
        self._received.put_nowait(None)

    def flush(self, within_s: float) -> None:
        """Wait until all was sent, but no longer than *within_s*."""
        self._unsent.put(None)
        self._sender.join(within_s)

    def _read(self, received: Iterator[Frame], left: Callable[[], None]) -> None:
        """On a thread: hand on what comes, as fast as it is handled."""
        try:
            for frame in received:
                if isinstance(frame, bytes) and _EXIT.fullmatch(frame):
                    left()  # even if the loop is held and never comes to read it
                self._room.get()
                self._queue(frame)
        except BadFrame as error:
            self._queue(error)
        except OSError:
            pass  # the connection broke: the client is gone
        left()
        self._queue(None)

    def _queue(self, frame: Frame | BadFrame | None) -> None:
        self._call(self._received.put_nowait, frame)

    def _send_at_once(self, sink: Writable, data: bytes) -> bytes:
        """
        Send *data* where that does not wait; returns what is left of it. Saves the way to a thread.
        """
        if len(data) > _AT_ONCE_BYTES or not sink.poll.poll(0):
            return data
        try:
            return data[os.write(sink.descriptor, data) :]
        except OSError:
            self.end()
            return b""

    def _send(self, sink: BinaryIO) -> None:
        """On a thread: send until there is no more to send, or no client."""
        try:
            while (data := self._unsent.get()) is not None:
                sink.write(data)
                sink.flush()
                self._call(self._count_sent)
        except OSError:
            self._queue(None)

    def _count_sent(self) -> None:
        self._n_unsent -= 1

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)


class Writable(NamedTuple):
    """A descriptor, and what tells whether it takes a short message at once."""

    descriptor: int
    poll: Any  # a `select.poll`, which Windows lacks


def _writable(sink: BinaryIO) -> Writable | None:
    """
    Return *sink* as a descriptor that can be written to without waiting; None where the system does
    not tell (Windows).
    """
    if sys.platform == "win32":
        return None
    try:
        descriptor = sink.fileno()
    except OSError:  # not a file of the system
        return None
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return Writable(descriptor, poll)


def stdio(left: Callable[[], None]) -> Client:
    """Return the client that started this process. From now on, `print` writes to stderr."""
    source = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return Client(frames(source), sink, left)


def frames(source: BinaryIO) -> Iterator[Frame]:
    """Yield the bodies that *source* holds, to its end. Blocks; raises BadFrame."""
    while (length := _length(source)) is not None:
        if length < 0:
            yield Skipped("a header without Content-Length")
        elif length > MOST_BYTES:
            reason = f"a message of {length} bytes; {MOST_BYTES} are the most"
            members = set(_members(source, length))
            methods, uris = (
                frozenset(value for name, value in members if name == wanted)
                for wanted in (b"method", b"uri")
            )
            yield Skipped(reason, methods, uris)
        elif len(body := source.read(length)) == length:
            yield body


def _length(source: BinaryIO) -> int | None:
    """Return the length that the next header tells, -1 if it tells none; None at the end."""
    length = -1
    for n_lines in itertools.count():
        line = source.readline(_LINE_BYTES)
        if not line.endswith(b"\n") and len(line) < _LINE_BYTES:
            return None
        if n_lines and not line.strip():
            return length
        field = _FIELD.fullmatch(line)
        if field is None:
            raise BadFrame(f"expected Content-Length, not {_quote(line)}")
        if field[1].lower() == b"content-length":
            length = _parse_length(field[2].strip())
    return None


def _parse_length(value: bytes) -> int:
    if not _LENGTH.fullmatch(value) or int(value) > _ABSURD_BYTES:
        raise BadFrame(
            f"Content-Length must be a number of bytes up to {_ABSURD_BYTES}, not {_quote(value)}"
        )
    return int(value)


def _members(source: BinaryIO, length: int) -> Iterator[tuple[bytes, str]]:
    """Read past a body, and find the methods and URIs in it."""
    seam = b""
    while length and (chunk := source.read(min(length, _CHUNK_BYTES))):
        length -= len(chunk)
        for name, quoted in _MEMBER.findall(seam + chunk):
            with contextlib.suppress(ValueError):
                yield name, str(json.loads(quoted))
        seam = chunk[-_SEAM_BYTES:]


def _quote(data: bytes) -> str:
    return repr(sanitize(data.decode("latin-1"), 40))

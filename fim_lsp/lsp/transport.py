r"""
One client's bytes into message bodies and back: over stdin and stdout, or one TCP connection.

Stdin is read on a thread of its own: asyncio cannot wait for every kind of stdin (files, Windows
pipes), and pygls would take three trips through a shared thread pool per message. The thread is a
daemon and reads the descriptor, not `sys.stdin`: it holds no lock that could keep the process from
ending. What anybody prints goes to stderr: one stray line on stdout would end the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import sys
import threading
from collections.abc import AsyncIterator
from typing import BinaryIO, NamedTuple

_READ_BYTES = 65_536  # a pipe's buffer on Linux
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d+)[ \t]*\r$", re.IGNORECASE | re.MULTILINE)

log = logging.getLogger(__name__)


class Client(NamedTuple):
    """Both directions of one connection."""

    reader: asyncio.StreamReader
    writer: StdoutWriter | asyncio.StreamWriter

    def end(self) -> None:
        """Go on as if the client had gone."""
        self.reader.feed_eof()

    async def aclose(self) -> None:
        """Wait until all that was written is on its way."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class StdoutWriter:
    """Writes whole messages; a client that is gone is the end of *reader*, not an error."""

    def __init__(self, stdout: BinaryIO, reader: asyncio.StreamReader) -> None:
        self._stdout = stdout
        self._reader = reader

    def write(self, data: bytes) -> None:
        """Write *data* now; the client reads, whatever it is doing, or its pipe is full."""
        try:
            self._stdout.write(data)
            self._stdout.flush()
        except OSError:
            self._reader.feed_eof()

    def close(self) -> None:
        """Nothing to do: all is written, and the descriptor goes with the process."""

    async def wait_closed(self) -> None:
        """Nothing to wait for."""


async def stdio() -> Client:
    """The client that started us. From now on, `print` writes to stderr."""
    reader = asyncio.StreamReader()
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    pump = (sys.stdin.fileno(), asyncio.get_running_loop(), reader)
    threading.Thread(target=_pump, args=pump, name="stdin", daemon=True).start()
    return Client(reader, StdoutWriter(stdout, reader))


async def tcp(host: str, port: int) -> Client:
    """The first client to connect; there is no second. Port 0 takes a free one and says which."""
    connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

    def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.done():
            writer.close()
        else:
            connected.set_result(Client(reader, writer))

    server = await asyncio.start_server(connect, host, port)
    address = server.sockets[0].getsockname()
    print(f"fim-lsp listens on {address[0]}:{address[1]}", file=sys.stderr, flush=True)  # noqa: T201
    try:
        return await connected
    finally:
        server.close()


async def messages(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The bodies of all messages until the client is gone."""
    try:
        while True:
            header = await reader.readuntil(b"\r\n\r\n")
            if length := _LENGTH.search(header):
                yield await reader.readexactly(int(length[1]))
            else:
                log.warning("skipped a header without Content-Length")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
        log.info("the client is gone: %s", type(error).__name__)


def _pump(stdin: int, loop: asyncio.AbstractEventLoop, reader: asyncio.StreamReader) -> None:
    def feed(data: bytes) -> None:
        with contextlib.suppress(AssertionError):  # we have ended the reader before the client did
            reader.feed_data(data)

    with contextlib.suppress(RuntimeError):  # the loop has ended before stdin did
        with contextlib.suppress(OSError):
            while data := os.read(stdin, _READ_BYTES):
                loop.call_soon_threadsafe(feed, data)
        loop.call_soon_threadsafe(reader.feed_eof)

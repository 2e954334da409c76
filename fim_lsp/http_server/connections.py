"""
A port of this machine into requests, one after the other on each connection, and their answers into
bytes.

HTTP itself is h11's. Limits keep a connection that sends nothing, or too much, from costing
anything; a request that may not be answered is refused before its body is read. A client that hangs
up ends its request.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, NamedTuple

import h11

from server_bridge.machine import sockets

BODY_BYTES = 1_000_000  # ten times what clients send
HEAD_BYTES = 65_536
IDLE_S = 60.0  # between two requests on a connection
HEAD_S = 10.0  # for the first of them to begin
BODY_S = 10.0  # for the rest of a request that has begun
UNREAD_S = 1.0  # for what a client still sends when it was answered already
CONNECTIONS = 64  # of one process, or of all together where the system does not tell whose they are
IN_ALL = 192  # a process may have 256 files open on macOS
READ_BYTES = 65_536

log = logging.getLogger(__name__)


class HttpRequest(NamedTuple):
    """*target* is the path; header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Response(NamedTuple):
    """An answer; *pieces* follow the *body* while there are any."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    pieces: AsyncGenerator[bytes, None] | None = None


# By its head: a request that gets no other answer.
Refuse = Callable[[HttpRequest], Response | None]
Handler = Callable[[HttpRequest], Awaitable[Response]]
Log = Callable[[str], None]


class ClientConnection(NamedTuple):
    """A connection as h11 has it, and its two directions."""

    http: h11.Connection
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class ListeningPort(NamedTuple):
    """A port that is open, and the connections there."""

    server: asyncio.Server
    open_now: Mapping[asyncio.Task[Any], socket.socket]

    @property
    def port(self) -> int:
        """The address it listens at."""
        return int(self.server.sockets[0].getsockname()[1])

    async def aclose(self) -> None:
        """Listen no more, and end what is under way."""
        self.server.close()
        tasks = [*self.open_now]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def listen(port: int, refuse: Refuse, handle: Handler, refused: Log) -> ListeningPort:
    """
    Serve *handle* on a port of 127.0.0.1, 0 for a free one. Raises OSError where it is taken.

    *refuse* sees each request first, without its body. Where the system tells who is at the other
    end, all but this user are refused; *refused* gets the reason.
    """
    open_now: dict[asyncio.Task[Any], socket.socket] = {}

    async def on_connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        before = [*open_now.values()]
        open_now[task] = end = writer.get_extra_info("socket")
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        connection = ClientConnection(http, reader, writer)
        try:
            if len(open_now) <= IN_ALL and (why := await _why_refused(end)):
                refused(why)
            elif await _are_too_many(before, end):
                refused("too many connections")
                await _end_with(connection, Response(503, {}))
            else:
                await _serve(connection, refuse, handle)
        except (TimeoutError, OSError, h11.ProtocolError, asyncio.CancelledError) as error:
            log.debug("a connection ended: %r", error)
        except Exception:
            log.exception("a request failed")
        finally:
            del open_now[task]
            with contextlib.suppress(OSError, RuntimeError):
                writer.close()

    server = await asyncio.start_server(on_connect, "127.0.0.1", port, limit=HEAD_BYTES)
    return ListeningPort(server, open_now)


async def _are_too_many(before: Sequence[socket.socket], newest: socket.socket) -> bool:
    """
    Return whether the process of the *newest* connection had its share *before*, so that the others
    keep theirs.
    """
    if not CONNECTIONS <= len(before) < IN_ALL:
        return len(before) >= IN_ALL
    newest_owner, *owners = await asyncio.to_thread(sockets.peer_processes, (newest, *before))
    return owners.count(newest_owner) >= CONNECTIONS


async def _why_refused(connection: socket.socket) -> str:
    """
    Return why the process at the other end is not answered, "" if it is, or if the system does not
    tell.
    """
    if sys.platform == "win32" or not sockets.can_tell():
        return ""
    # Of one that is closed it reads files.
    uid = await asyncio.to_thread(sockets.peer_uid, connection)
    if uid is None:  # a process that has closed its socket cannot be asked who it was
        return "a process whose user is not known"
    return "" if uid == os.getuid() else "another user's process"


async def _serve(connection: ClientConnection, refuse: Refuse, handle: Handler) -> None:
    http = connection.http
    seconds = HEAD_S
    while True:
        head = await asyncio.wait_for(_event(connection), seconds)
        if not isinstance(head, h11.Request):
            return
        headers = _combine(head)
        target = head.target.decode("latin-1").partition("?")[0]
        request = HttpRequest(head.method.decode(), target, headers, b"")
        if refusal := refuse(request):
            await _end_with(connection, refusal)
            return
        body = await asyncio.wait_for(_body(connection), BODY_S)
        if body is None:
            await _end_with(connection, Response(413, {}))
            return
        handled = _handle(connection, handle, request._replace(body=body))
        was_there = await _while_there(connection, handled)
        if not was_there or {http.our_state, http.their_state} != {h11.DONE}:
            return
        http.start_next_cycle()
        seconds = IDLE_S


def _combine(head: h11.Request) -> dict[str, str]:
    """
    Return the fields by name; one that is said twice is a list (RFC 9110, 5.3), so that no check
    passes over the first.
    """
    headers: dict[str, str] = {}
    for field, content in head.headers:
        name = field.decode("latin-1")
        value = content.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _end_with(connection: ClientConnection, response: Response) -> None:
    """Answer and hang up, so that a page holds none of the few connections."""
    headers = {**response.headers, "connection": "close"}
    await _answer(connection, response._replace(headers=headers))
    with contextlib.suppress(TimeoutError):  # unread bytes would reset the connection
        async with asyncio.timeout(UNREAD_S):
            while await connection.reader.read(READ_BYTES):
                pass


async def _handle(connection: ClientConnection, handle: Handler, request: HttpRequest) -> None:
    try:
        response = await handle(request)
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise  # the client has hung up, or the port closes
        log.debug("the work on a request was cancelled: %r", error)
        response = Response(503, {})
    except Exception:
        log.exception("a request failed")
        response = Response(500, {})
    await _answer(connection, response)


async def _while_there(connection: ClientConnection, work: Coroutine[Any, Any, None]) -> bool:
    """Do *work* unless the client hangs up; whether it was done."""
    working = asyncio.create_task(work, name="http request")
    reading = asyncio.create_task(connection.reader.read(READ_BYTES), name="http client")
    try:
        await asyncio.wait({working, reading}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done() and not working.done() and reading.result():
            await asyncio.wait({working})  # the next request is here already
        if not working.done():
            return False
        await working
        return True
    finally:
        reading.cancel()
        working.cancel()
        await asyncio.gather(working, reading, return_exceptions=True)
        if not reading.cancelled() and reading.exception() is None:
            connection.http.receive_data(reading.result())


async def _event(connection: ClientConnection) -> Any:
    http, reader, writer = connection
    while (event := http.next_event()) is h11.NEED_DATA:
        if http.they_are_waiting_for_100_continue:
            writer.write(http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
        http.receive_data(await reader.read(READ_BYTES))
    return event


async def _body(connection: ClientConnection) -> bytes | None:
    """Return the body of the request, None where it is too long."""
    body = bytearray()
    while isinstance(event := await _event(connection), h11.Data):
        body += event.data
        if len(body) > BODY_BYTES:
            return None
    return bytes(body) if isinstance(event, h11.EndOfMessage) else None


async def _answer(connection: ClientConnection, response: Response) -> None:
    http, _, writer = connection
    headers = {**response.headers}
    if response.pieces is None:
        headers["content-length"] = str(len(response.body))
    phrase = HTTPStatus(response.status).phrase
    start = h11.Response(status_code=response.status, reason=phrase, headers=[*headers.items()])
    writer.write(http.send(start) or b"")
    if response.body:
        writer.write(http.send(h11.Data(data=response.body)) or b"")
    if response.pieces is not None:
        async with aclosing(response.pieces) as pieces:
            async for piece in pieces:
                writer.write(http.send(h11.Data(data=piece)) or b"")
                await writer.drain()
    writer.write(http.send(h11.EndOfMessage()) or b"")
    await writer.drain()

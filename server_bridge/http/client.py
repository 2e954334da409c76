"""
JSON over HTTP: one kept connection into objects, every failure into one of protocol's four classes.

The only way to model servers. `get` may open a connection, `post` may not: user code is sent only
on a connection whose other end has proved, by a `get` just before, who it is. A server that was
stopped and replaced on its port by something else is therefore noticed before anything is sent to
it. `stream` may open one, too: its server cannot prove itself, or has its *guard* do so. Where
there is a *guard* it is asked about every connection, once it stands and before it is used.

Cancelling the caller does not cancel the exchange, and an exchange that is given up takes its
connection along: httpcore 1.0 loses a connection whose request is cancelled at the wrong moment,
and with it the pool. The key is put into a header here and appears in no log, error or repr.

A server with several models (llama.cpp's router) reads from every request which one is meant: in
the body of a POST, behind `?model=` of a GET (its README, "Using multiple models").
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import quote

from server_bridge.http.events import events_in
from server_bridge.http.key_refusals import Refused
from server_bridge.http.responses import (
    NOTHING,
    SIGN,
    Lost,
    Object,
    UnexpectedAnswer,
    Unproven,
    body_of,
    object_in,
)
from server_bridge.machine.addresses import is_loopback, redact_url, without_login
from server_bridge.patience import LATE_S, LOOK_S, SOON_S, NextStep
from server_bridge.protocol import BackendTimeout, BackendUnavailable

SENT = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
CLOSE_S = 0.2  # a connection whose other end hangs is left to the system

T = TypeVar("T")
Look = Callable[[], Awaitable[NextStep]]
Trace = Callable[[str, Mapping[str, Any]], Awaitable[None]]  # httpcore's


class Tags(NamedTuple):
    """The tags on every request: *headers*, and *fields* of a POST's JSON object."""

    headers: Mapping[str, str] = NOTHING
    fields: Mapping[str, str] = NOTHING


class Trust(NamedTuple):
    """
    The conditions on which a server may get user code.

    *ca_file* has certificates that count besides the usual ones. *guard* raises a BackendError
    where the connection that stands now may not be used. *name* is how messages call a server of
    ours, whose address says nothing to a user.
    """

    ca_file: str = ""
    guard: Callable[[], Awaitable[object]] | None = None
    name: str = ""


UNTAGGED = Tags()
USUAL = Trust()


class Http:
    """
    One server, one connection, one request at a time (others wait their turn).

    *key* is the API key, "" for none, or gives it, and is asked for every client. *patience_s* is
    for one exchange, however slowly it trickles; then, and after each such time, what *watch*
    returned for the exchange says what follows.
    *model* is named in every request, if it is set, and so are *tags*. Each method that asks raises
    one of the four errors of `protocol` (`Unproven` is a `BackendUnavailable`), and none of httpx.
    """

    def __init__(
        self,
        url: str,
        key: str | Callable[[], Awaitable[str]] = "",
        patience_s: float = LOOK_S,
        *,
        model: str = "",
        tags: Tags = UNTAGGED,
        trust: Trust = USUAL,
    ) -> None:
        self._again = partial(Http, url, key, patience_s, model=model, tags=tags)
        self.address = redact_url(url).rstrip("/")
        self.url = trust.name or self.address  # as messages call it
        self.model = model
        place, _, self._query = url.partition("#")[0].partition("?")
        self._address, self._login = without_login(place.rstrip("/"))
        self.is_here = is_loopback(url)  # on this machine
        self._headers = {**SENT, **tags.headers}
        self._fields = {**({"model": model} if model else {}), **tags.fields}
        self.patience_s = patience_s
        self.watch: Callable[[], Look] | None = None
        self.on_late: Callable[[], None] = lambda: None  # an answer is late: first, at each look
        self.readers = ""  # whose web pages may read the last answer: an origin, "*" for all
        self._key = key
        self._trust = trust
        self._library: Any = None  # `http.transport`
        self._client: Any = None
        self._socket: Any = None  # httpcore's network stream of the last exchange
        self._turn = asyncio.Lock()
        self._exchange: asyncio.Task[Object] | None = None  # the last one begun
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def is_open(self) -> bool:
        """
        Return whether the same server is still behind the connection, as far as that shows without
        asking.

        On this machine the end of a process closes its connections at once. A connection that is
        idle and has something to be read is being closed.
        """
        if self._client is None or self._socket is None or self._turn.locked():
            return False
        return self.is_here and not self._socket.get_extra_info("is_readable")

    async def get(self, path: str, *, named: bool = True, opens: bool = True) -> Object:
        """
        Fetch a JSON object; *named*: from the model.

        Opens a connection where none is open; with *opens* False it raises `Unproven` there, as
        `post`.
        """
        if self.model and named:
            path += f"?model={quote(self.model, safe='')}"
        if not opens:
            return await self._send("GET", path, None, self._only_if_open)
        try:
            return await self._send("GET", path, None, self._check_connection)
        except Unproven:  # the open one was just being closed
            return await self._send("GET", path, None, self._check_connection)

    async def post(self, path: str, body: bytes) -> Object:
        """Send JSON, get a JSON object. Raises `Unproven` where no connection is open."""
        return await self._send("POST", path, self._add_tags(body), self._only_if_open)

    def another(self, *guards: Callable[[], Awaitable[object]]) -> Http:
        """
        Return a second connection to the same server, for what takes long; *guards* are asked, too.
        """
        all_guards = [*filter(None, (self._trust.guard, *guards))]

        async def guard() -> None:
            for ask in all_guards:
                await ask()

        return self._again(trust=self._trust._replace(guard=guard))

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """
        Send JSON, get server-sent events as objects; one object where the server does not stream.

        Ends with the connection, and `[DONE]` is an object, too: only the caller can tell whether
        all was said, and how long that may take. Each event may take *patience_s*, and a comment is
        `events.SIGN`.
        """
        async with self._turn:
            client = await self._open()
            begun = False
            for again in (True, False):
                try:
                    with self._library.map_errors(self.url):
                        async with aclosing(self._events(client, path, body)) as events:
                            async for event in events:
                                begun = True
                                yield event
                    return
                except GeneratorExit:  # the response is closed, and its connection with it
                    raise
                except Unproven:
                    # An idle connection may close just as we write: once more on a new one.
                    if begun or not again or client.is_closed:
                        raise
                except BaseException as error:
                    self._drop()
                    if not client.is_closed or not isinstance(error, RuntimeError):
                        raise
                    # `aclose` came between `_open` and the request.
                    raise BackendUnavailable(f"the connection to {self.url} was closed") from error

    async def aclose(self) -> None:
        """End what is under way and close the connection."""
        if self._exchange is not None:
            self._exchange.cancel()
            await asyncio.gather(self._exchange, return_exceptions=True)
        self._drop()
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSE_S)

    async def _send(self, method: str, path: str, body: bytes | None, trace: Trace) -> Object:
        def on_done(exchange: asyncio.Task[Object]) -> None:
            self._turn.release()
            _ = exchange.cancelled() or exchange.exception()  # the caller may be gone

        await self._turn.acquire()
        exchange = asyncio.create_task(self._run_exchange(method, path, body, trace))
        exchange.add_done_callback(on_done)
        self._exchange = exchange
        caller = asyncio.current_task()
        try:
            return await asyncio.shield(exchange)
        except asyncio.CancelledError:
            if caller is None or caller.cancelling() or not exchange.cancelled():
                raise
            raise BackendUnavailable(f"the connection to {self.url} was closed") from None

    async def _run_exchange(
        self, method: str, path: str, body: bytes | None, trace: Trace
    ) -> Object:
        client = await self._open()
        seconds = min(SOON_S, self.patience_s) if method == "GET" else self.patience_s
        try:
            with self._library.map_errors(self.url):
                exchange = self._ask(client, method, path, body, trace)
                answer = await self._within(seconds, self._read(exchange, path))
            return object_in(self.url + path, *answer)
        except (Unproven, UnexpectedAnswer):
            raise  # httpcore closes a stream that is not read to its end
        except (Refused, BackendTimeout, BackendUnavailable):
            self._drop()  # the next connection asks for the key again
            raise

    def _ask(self, client: Any, method: str, path: str, body: bytes | None, trace: Trace) -> Any:
        """Return one exchange; `_within` limits what a server that is watched takes to answer."""
        timeouts = {**self._library.TIMES, "read": None if self.watch else self.patience_s}
        extensions = {"trace": trace, "timeout": timeouts}
        mark = ("&" if "?" in path else "?") if self._query else ""
        url = self._address + path + mark + self._query
        return client.stream(method, url, content=body, extensions=extensions)

    async def _read(self, exchange: Any, path: str) -> tuple[int, bytes, Mapping[str, str]]:
        """Return the status, the body and the headers of an answer."""
        async with exchange as response:
            self.readers = response.headers.get("access-control-allow-origin", "")
            self._socket = response.extensions.get("network_stream")
            body = await body_of(self.url + path, response)
            return response.status_code, body, response.headers

    async def _events(self, client: Any, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """Send one request, and yield the events of its answer."""
        exchange = self._ask(client, "POST", path, self._add_tags(body), self._check_connection)
        async with AsyncExitStack() as stack:
            response = await self._within(self.patience_s, stack.enter_async_context(exchange))
            seconds = self.patience_s if self.watch else None
            events = events_in(self.url + path, response, self.patience_s)
            await stack.enter_async_context(aclosing(events))
            clock = asyncio.get_running_loop().time
            look = None
            since = clock()
            while (event := await self._within(seconds, anext(events, None))) is not None:
                if event is not SIGN:
                    look = None
                    since = clock()
                elif self.watch is not None and clock() > since + self.patience_s:
                    look = look or self.watch()
                    since = clock()
                    if (step := await look()) is not NextStep.WAIT:
                        self._give_up(step)
                yield event
            if not response.is_closed:  # the server holds it open behind its end
                self._drop()

    async def _within(self, seconds: float | None, answer: Awaitable[T]) -> T:
        """Return the *answer*; where it takes longer than *seconds* the server is looked at."""
        task = asyncio.ensure_future(answer)
        tasks: list[asyncio.Future[Any]] = [task]
        late = asyncio.get_running_loop().call_later(LATE_S, self.on_late)
        try:
            if not (await asyncio.wait(tasks, timeout=seconds))[0]:
                watching = asyncio.ensure_future(self._watch_late(seconds))
                tasks.append(watching)
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if not task.done():
                    self._give_up(watching.result())
            return task.result()
        finally:
            late.cancel()
            for each in tasks:
                each.cancel()
            # Also where they are done: asyncio logs an exception for which no code asks.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch_late(self, seconds: float | None) -> NextStep:
        """Look at the server, again after *seconds*, until there is something to do."""
        look = self.watch() if self.watch is not None else None
        while look is not None and (step := await look()) is NextStep.WAIT:
            self.on_late()
            await asyncio.sleep(seconds or 0.0)
        return step if look is not None else NextStep.LEAVE

    def _give_up(self, step: NextStep) -> NoReturn:
        """Raise the error that has *step* follow."""
        if step is not NextStep.LEAVE:
            raise Lost(f"{self.url} works on nothing, and has not answered")
        raise TimeoutError

    async def _check_connection(self, event: str, info: Mapping[str, Any]) -> None:
        """Have the guard see a new connection before anything is sent on it; httpcore's `trace`."""
        if self._trust.guard is not None and event == "connection.connect_tcp.complete":
            try:
                await self._trust.guard()
            except BaseException:
                await info["return_value"].aclose()
                raise

    async def _only_if_open(self, event: str, info: Mapping[str, Any]) -> None:
        """Refuse to open a connection; httpcore's `trace`, too."""
        if event == "connection.connect_tcp.started":
            raise Unproven(f"{self.url} closed the connection")
        await self._check_connection(event, info)

    def _add_tags(self, body: bytes) -> bytes:
        """Return the JSON object *body* with what every request says before it."""
        if not self._fields:
            return body
        fields = json.dumps(self._fields).encode()
        return b"{%s}" % b",".join(filter(None, (fields[1:-1], body[1:-1])))

    async def _open(self) -> Any:
        """Return the client of the library, imported late and off the loop: it costs 0.1 s."""
        if self._client is None:
            name = "server_bridge.http.transport"
            self._library = await asyncio.to_thread(importlib.import_module, name)
            key = self._key if isinstance(self._key, str) else await self._key()
            login = self._login or (key and f"Bearer {key}")
            headers = {**self._headers, **({"Authorization": login} if login else {})}
            self._client = await asyncio.to_thread(
                self._library.new_client, self._address, headers, self._trust.ca_file
            )
        return self._client

    def _drop(self) -> None:
        """Let the connection go, whatever state it is in; the next exchange opens another."""
        client = self._client
        self._client = None
        if client is not None:
            closing = asyncio.create_task(client.aclose(), name="close connection")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

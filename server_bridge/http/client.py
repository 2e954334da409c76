"""
JSON over HTTP: one kept connection into objects, every failure into one of protocol's four classes.

The only user of httpx. `get` may open a connection, `post` may not: what a user wrote travels only
on a connection whose other end has proved, by a `get` just before, who it is. A server that was
stopped and replaced on its port by something else is therefore noticed before it is told anything.
`stream` may open one, too: it is for servers that the user named and that cannot prove themselves.
An exchange goes on when who asked is cancelled, and one that was given up takes its connection along:
httpcore 1.0 loses a connection whose request is cancelled at the wrong moment, and with it the pool.
The key is put into a header here and appears in no log, error or repr.

A server with several models (llama.cpp's router) reads from every request which one is meant: in the
body of a POST, behind `?model=` of a GET (its README, "Using multiple models").
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from server_bridge.answers import Object, Refused, events_in, object_in
from server_bridge.protocol import BackendTimeout, BackendUnavailable, BackendUnusable

CONNECT_S = 2.0  # a server on this machine answers in a millisecond, one across the world in 0.3 s
WRITE_S = 10.0  # a prompt is below a megabyte
GET_S = 2.0  # what a server knows without thinking
PATIENCE_S = 5.0  # for everything else: our steps are to take a quarter of a second
KEEP_S = 60.0  # llama.cpp closes after 5 s without a request; others keep longer
LOOPBACK = re.compile(r"https?://(127\.|localhost\b|\[::1\])")

NOTHING: Mapping[str, str] = MappingProxyType({})


class Unproven(BackendUnavailable):
    """A `post` would have needed a new connection: `get` a proof of identity first, then repeat."""


class Tags(NamedTuple):
    """What every request says besides what it asks: *headers*, and *fields* of a POST's JSON object."""

    headers: Mapping[str, str] = NOTHING
    fields: Mapping[str, str] = NOTHING


UNTAGGED = Tags()


class Http:
    """
    One server, one connection, one request at a time (others wait their turn).

    *key* gives the API key, "" for none; it may block and is asked for every connection.
    *patience_s* is for one exchange, however slowly it trickles. *ca_file* has certificates to trust
    besides the usual ones. *model* is named in every request, if it is set, and so are *tags*.
    """

    def __init__(
        self,
        url: str,
        key: Callable[[], str] = str,
        patience_s: float = PATIENCE_S,
        *,
        ca_file: str = "",
        model: str = "",
        tags: Tags = UNTAGGED,
    ) -> None:
        self.url = url.rstrip("/")
        self.model = model
        self._headers = {"Content-Type": "application/json", **tags.headers}
        self._fields = {**({"model": model} if model else {}), **tags.fields}
        self.patience_s = patience_s
        self.readers = ""  # whose web pages may read the last answer: an origin, "*" for all
        self._key = key
        self._ca_file = ca_file
        self._httpx: Any = None
        self._client: Any = None
        self._turn = asyncio.Lock()
        self._exchange: asyncio.Task[Object] | None = None  # the last one begun
        self._closing: set[asyncio.Task[None]] = set()

    async def get(self, path: str, *, named: bool = True) -> Object:
        """Fetch a JSON object, opening a connection where none is open; *named*: from the model."""
        if self.model and named:
            path += f"?model={quote(self.model, safe='')}"
        try:
            return await self._send("GET", path, None, {})
        except Unproven:  # the open one was just being closed
            return await self._send("GET", path, None, {})

    async def post(self, path: str, body: bytes) -> Object:
        """Send JSON, get a JSON object. Raises `Unproven` where no connection is open."""
        try:
            return await self._send("POST", path, self._tagged(body), {"trace": _refuse_to_connect})
        except _Closed:
            raise Unproven(f"{self.url} closed the connection") from None

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """
        Send JSON, get server-sent events as objects; one object where the server does not stream.

        Ends at `[DONE]` or with the connection: only the caller can tell whether all was said, and
        how long that may take.
        """
        async with self._turn:
            client, httpx = await self._open()
            url, begun = self.url + path, False
            for again in (True, False):
                try:
                    with self._mapped(httpx):
                        async with client.stream(
                            "POST", url, content=self._tagged(body)
                        ) as response:
                            begun = True
                            async for event in events_in(url, response):
                                yield event
                    return
                except Unproven:
                    # An idle connection may close just as we write: once more on a new one.
                    if begun or not again:
                        raise
                except BaseException:
                    self._drop()
                    raise

    async def aclose(self) -> None:
        """End what is under way and close the connection."""
        if self._exchange is not None:
            self._exchange.cancel()
            await asyncio.gather(self._exchange, return_exceptions=True)
        self._drop()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _send(self, method: str, path: str, body: bytes | None, extensions: Object) -> Object:
        def done(exchange: asyncio.Task[Object]) -> None:
            self._turn.release()
            _ = exchange.cancelled() or exchange.exception()  # perhaps nobody waits to hear of it

        await self._turn.acquire()
        self._exchange = asyncio.create_task(self._exchanged(method, path, body, extensions))
        self._exchange.add_done_callback(done)
        return await asyncio.shield(self._exchange)

    async def _exchanged(
        self, method: str, path: str, body: bytes | None, extensions: Object
    ) -> Object:
        client, httpx = await self._open()
        seconds = min(GET_S, self.patience_s) if method == "GET" else self.patience_s
        with self._mapped(httpx):
            request = client.request(method, self.url + path, content=body, extensions=extensions)
            try:
                response = await asyncio.wait_for(request, seconds)
            except (httpx.TimeoutException, asyncio.TimeoutError):
                self._drop()
                raise
        self.readers = response.headers.get("access-control-allow-origin", "")
        try:
            return object_in(self.url + path, response.status_code, response.content)
        except Refused:
            self._drop()  # the next connection asks for the key anew
            raise

    def _tagged(self, body: bytes) -> bytes:
        """The JSON object *body* with what every request says before it."""
        fields = json.dumps(self._fields).encode()
        return b"{%s}" % b",".join(filter(None, (fields[1:-1], body[1:-1])))

    @contextmanager
    def _mapped(self, httpx: Any) -> Iterator[None]:
        """The library's errors as ours."""
        try:
            yield
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise BackendUnusable(
                f"{self.url!r} is no address: fim.backend.url should look like http://127.0.0.1:8012"
            ) from error
        except httpx.LocalProtocolError:
            raise BackendUnusable(  # not chained: the original would show the key
                "the API key has characters that none may have: check fim.backend.apiKeyEnv"
            ) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise BackendUnusable(
                    f"the certificate of {self.url} is signed by nobody known: name the file of "
                    "your organisation's certificates in fim.backend.caFile"
                ) from error
            raise BackendUnavailable(f"cannot connect to {self.url}: {error}") from error
        except (httpx.RemoteProtocolError, httpx.NetworkError) as error:
            # The server closed an idle connection just as we wrote (or died): prove it anew.
            raise Unproven(f"{self.url} closed the connection") from error
        except (httpx.TimeoutException, asyncio.TimeoutError) as error:
            raise BackendTimeout(f"{self.url} did not answer in time") from error
        except httpx.HTTPError as error:
            raise BackendUnavailable(f"the connection to {self.url} failed: {error}") from error

    async def _open(self) -> tuple[Any, Any]:
        """The client and its library, imported late and off the loop: it costs 0.1 s."""
        if self._client is None:
            self._httpx = await asyncio.to_thread(importlib.import_module, "httpx")
            headers = {**self._headers}
            if key := await asyncio.to_thread(self._key):
                headers["Authorization"] = f"Bearer {key}"
            self._client = self._httpx.AsyncClient(
                headers=headers,
                timeout=self._httpx.Timeout(self.patience_s, connect=CONNECT_S, write=WRITE_S),
                limits=self._httpx.Limits(max_connections=1, keepalive_expiry=KEEP_S),
                trust_env=not LOOPBACK.match(self.url),  # no proxy between us and this machine
                verify=await asyncio.to_thread(self._trust),
            )
        return self._client, self._httpx

    def _drop(self) -> None:
        """Let the connection go, whatever state it is in; the next exchange opens another."""
        client, self._client = self._client, None
        if client is not None:
            closing = asyncio.create_task(client.aclose(), name="close connection")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _trust(self) -> ssl.SSLContext | bool:
        """Whose certificates count: httpx's, this machine's and the user's. Reading them takes 25 ms."""
        if not self.url.startswith("https"):
            return False
        context: ssl.SSLContext = self._httpx.create_ssl_context()
        context.load_default_certs()
        if self._ca_file:
            try:
                context.load_verify_locations(Path(self._ca_file).expanduser())
            except OSError as error:  # ssl.SSLError is one
                raise BackendUnusable(f"fim.backend.caFile cannot be read: {error}") from error
        return context


class _Closed(Exception):
    """A request that may not connect found no open connection."""


async def _refuse_to_connect(event: str, _info: Object) -> None:
    if event == "connection.connect_tcp.started":
        raise _Closed

"""
JSON over HTTP: one kept connection into objects, every failure into one of protocol's four classes.

The only user of httpx. `get` may open a connection, `post` may not: what a user wrote travels only
on a connection whose other end has proved, by a `get` just before, who it is. A server that was
stopped and replaced on its port by something else is therefore noticed before it is told anything.
`stream` may open one, too: it is for servers that the user named and that cannot prove themselves.
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
from contextlib import aclosing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    BackendUnusable,
    Health,
    PromptTooLong,
    State,
)

CONNECT_S = 2.0  # a server on this machine answers in a millisecond, one across the world in 0.3 s
WRITE_S = 10.0  # a prompt is below a megabyte
GET_S = 2.0  # what a server knows without thinking
PATIENCE_S = 5.0  # for everything else: our steps are to take a quarter of a second
KEEP_S = 60.0  # llama.cpp closes after 5 s without a request; others keep longer
OK = 200
LOOPBACK = re.compile(r"https?://(127\.|localhost\b|\[::1\])")

Object = dict[str, Any]
NOTHING: Mapping[str, str] = MappingProxyType({})


class Loading(BackendUnavailable):
    """The server is there, its model is not yet."""


class Unproven(BackendUnavailable):
    """A `post` would have needed a new connection: `get` a proof of identity first, then repeat."""


class NotJson(BackendUnavailable):
    """Something answered that does not speak our language."""


def state_after(state: State, error: BackendError) -> State:
    """What a failure says about the server."""
    causes: dict[type[BackendError], Health] = {
        Loading: Health.LOADING,
        BackendUnavailable: Health.DOWN,
        BackendUnusable: Health.UNUSABLE,
    }
    found = next((health for kind, health in causes.items() if isinstance(error, kind)), None)
    return replace(state, health=found, message=str(error)) if found else state


class Refused(BackendUnusable):
    """The key is not the right one."""


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
        client, httpx = await self._open()
        url, begun = self.url + path, False
        for again in (True, False):
            try:
                with self._mapped(httpx):
                    async with client.stream("POST", url, content=self._tagged(body)) as response:
                        begun = True
                        async for event in _events(url, response):
                            yield event
                return
            except (
                Unproven
            ):  # an idle connection may close just as we write: once more on a new one
                if begun or not again:
                    raise

    async def aclose(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _send(self, method: str, path: str, body: bytes | None, extensions: Object) -> Object:
        client, httpx = await self._open()
        with self._mapped(httpx):
            request = client.request(method, self.url + path, content=body, extensions=extensions)
            seconds = min(GET_S, self.patience_s) if method == "GET" else self.patience_s
            response = await asyncio.wait_for(request, seconds)
        self.readers = response.headers.get("access-control-allow-origin", "")
        try:
            return _object(self.url + path, response.status_code, response.content)
        except Refused:
            await self.aclose()  # the next connection asks for the key anew
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
        except httpx.RemoteProtocolError as error:
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
            trust = await asyncio.to_thread(self._trust)
        if self._client is None:
            self._client = self._httpx.AsyncClient(
                headers=headers,
                timeout=self._httpx.Timeout(self.patience_s, connect=CONNECT_S, write=WRITE_S),
                limits=self._httpx.Limits(max_connections=1, keepalive_expiry=KEEP_S),
                trust_env=not LOOPBACK.match(self.url),  # no proxy between us and this machine
                verify=trust,
            )
        return self._client, self._httpx

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


async def _events(url: str, response: Any) -> AsyncGenerator[Object, None]:
    """What a server sends piece by piece; comments (keep-alives) are left out."""
    kind = response.headers.get("content-type", "")
    if response.status_code != OK or not kind.startswith("text/event-stream"):
        yield _object(url, response.status_code, await response.aread())
        return
    async with aclosing(response.aiter_lines()) as lines:
        async for line in lines:
            if line.startswith("data:") and line[5:].strip() != "[DONE]":
                yield _object(url, OK, line[5:].encode())


class _Closed(Exception):
    """A request that may not connect found no open connection."""


async def _refuse_to_connect(event: str, _info: Object) -> None:
    if event == "connection.connect_tcp.started":
        raise _Closed


def _object(url: str, status: int, content: bytes) -> Object:
    """The JSON object in an answer, or the error it means."""
    try:
        data = json.loads(content)
    except ValueError:
        data = None
    if status == OK:
        data = {"list": data} if isinstance(data, list) else data
        if not isinstance(data, dict):
            raise NotJson(f"{url} answered something that is not a JSON object")
        return data
    error = data.get("error") if isinstance(data, dict) else None
    error = error if isinstance(error, dict) else {}
    message = f"{url} answered {status}: {error.get('message') or content[:200].decode('utf-8', 'replace')}"
    if status in (401, 403):
        raise Refused(
            f"{url} refused the API key: say where it is in fim.backend.apiKeyEnv, "
            "apiKeyFile or apiKeyCommand"
        )
    if error.get("type") == "exceed_context_size_error":
        raise PromptTooLong(error.get("n_prompt_tokens", 0), error.get("n_ctx", 0))
    if status == 501:  # noqa: PLR2004
        raise BackendUnusable(message)
    if status == 503 and error.get("type") == "unavailable_error":  # noqa: PLR2004
        raise Loading(message)
    if status == 429 or status >= 500:  # noqa: PLR2004
        raise BackendUnavailable(message)
    raise BackendRejected(message)

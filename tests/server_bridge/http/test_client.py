"""Every way an HTTP server can fail, as what the caller should do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import ssl
import struct

import pytest
import trustme

from server_bridge.http.client import Http
from server_bridge.http.key_refusals import Refused
from server_bridge.http.responses import Loading, ServerError, UnexpectedAnswer, Unproven
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendUnavailable,
    BackendUnusable,
    PromptTooLong,
)
from tests import lost_exceptions
from tests.fault_proxy import fault_proxy
from tests.server_bridge.recorder import recorder
from tests.tcp_server import tcp_server

pytestmark = [
    pytest.mark.promise("answers-are-bounded"),
    pytest.mark.promise("encrypted-or-warned"),
]


def error(kind: str, message: str = "why", **more: object) -> bytes:
    """Return an error as llama.cpp says it."""
    return json.dumps({"error": {"type": kind, "message": message, **more}}).encode()


async def ask(url: str, key: str = "") -> object:
    """Return what a server answers on a connection of its own."""
    async with contextlib.aclosing(Http(url, key)) as http:
        return await http.get("/props")


ANSWERS = [
    (400, error("invalid_request_error"), BackendRejected, r"400 \(invalid_request_error\)"),
    (400, error("exceed_context_size_error", n_prompt_tokens=9, n_ctx=8), PromptTooLong, "9"),
    (400, error("exceed_context_size_error", n_ctx="x"), PromptTooLong, "context 0"),
    (401, error("authentication_error"), Refused, "apiKeyEnv"),
    (404, b"not here", BackendRejected, "404"),
    (429, b"", ServerError, "429"),
    (500, error("server_error"), ServerError, "server_error"),
    (501, error("not_supported_error"), BackendUnusable, "not_supported_error"),
    (503, error("unavailable_error", "Loading model"), Loading, "is loading its model"),
    (503, b"<html>maintenance", ServerError, "503: see"),
    (200, b"<html>", UnexpectedAnswer, "not a JSON object"),
    (200, b'{"half', UnexpectedAnswer, "not a JSON object"),
    (302, b"", BackendRejected, "302"),
    (400, b'{"error": "a string"}', BackendRejected, "400"),
]


@pytest.mark.parametrize(("status", "answer", "kind", "says"), ANSWERS)
async def test_answers_become_errors(status: int, answer: bytes, kind: type[Exception], says: str):
    """Each status means one thing to do, and the message says what it was."""
    with recorder(status, answer) as server, pytest.raises(kind, match=says) as caught:
        await ask(server.url)
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("status", "is_kept"), [(404, True), (501, True), (401, False), (431, False), (503, False)]
)
async def test_after_a_failure_the_connection_begins_again(status: int, is_kept: bool) -> None:
    """What was said on it may be why; an endpoint that is not there is no failure."""
    with recorder(status) as server:
        http = Http(server.url)
        with pytest.raises(BackendError):
            await http.get("/props")
        assert (http._client is not None) is is_kept
        await http.aclose()


@pytest.mark.parametrize(
    "url", ["", "nonsense", "ftp://127.0.0.1", "http://", "http://[::1", "http://a:b"]
)
async def test_no_url_at_all(url: str) -> None:
    """A URL that cannot be one is said to be wrong, and how one looks."""
    with pytest.raises(BackendUnusable, match=r"fim\.backend\.url"):
        await ask(url)


async def test_a_key_that_no_header_can_hold() -> None:
    """A key with a line break in it is a clear message that does not show it."""
    with recorder() as server, pytest.raises(BackendUnusable, match="apiKeyEnv") as caught:
        await ask(server.url, "s3c\nret")
    assert "ret" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_posts_only_on_a_connection_that_was_proved() -> None:
    """A post opens no connection: it needs one on which a get was answered."""
    with recorder() as server:
        http = Http(server.url)
        with pytest.raises(Unproven):
            await http.post("/completion", b"{}")
        assert server.heard == []
        await http.aclose()


async def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    """The key goes into the header and into nothing a person could read."""
    caplog.set_level(logging.DEBUG)
    with recorder(401) as server, pytest.raises(BackendUnusable) as caught:
        await ask(server.url, "s3cret")
    assert [key for *_, key in server.heard] == ["Bearer s3cret"]
    assert "s3cret" not in caplog.text + repr(caught.value) + repr(Http(server.url, "s3cret"))


@pytest.mark.promise("keys-stay")
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "LOCALHOST", "me:s3cret@127.0.0.1", "127.1", "0.0.0.0",
     "[::ffff:127.0.0.1]"],
)  # fmt: skip
async def test_proxies_have_no_business_on_this_machine(host: str, monkeypatch) -> None:
    """A proxy from the environment is not used for a server on this machine, however it is written."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with recorder() as server:
        assert await ask(f"HTTP://{host}:{server.server_address[1]}/") == {"status": "ok"}


@pytest.mark.promise("keys-stay")
async def test_a_password_in_the_address_is_sent_and_never_shown(caplog) -> None:
    """Basic authentication goes to the server, and into no message and no log, whatever its level."""
    caplog.set_level(logging.DEBUG)
    shown = []
    for status in (200, 404, 500):
        with recorder(status) as server:
            url = server.url.replace("//", "//me:s3cret@")
            with contextlib.suppress(BackendError):
                await ask(url)
        with pytest.raises(BackendUnavailable) as caught:
            await ask(url)
        assert [key for *_, key in server.heard] == ["Basic bWU6czNjcmV0"]
        shown += [Http(url).url, str(caught.value)]
    assert "s3cret" not in caplog.text + "".join(shown)
    assert "***@127.0.0.1" in shown[0]


@pytest.mark.parametrize("url", ["http://me:s3cret@[::1", "me:s3cret@host", "http://me:s3/cret@a"])
async def test_a_password_in_no_address_is_not_shown_either(url: str) -> None:
    """Nor by the library's error behind ours."""
    with pytest.raises(BackendError) as caught:
        await ask(url)
    assert "cret" not in f"{caught.value}{caught.value.__cause__!r}{Http(url).url}"


@pytest.mark.parametrize("scheme", ["https", "HTTPS"])
async def test_a_certificate_is_looked_at_however_the_scheme_is_written(scheme: str, url) -> None:
    """A server without a trusted certificate gets no request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with fault_proxy(url, context) as proxy:
        with pytest.raises(BackendUnusable, match=r"fim\.backend\.caFile"):
            await ask(proxy.url.replace("https", scheme))
    assert proxy.heard == []


async def test_a_connection_reset_under_a_request_is_proved_again() -> None:
    """A server that closes an idle connection just as we write may answer with a reset."""

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await reader.readuntil(b"\r\n\r\n")
        no_wait = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_wait)

    async with tcp_server(once) as host:
        http = Http(f"http://{host}")
        await http.get("/props")
        with pytest.raises(Unproven):
            await http.post("/completion", b"{}")
        assert await http.get("/props") == {}
        await http.aclose()


async def turns(n: int) -> None:
    """Let the loop go around."""
    for _ in range(n):
        await asyncio.sleep(0)


@pytest.mark.parametrize("again", [None, 0, 2])
async def test_cancelled_at_any_moment_it_goes_on(again: int | None, url: str) -> None:
    """Who types cancels requests at every moment of theirs, some twice; the next one is answered."""
    http = Http(url, patience_s=1.0)
    for moment in range(80):
        await http.get("/props")
        task = asyncio.ensure_future(http.post("/tokenize", b'{"content": "weight"}'))
        await turns(moment)
        task.cancel()
        if again is not None:
            await turns(again)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert "build_info" in await http.get("/props")
    await http.aclose()


async def test_a_caller_that_goes_when_the_answer_failed_leaves_no_traceback(url: str) -> None:
    """The exception of the read is asked for, although the caller was cancelled in the same moment."""

    callers = list[asyncio.Future[None]]()

    async def fail() -> None:
        callers.pop().cancel()
        raise BackendUnavailable("gone")

    callers.append(asyncio.ensure_future(Http(url, "")._within(1.0, fail())))
    await asyncio.wait([*callers])
    assert lost_exceptions.take() == []


@pytest.mark.parametrize("how", ["closed", "cancelled"])
async def test_a_stream_ended_at_any_moment_leaves_the_next_one_alone(how: str, url: str) -> None:
    """A text that is not wanted any more is closed at every moment of its stream; the next one comes whole."""
    body = json.dumps({"prompt": "def area(", "n_predict": 24, "stream": True}).encode()
    http = Http(url, patience_s=5.0)

    async def read(n_events: int) -> int:
        n = 0
        async with contextlib.aclosing(http.stream("/completion", body)) as events:
            async for _ in events:
                n += 1
                if n == n_events:
                    break
        return n

    for moment in range(60):
        if how == "closed":
            await read(moment % 20 + 1)
        else:
            task = asyncio.ensure_future(read(0))
            await turns(3 * moment)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert await read(0) > 1
    await http.aclose()


@pytest.mark.parametrize("way", ["get", "stream"])
async def test_what_is_under_way_when_it_is_closed_fails(way: str) -> None:
    """Its caller was not cancelled, and may ask another server; one that is cancelled is."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        http = Http("http://{}:{}".format(*silent.getsockname()))

        async def ask() -> object:
            if way == "get":
                return await http.get("/props")
            return [event async for event in http.stream("/completion", b"{}")]

        waiting = asyncio.create_task(ask())
        given_up = asyncio.create_task(ask())
        await asyncio.sleep(0.1)
        given_up.cancel()
        await http.aclose()
        with pytest.raises(BackendUnavailable):
            await asyncio.wait_for(waiting, 5.0)
        with pytest.raises(asyncio.CancelledError):
            await given_up


async def test_a_stream_that_finds_the_client_closed_is_no_bug_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The engine ended between `_open` and the request: the backend is unavailable, as in all such cases."""
    http = Http("http://127.0.0.1:9")
    opened = await http._open()

    async def open_and_close() -> object:
        await http.aclose()
        return opened

    monkeypatch.setattr(http, "_open", open_and_close)
    with pytest.raises(BackendUnavailable, match="was closed"):
        await anext(http.stream("/completion", b"{}"))

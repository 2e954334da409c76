"""Servers that were not named: whose they are, whether they answer, and what waits for them."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import AsyncExitStack
from typing import Literal
from urllib.parse import urlsplit

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover import local_servers
from server_bridge.failover.local_servers import AGAIN_S, Listener, LocalServers
from server_bridge.protocol import BackendUnavailable, Health, Request
from tests.llama_server import free_port, llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import short
from tests.server_bridge.recorder import recorder
from tests.tcp_server import tcp_server

pytestmark = pytest.mark.promise("known-servers-only")

REQUEST = Request(short("    def "), n_predict=4)
ODD = [
    (200, b"<html>"), (200, b"{}"), (200, b"[]"), (404, b"no"), (500, b"{"), (401, b""),
    (200, b"[" * 100_000), (200, b'{"build_info": 3, "default_generation_settings": []}'),
]  # fmt: skip
linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every listener is another user's."""
    monkeypatch.setattr(local_servers, "listener", lambda _: Listener(False, (1,)))


@pytest.mark.usefixtures("foreign")
async def test_a_server_of_another_user_is_told_of_and_not_used(url: str) -> None:
    """It gets no request at all; the embedded engine serves, and the message names the setting."""
    with recorder() as strange:
        backend = open_backend(BackendSettings(usual_urls=(strange.url, url)))
        assert (await backend.complete(REQUEST)).text
        state = backend.state
        await backend.aclose()
    assert strange.heard == []
    assert (state.kind, state.health) == ("embedded", Health.READY)
    assert f"fim.backend.url to {strange.url}" in state.message
    assert "another user" in state.message


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("kind", ["auto", "llama-server"])
async def test_a_server_of_another_user_is_used_when_it_is_named(
    kind: Literal["auto", "llama-server"], url: str
) -> None:
    """The user has decided."""
    backend = open_backend(BackendSettings(kind, url))
    assert (await backend.complete(REQUEST)).text
    assert (backend.state.url, backend.state.message) == (url, "")
    await backend.aclose()


async def test_a_server_that_changes_hands_gets_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user takes the port of ours, as soon as it is free and as llama.cpp would answer."""
    owner = Listener(True, (1,))
    monkeypatch.setattr(local_servers, "listener", lambda _: owner)
    with llama_server(BUNDLED) as url:
        backend = open_backend(BackendSettings(usual_urls=(url,)))
        await backend.complete(REQUEST)
        assert backend.state.url == url
    owner = Listener(False, (2,))
    with recorder(port=urlsplit(url).port or 0) as strange:
        assert (await backend.complete(REQUEST)).text
        assert backend.state.kind == "embedded"
        assert strange.heard == []
    await backend.aclose()


@linux
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs another user")
async def test_another_user_in_earnest() -> None:
    """A socket that another user made."""
    port = free_port()
    os.seteuid(65534)
    try:
        strange = socket.create_server(("127.0.0.1", port))
    finally:
        os.seteuid(0)
    with strange:
        strange.setblocking(False)
        servers = LocalServers((f"http://127.0.0.1:{port}",))
        with pytest.raises(BackendUnavailable, match="another user"):
            await servers.admit(f"http://127.0.0.1:{port}")
        connection, _ = strange.accept()
        with connection:
            assert connection.recv(100) == b""  # closed, and nothing was said


async def test_silent_ports_are_waited_for_once_and_together(monkeypatch) -> None:
    """Three cost as much as one, before the first suggestion; the user hears nothing of them."""
    assert local_servers.PROBE_S <= 0.5
    monkeypatch.setattr(local_servers, "PROBE_S", 0.2)
    n_open = 0
    n_all = 0
    most = 0

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_open, n_all, most
        n_open, n_all, most = n_open + 1, n_all + 1, max(most, n_open + 1)
        await reader.read()  # it says nothing
        n_open -= 1

    async with AsyncExitStack() as stack:
        hosts = [await stack.enter_async_context(tcp_server(hear)) for _ in range(3)]
        urls = tuple(f"http://{host}" for host in hosts)
        backend = open_backend(BackendSettings(usual_urls=urls))
        assert (await backend.complete(REQUEST)).text
        assert (most, n_all) == (3, 3)
        assert (backend.state.kind, backend.state.message) == ("embedded", "")
        await backend.aclose()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("status", "answer"), ODD)
async def test_what_is_no_model_server_is_left_alone(status: int, answer: bytes) -> None:
    """It is asked once in half a minute; it is gone, and what came in its place is asked at once."""
    seconds = 1000.0
    with recorder(status, answer) as server:
        servers = LocalServers((server.url,), now=lambda: seconds)
        for passed, n_asked in [(0, 1), (1, 1), (AGAIN_S - 2, 1), (2, 2), (1, 2)]:
            seconds += passed
            await refused(servers, server.url)
            assert len(server.heard) == n_asked
        assert server.heard[0][:3] == ("GET", "/props", b"")
    with recorder(status, answer, port=server.server_address[1]) as another:
        seconds += 1
        await refused(servers, server.url)
        assert len(another.heard) == 1


async def refused(servers: LocalServers, url: str) -> None:
    with pytest.raises(BackendUnavailable) as caught:
        await servers.admit(url)
    assert type(caught.value) is BackendUnavailable  # it may be another one in a moment
    assert servers.notice() == ""

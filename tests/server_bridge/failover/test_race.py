"""Several servers are connected at once: a silent one costs nothing where another is well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover import race
from server_bridge.failover.endpoint import Endpoint
from server_bridge.failover.endpoints import Endpoints
from server_bridge.protocol import (
    Backend,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Prompt,
    Reply,
    Request,
    State,
    Stop,
    Timings,
    Warmed,
)
from tests.server_bridge.prompts import short
from tests.server_bridge.waiting import until

REQUEST = Request(short("    def "), n_predict=4)


@asynccontextmanager
async def silent(n: int) -> AsyncIterator[list[str]]:
    """Addresses where connections are taken and nothing is ever said."""

    async def listen(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    writers: list[asyncio.StreamWriter] = []
    servers = [await asyncio.start_server(listen, "127.0.0.1", 0) for _ in range(n)]
    yield [f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers]
    for server in servers:
        server.close()
    for writer in writers:
        writer.close()


class Fake:
    """A backend that connects when it is let, or fails to."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.state = State(Health.UNKNOWN, "fake", name)
        self.error = error
        self.may_connect = asyncio.Event()
        self.n_connects = 0

    async def connect(self) -> Fake:
        if self.state.health is Health.READY:
            return self
        self.n_connects += 1
        await self.may_connect.wait()
        if self.error is not None:
            raise self.error
        self.state = State(Health.READY, "fake", self.state.url)
        return self

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        return Warmed(0, 0)

    async def complete(self, request: Request) -> Reply:
        return Reply(self.state.url, (), (), Stop.END, Timings())

    async def aclose(self) -> None:
        self.state = State(Health.UNKNOWN, "fake", self.state.url)


def endpoint(fake: Fake, **kind: Any) -> Endpoint:
    """Return what the failover knows of *fake*, which has only what these tests use."""
    return Endpoint(cast(Backend, fake), **kind)


@pytest.mark.parametrize("n", [1, 3])
async def test_silent_servers_cost_nothing_where_another_is_well(n: int, url: str) -> None:
    """They are all asked at once: the one that answers serves, however many before it are silent."""
    async with silent(n) as urls:
        backend = open_backend(BackendSettings(usual_urls=(*urls, url)))
        assert (await backend.complete(REQUEST)).text
        assert (backend.state.url, backend.state.message) == (url, "")
        await backend.aclose()


async def test_all_are_connected_before_any_has_answered() -> None:
    """A silent server costs nothing: the second is connected while the first has not answered."""
    first, second, third = (Fake(name) for name in "abc")
    backend = Endpoints([endpoint(first), endpoint(second), endpoint(third)])
    asked = asyncio.create_task(backend.complete(REQUEST))
    second.may_connect.set()
    assert (await asked).text == "b"
    assert [fake.n_connects for fake in (first, second, third)] == [1, 1, 1]
    first.may_connect.set()

    async def serves_first() -> bool:
        return (await backend.complete(REQUEST)).text == "a"

    await until(serves_first)
    assert first.n_connects == 1
    await backend.aclose()


async def test_the_better_one_is_waited_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that are well the first is used, also when the second was quicker."""
    monkeypatch.setattr(race, "GRACE_S", 600.0)
    first, second = Fake("a"), Fake("b")
    backend = Endpoints([endpoint(first), endpoint(second)])
    asked = asyncio.create_task(backend.complete(REQUEST))
    second.may_connect.set()

    async def is_second_ready() -> bool:
        return second.state.health is Health.READY

    await until(is_second_ready)
    first.may_connect.set()
    assert (await asked).text == "a"
    await backend.aclose()


async def test_others_on_this_machine_are_asked_only_where_the_named_one_is_not_quick() -> None:
    """A server that the user named and that answers is the only one that hears of us."""
    named, found, last = Fake("named"), Fake("found"), Fake("last")
    for fake in (named, found, last):
        fake.may_connect.set()
    endpoints = [
        endpoint(named, strict=True),
        endpoint(found, named=False),
        endpoint(last, last=True),
    ]
    backend = Endpoints(endpoints)
    assert (await backend.complete(REQUEST)).text == "named"
    assert (found.n_connects, last.n_connects) == (0, 0)
    named.error = BackendUnavailable("gone")
    await endpoints[0].note_failure(named.error, at_work=False)
    assert (await backend.complete(REQUEST)).text == "found"
    assert last.n_connects == 0
    await backend.aclose()


async def test_that_nothing_is_found_is_no_trouble_while_our_own_starts() -> None:
    """An editor without settings and a server hears nothing of ports where there is none."""
    found, last = Fake("found", BackendUnavailable("cannot connect")), Fake("last")
    found.may_connect.set()
    endpoints = [endpoint(found, named=False), endpoint(last, last=True)]
    backend = Endpoints(endpoints)
    asked = asyncio.create_task(backend.complete(REQUEST))

    async def has_failed() -> bool:
        return endpoints[0].error is not None and last.n_connects == 1

    await until(has_failed)
    assert backend.state.health is Health.UNKNOWN
    last.may_connect.set()
    assert (await asked).text == "last"
    await backend.aclose()


async def test_where_the_named_one_is_wrong_no_other_is_used_meanwhile() -> None:
    """Not at once, and not while it is left alone after a failure, either."""
    named, last = Fake("named", BackendUnusable("set fim.backend.url")), Fake("last")
    named.may_connect.set()
    last.may_connect.set()
    backend = Endpoints([endpoint(named, strict=True), endpoint(last, last=True)])
    for _ in range(3):
        with pytest.raises(BackendUnusable, match=r"fim\.backend\.url"):
            await backend.complete(REQUEST)
    assert last.n_connects == 0
    named.error = None

    async def is_mended() -> bool:
        try:
            return (await backend.complete(REQUEST)).text == "named"
        except BackendUnusable:
            return False

    await until(is_mended)
    await backend.aclose()

"""The first server that is well answers; one that is dead costs moments, and only the first time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any, cast

import pytest

from server_bridge.failover import endpoints as endpoints_module
from server_bridge.failover.endpoint import Endpoint, Server
from server_bridge.failover.endpoints import Endpoints
from server_bridge.protocol import (
    BackendUnavailable,
    BackendUnusable,
    Health,
    Model,
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


class Fake:
    """A backend that connects while it may, or fails to; *fails*: it completes nothing."""

    fails = False

    def __init__(
        self, name: str, error: Exception | None = None, *, is_ready: bool = False
    ) -> None:
        self.state = State(Health.READY if is_ready else Health.UNKNOWN, "fake", name)
        self.error = error
        self.n_connects = 0
        self.may_connect = asyncio.Event()
        self.may_connect.set()

    async def connect(self) -> Model:
        if self.state.health is not Health.READY:
            self.n_connects += 1
            await self.may_connect.wait()
            if self.error is not None:
                raise self.error
            self.state = replace(self.state, health=Health.READY)
        return cast("Model", self)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        return Warmed(0, 0)

    async def complete(self, request: Request) -> Reply:
        if self.fails:
            raise BackendUnavailable(self.state.url)
        return Reply(self.state.url, (), (), Stop.END, Timings())

    async def disconnect(self) -> None:
        self.state = replace(self.state, health=Health.UNKNOWN)

    aclose = disconnect


def endpoint(fake: Fake, **kind: Any) -> Endpoint:
    """Return what the failover knows of *fake*, which has only what these tests use."""
    return Endpoint(cast("Server", fake), **kind)


async def test_the_first_in_order_is_used_again_when_it_is_back() -> None:
    """It is connected beside the completions of the second, which wait for nothing."""
    first = Fake("a", BackendUnavailable("gone"))
    second = Fake("b")
    second.may_connect.clear()
    backend = Endpoints([endpoint(first), endpoint(second)])
    completion = asyncio.create_task(backend.complete(REQUEST))
    await asyncio.sleep(0.1)
    before = backend.state.cause
    assert backend.state.health is Health.UNKNOWN  # the second may serve soon
    second.may_connect.set()
    assert (await completion).text == "b"
    assert backend.state.message == "gone; b is used meanwhile"
    assert backend.state.cause == before == "a unavailable"
    first.error = None
    first.may_connect.clear()

    async def is_tried() -> bool:
        assert (await backend.complete(REQUEST)).text == "b"
        return first.n_connects == 2

    await until(is_tried)
    first.may_connect.set()

    while (await backend.complete(REQUEST)).text != "a":
        await asyncio.sleep(0)
    assert (first.n_connects, backend.state.message) == (2, "")
    await backend.aclose()


async def test_where_none_serves_the_trouble_of_each_is_told() -> None:
    """Also where the user has to change something for one of them only; once all were tried."""
    wrong = Fake("a", BackendUnusable("the certificate has expired"))
    gone = Fake("b", BackendUnavailable("gone"))
    gone.may_connect.clear()
    endpoints = [endpoint(wrong), endpoint(gone)]
    backend = Endpoints(endpoints)
    asked = asyncio.create_task(backend.complete(REQUEST))

    async def has_failed() -> bool:
        assert backend.state.health is Health.UNKNOWN
        return endpoints[0].error is not None and gone.n_connects == 1

    await until(has_failed)
    gone.may_connect.set()
    with pytest.raises(BackendUnusable):
        await asked
    assert backend.state.message == "the certificate has expired; gone"
    await backend.aclose()


async def test_a_server_that_fails_rests_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a quarter of a second to four; a completion ends that."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    server = endpoint(Fake("a"))
    rests = []
    for _ in range(9):
        server.note_failure(BackendUnavailable("gone"), at_work=False)
        began = now
        while time.monotonic() < server.rests_until:
            now += 0.01
        rests.append(now - began)
    assert 0.1 < rests[0] < 0.3
    assert 2 <= rests[-1] < 4.1
    server.note_success()
    server.note_failure(BackendUnavailable("gone"), at_work=False)
    now += 0.3
    assert time.monotonic() >= server.rests_until


async def test_others_on_this_machine_are_asked_only_where_the_named_one_is_not_quick() -> None:
    """A server that the user named and that answers is the only one that hears of us."""
    named = Fake("named")
    found = Fake("found")
    last = Fake("last")
    unnamed = endpoint(found, named=False), endpoint(last, last=True)
    endpoints = [endpoint(named, strict=True), *unnamed]
    backend = Endpoints(endpoints)
    assert (await backend.complete(REQUEST)).text == "named"
    assert (found.n_connects, last.n_connects) == (0, 0)
    named.error = BackendUnavailable("gone")
    endpoints[0].note_failure(named.error, at_work=False)
    assert (await backend.complete(REQUEST)).text == "found"
    assert last.n_connects == 0
    await backend.aclose()


async def test_the_named_one_is_waited_for_where_only_usual_ports_are_left(monkeypatch) -> None:
    """It is far away and slow to connect; that another port has no server ends no completion."""
    monkeypatch.setattr(endpoints_module, "CONNECT_S", 0.0)
    named = Fake("named")
    found = Fake("found", BackendUnavailable("cannot connect"))
    named.may_connect.clear()
    backend = Endpoints([endpoint(named, strict=True), endpoint(found, named=False)])
    asked = asyncio.create_task(backend.complete(REQUEST))
    await asyncio.sleep(0.1)
    named.may_connect.set()
    assert (await asked).text == "named"
    await backend.aclose()


async def test_that_nothing_is_found_is_no_trouble_while_our_own_starts() -> None:
    """An editor without settings and a server hears nothing of ports where there is none."""
    found = Fake("found", BackendUnavailable("cannot connect"))
    last = Fake("last")
    last.may_connect.clear()
    endpoints = [endpoint(found, named=False), endpoint(last, last=True)]
    backend = Endpoints(endpoints)
    await endpoints[0].connect()  # a busy machine may be looked at before our own is begun
    assert endpoints[0].error is not None
    assert backend.state.health is Health.UNKNOWN
    asked = asyncio.create_task(backend.complete(REQUEST))
    await until(lambda: last.n_connects == 1)
    assert backend.state.health is Health.UNKNOWN
    last.may_connect.set()
    assert (await asked).text == "last"
    await backend.aclose()


async def test_where_the_named_one_is_wrong_no_other_is_used_meanwhile() -> None:
    """Not at once, and not while it is left alone after a failure, either."""
    named = Fake("named", BackendUnusable("set fim.backend.url"))
    last = Fake("last")
    backend = Endpoints([endpoint(named, strict=True), endpoint(last, last=True)])
    for _ in range(3):
        with pytest.raises(BackendUnusable, match=r"fim\.backend\.url"):
            await backend.complete(REQUEST)
    assert last.n_connects == 0
    await backend.aclose()

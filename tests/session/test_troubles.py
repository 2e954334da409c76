"""A server in trouble: what the user who types meanwhile is told of it, which is little."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import cast

import pytest

from fim_lsp.lsp.messages import Messages
from fim_lsp.lsp.rpc import LanguageServer, types
from fim_lsp.session.connection import SessionStatus
from fim_lsp.session.session import Session
from server_bridge.failover.endpoint import Endpoint, Server
from server_bridge.failover.endpoints import Endpoints
from server_bridge.http.key_refusals import Refused
from server_bridge.http.responses import ServerError
from server_bridge.protocol import (
    BackendError,
    BackendTimeout,
    BackendUnavailable,
    Health,
    Prompt,
    Reply,
    Request,
    State,
    Warmed,
)
from tests.clock import on_clock
from tests.fake_backend import FakeBackend
from tests.typist import QUICK, Typist

PATIENCE_S = 5.0  # of a request
KEY_S = 0.5  # between keys


class Troubled(FakeBackend):
    """Connects at once, or fails with *refuses*; completions fail with *error* after *seconds*."""

    def __init__(self) -> None:
        super().__init__()
        self._ready = self.state
        self.state = replace(self._ready, health=Health.UNKNOWN)
        self.error: BackendError | None = None
        self.refuses: BackendError | None = None
        self.seconds = 0.0
        self.n_asked = 0

    async def connect(self) -> Troubled:
        if self.refuses is not None:
            raise self.refuses
        self.state = self._ready
        return self

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        await self._work()
        return await super().warm(prompt, step)

    async def complete(self, request: Request) -> Reply:
        await self._work()
        return await super().complete(request)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        await self._work()
        async for reply in super().stream(request):
            yield reply

    async def disconnect(self) -> None:
        await super().aclose()
        self.state = replace(self._ready, health=Health.UNKNOWN)

    aclose = disconnect

    async def _work(self) -> None:
        self.n_asked += 1
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error


class Member:
    """State: a session on a server that may be troubled, what it showed, and the states it told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = Troubled()
        backend = Endpoints([Endpoint(cast("Server", self.server))])
        self.session = Session(QUICK, lambda _: backend)
        shown = LanguageServer("fim-lsp", "0", types.NotebookDocumentSyncOptions([]))
        self.messages: list[str] = []
        show = lambda params: self.messages.append(params.message)  # noqa: E731
        monkeypatch.setattr(shown, "window_show_message", show)
        messages = Messages(shown)
        self.states: list[State] = []

        def on_status(status: SessionStatus) -> None:
            self.states.append(status.state)
            messages.show_status(status, notify=False)

        self.session.on_status = on_status
        self.typist = Typist(self.session, "def total(items):\n    ")

    async def types(self, seconds: float) -> int:
        """Type for so long; how often there was a suggestion."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        n_shown = 0
        while loop.time() < end:
            self.typist.type("x")
            n_shown += bool(await self.typist.ask(invoked=False))
            await asyncio.sleep(KEY_S)
        return n_shown

    @property
    def health(self) -> list[Health]:
        return [state.health for state in self.states]


def slow(server: Troubled, *, is_slow: bool) -> None:
    server.seconds = PATIENCE_S if is_slow else 0.0
    server.error = BackendTimeout("it did not answer in time") if is_slow else None


@on_clock
async def test_a_slow_server_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers at once which model it has, and no completion in time: one message in a minute, two states."""
    member = Member(monkeypatch)
    await member.types(2)
    slow(member.server, is_slow=True)
    before = len(member.states)
    n_asked = member.server.n_asked
    await member.types(60)
    assert member.messages == ["it did not answer in time"]
    assert member.health[before:] == [Health.DOWN]
    assert member.server.n_asked - n_asked < 15
    slow(member.server, is_slow=False)
    await member.types(20)
    assert member.health[before:] == [Health.DOWN, Health.READY]
    assert len(member.messages) == 1
    await member.session.aclose()


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (Refused("/v1/completions refused the key"), Refused("/v1/models refused the key")),
        (ServerError("/v1/completions answered 500"), ServerError("/v1/models answered 500")),
        (BackendUnavailable("closed the connection"), BackendUnavailable("cannot connect")),
        (BackendUnavailable("closed the connection"), ServerError("/v1/models answered 502")),
    ],
)
@on_clock
async def test_what_is_over_is_not_told_again(first: BackendError, then: BackendError, monkeypatch):
    """A key that is revoked and given back, a replica or a router that is started again: one message."""
    member = Member(monkeypatch)
    server = member.server
    await member.types(2)
    server.error = first
    await member.types(1)
    server.refuses = then
    await member.types(10)
    server.refuses = None  # and completions fail for a moment more
    await member.types(3)
    server.error = None
    await member.types(20)
    assert member.messages == [str(first)]
    assert member.health[-1] is Health.READY
    await member.session.aclose()


@on_clock
async def test_after_a_step_ahead_that_failed_the_status_is_true_without_a_key(monkeypatch):
    """The user reads on where nothing is asked for: gone while the server is, ready 4 s after it is back."""
    member = Member(monkeypatch)
    server = member.server
    lane = member.session._lane
    await member.types(2)
    server.error = server.refuses = BackendUnavailable("closed the connection")

    async def step() -> bool:
        model = await lane.model(lambda _: None)
        return (await model.warm(Prompt("r", (), "p", "x", ""), 1)).left > 0

    lane.background("prefill next", step)
    await asyncio.sleep(20)
    gone = member.health[-1]
    server.error = server.refuses = None
    await asyncio.sleep(4)
    assert (gone, member.health[-1]) == (Health.DOWN, Health.READY)
    await member.session.aclose()


@on_clock
async def test_the_request_after_an_engine_died_is_asked_again(monkeypatch: pytest.MonkeyPatch):
    """It is started at once, so the user gets the suggestion, and no message."""

    class Dying(Troubled):
        async def _work(self) -> None:
            if self.error is not None:
                error = self.error
                self.error = None
                self.state = replace(self._ready, health=Health.DOWN, kind="embedded")
                raise error

    monkeypatch.setitem(globals(), "Troubled", Dying)
    member = Member(monkeypatch)
    await member.types(2)
    member.server.error = BackendUnavailable("the engine ended")
    member.typist.type("\n    price")
    assert await member.typist.ask(invoked=True)
    assert member.messages == []
    await member.session.aclose()


@on_clock
async def test_a_backend_that_fails_in_its_own_way_is_waited_for_a_while() -> None:
    """An error that no backend may raise: the request ends, and the start is tried now and then."""
    n_tried = 0

    class Broken(FakeBackend):
        async def connect(self) -> Broken:
            nonlocal n_tried
            n_tried += 1
            raise ZeroDivisionError

    backend = Broken()
    backend.state = replace(backend.state, health=Health.UNKNOWN)
    session = Session(QUICK, lambda _: backend)
    typist = Typist(session, "def total(items):\n    ")
    answer = await session.complete(typist.uri, typist.cursor, invoked=False)
    assert not answer.suggestions
    assert " " in answer.end.words
    await session.aclose()
    assert 1 < n_tried < 100


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.7, [Health.DOWN, Health.READY]),  # that of one start says nothing of the next
        (1.5, [Health.LOADING, Health.DOWN, Health.LOADING, Health.READY]),
    ],
)
@on_clock
async def test_a_start_is_told_of_where_it_takes_long(seconds: float, told: list[Health]) -> None:
    """A server that fails once, and starts at the second try: the status does not flicker."""

    class Starting(Troubled):
        async def connect(self) -> Troubled:
            self.state = replace(self._ready, health=Health.LOADING)
            await asyncio.sleep(seconds)
            self.n_asked += 1
            if self.n_asked == 1:
                self.state = replace(self._ready, health=Health.DOWN)
                raise BackendUnavailable("it ended")
            return await super().connect()

    session = Session(QUICK, lambda _: Starting())
    states: list[Health] = []
    session.on_status = lambda status: states.append(status.state.health)
    session.start_connecting()
    await asyncio.sleep(10)
    await session.aclose()
    assert states == told

"""What is evaluated while the user rests: what the next request wants, and that once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session.connection import RETRY_S
from fim_lsp.session.prefill import IDLE_S, TRIES
from fim_lsp.session.session import Session
from fim_lsp.settings.config import RingConfig
from server_bridge.protocol import BackendUnavailable, Health, Measure, Prompt, Warmed
from tests.clock import on_clock
from tests.fake_backend import FakeBackend
from tests.real_code import LONG, OTHER, read_code, read_lines
from tests.session.conftest import OpenSession
from tests.typist import QUICK, ROOT, Typist

CODE = read_lines(LONG, 0, 310)
SECOND = read_code(OTHER)  # one file has a third of the ring at most
FEW = 24  # tokens


async def test_the_first_rest_evaluates_the_window_after_its_chunks(open_session: OpenSession):
    """Chunks are chosen for the window that the next request gets, so the window is not evaluated twice."""
    session = open_session()
    Typist(session, SECOND, f"{ROOT}/app/till.py")
    typist = Typist(session, CODE)
    typist.type("\n")
    await typist.ask()
    await session.wait_idle()
    background = typist.counted("tokens", "background")
    assert typist.counted("ring", "chunks") > 1
    for key in "x = ":
        typist.type(key)
        await typist.ask()
        await session.wait_idle()
    assert typist.counted("tokens", "background") - background <= FEW


async def test_the_ring_has_the_size_of_the_settings(open_session: OpenSession) -> None:
    """Chunks and their lines as configured."""
    session = open_session(replace(QUICK, ring=RingConfig(chunks=7, chunk_lines=32)))
    typist = Typist(session, CODE)
    await typist.ask()
    await session.wait_idle()
    [workspace] = session._workspaces
    limits = workspace.memory._limits
    assert (limits.n_chunks, limits.chunk_lines) == (7, 32)


@pytest.mark.parametrize("n_chunks", [0, 1])
async def test_a_smaller_ring_counts_at_once(open_session: OpenSession, n_chunks: int) -> None:
    """The next prompt has no more chunks than the settings of now say, nor has what is evaluated ahead."""
    backend = FakeBackend()
    session = open_session(backend=backend)
    Typist(session, SECOND, f"{ROOT}/app/till.py")
    typist = Typist(session, CODE)
    await typist.ask()
    await session.wait_idle()
    typist.type("\n")
    await typist.ask()
    assert len(backend.seen[-1].prompt.chunks) > 1
    session.configure(replace(QUICK, ring=RingConfig(chunks=n_chunks)))
    for key in ("x", "\n"):
        before = len(backend.warmed)
        typist.type(key)
        await typist.ask(invoked=True)
        await session.wait_idle()
        shown = [backend.seen[-1].prompt, *backend.warmed[before:]]
        assert max(len(prompt.chunks) for prompt in shown) == n_chunks


async def test_a_file_that_is_judged_late_is_evaluated_ahead_all_the_same(
    open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the user came to it before the verdict, and then rests."""
    session = open_session()
    judge = session._workspaces.verdicts.find
    may_end = asyncio.Event()

    async def judge_late(*what: Any) -> Any:
        await may_end.wait()
        return await judge(*what)

    monkeypatch.setattr(session._workspaces.verdicts, "find", judge_late)
    typist = Typist(session, CODE)
    session.handle(events.CursorMoved(typist.uri, Position(40, 0)))
    await asyncio.sleep(2 * IDLE_S)
    may_end.set()
    await asyncio.sleep(2 * IDLE_S)
    await session.wait_idle()
    assert typist.counted("tokens", "background") > FEW


class Loading(FakeBackend):
    """A model that is loaded at the time *at* of the loop."""

    def __init__(self, at: float) -> None:
        super().__init__()
        self._at = at
        self.state = replace(self.state, health=Health.LOADING)

    async def connect(self) -> FakeBackend:
        if asyncio.get_running_loop().time() < self._at:
            raise BackendUnavailable("it loads")
        self.state = replace(self.state, health=Health.READY)
        return self


@pytest.mark.parametrize("seconds", [1.0, 180.0, 3600.0])
@on_clock
async def test_a_model_that_loads_for_long_is_used_at_once(seconds: float) -> None:
    """What the next request wants is evaluated when it is there, however long that took."""
    backend = Loading(seconds)
    session = Session(QUICK, lambda _: backend)
    typist = Typist(session, CODE)
    session.handle(events.CursorMoved(typist.uri, Position(40, 0)))
    await asyncio.sleep(seconds + RETRY_S[-1] + 2 * IDLE_S)
    assert typist.counted("tokens", "background") > FEW
    await session.aclose()


class Failing(FakeBackend):
    """A server that is reached, and fails at each prompt; or it is away."""

    is_sick = False
    is_away = False

    async def connect(self) -> FakeBackend:
        if self.is_away and not self.state.is_ready:
            raise BackendUnavailable("it is away")
        self.state = replace(self.state, health=Health.READY)
        return self

    async def measure(self, prompt: Prompt) -> Measure:
        if self.is_sick or self.is_away:
            self.state = replace(self.state, health=Health.DOWN)
            raise BackendUnavailable("it fails")
        return await super().measure(prompt)


@on_clock
async def test_a_server_that_comes_back_is_asked_ahead_however_often_it_failed_before() -> None:
    """Where the user moved the cursor while it was away, and rests."""
    backend = Failing()
    session = Session(QUICK, lambda _: backend)
    typist = Typist(session, CODE)
    await session.wait_idle()
    backend.is_sick = True
    session.handle(events.CursorMoved(typist.uri, Position(40, 0)))
    await asyncio.sleep(2 * TRIES * IDLE_S)
    before = typist.counted("tokens", "background")
    backend.is_sick = False
    backend.is_away = True
    session.handle(events.CursorMoved(typist.uri, Position(80, 0)))
    await asyncio.sleep(2 * IDLE_S)
    backend.is_away = False
    await asyncio.sleep(RETRY_S[-1] + 2 * IDLE_S)
    assert typist.counted("tokens", "background") > before + FEW
    await session.aclose()


class Slow(FakeBackend):
    """A model that evaluates as many tokens in a second as Qwen2.5-Coder 0.5B on two threads."""

    def __init__(self) -> None:
        super().__init__()
        self.state = replace(self.state, prefill_per_s=180.0)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        warmed = await super().warm(prompt, step)
        await asyncio.sleep(warmed.evaluated / self.state.prefill_per_s)
        return warmed


@pytest.mark.parametrize("line", [122, 235])
@pytest.mark.parametrize("key", ["i", "A", "o"])
@on_clock
async def test_after_a_rest_little_is_evaluated_where_a_line_ends(key: str, line: int) -> None:
    """Five seconds in normal mode within a line, near where the user wrote, and far away."""
    session = Session(QUICK, lambda _: Slow())
    typist = Typist(session, CODE)
    typist.cursor = Position(100, len(typist.document.lines[100]) - 1)
    typist.type("\n        x = 1")
    await typist.ask()
    await asyncio.sleep(2.0)
    text = typist.document.lines[line].rstrip("\n")
    end = Position(line, len(text))
    place = Position(line, end.column - 1 if key == "i" else end.column // 2)
    session.handle(events.CursorMoved(typist.uri, place))
    await asyncio.sleep(5.0)
    before = typist.counted("tokens", "evaluated")
    typist.cursor = place if key == "i" else end
    if key == "o":
        typist.type("\n" + text[: len(text) - len(text.lstrip())])
    typist.type("x")
    await typist.ask()
    assert typist.counted("tokens", "evaluated") - before <= 8
    await session.aclose()


async def evaluated_ahead(*, looks: bool) -> int:
    """Return how much is evaluated ahead, with a report each second where the model worked."""
    session = Session(QUICK, lambda _: Slow())
    typist = Typist(session, CODE)
    before = 0
    session.handle(events.CursorMoved(typist.uri, Position(150, 0)))
    loop = asyncio.get_running_loop()
    began = loop.time()
    for at in range(1, 12):
        await asyncio.sleep(began + at - loop.time())
        if looks and before != (before := typist.counted("warmSteps")):
            await session.report(typist.uri)  # which may wait for a step
    await asyncio.sleep(began + 12 - loop.time())
    n_tokens = typist.counted("tokens", "background")
    await session.aclose()
    return n_tokens


@on_clock
async def test_looking_is_no_work() -> None:
    """A page that is open beside the editor slows nothing of what is evaluated ahead."""
    assert await evaluated_ahead(looks=True) == await evaluated_ahead(looks=False) > 900


@pytest.mark.promise("secrets-are-replaced")
async def test_a_secret_in_the_name_of_a_file_silences_nothing(
    open_session: OpenSession, backend: FakeBackend
) -> None:
    """Prompts are answered, without its code."""
    session = open_session(backend=backend)
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    Typist(session, SECOND, f"{ROOT}/app/{key}.py")
    typist = Typist(session, CODE)
    typist.type("\n")
    await typist.ask()
    await session.wait_idle()
    typist.type("def area(")
    assert await typist.ask(invoked=True)
    assert {chunk.name for chunk in backend.seen[-1].prompt.chunks} == {"app/cart.py"}
    assert key not in repr([*backend.seen, *backend.warmed])

"""What is evaluated before the first key: a window that grows in rungs while the cursor rests."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.prompt.window import BY_HAND_S, FIRST_S
from fim_lsp.session.prefill import IDLE_S
from fim_lsp.session.session import Session
from server_bridge.protocol import Prompt
from tests.clock import on_clock
from tests.fake_backend import FakeBackend
from tests.real_code import LONG, read_lines
from tests.typist import QUICK, Typist, wait_judged

CODE = read_lines(LONG, 0, 600)
FEW = 8  # tokens: the word at the cursor
QUICKLY, SLOWLY = 1e6, 300.0  # tokens per second


def at_rest(
    session: Session, backend: FakeBackend, per_s: float = QUICKLY, code: str = CODE
) -> Typist:
    """Return a user who has just opened a file, where the model evaluates *per_s* tokens."""
    backend.state = dataclasses.replace(backend.state, prefill_per_s=per_s)
    return Typist(session, code)


async def rest(typist: Typist) -> None:
    """The cursor comes to rest where it is."""
    typist.session.handle(events.CursorMoved(typist.uri, typist.cursor))
    await wait_judged(typist.session)


def size(prompt: Prompt) -> int:
    """Return characters of its window."""
    return len(prompt.prefix) + len(prompt.suffix)


@on_clock
async def test_the_prompt_that_is_shown_is_that_of_a_request() -> None:
    """Right after an answer all of it is evaluated, though a larger one is prepared by then."""
    backend = FakeBackend()
    typist = at_rest(Session(QUICK, lambda _: backend), backend, SLOWLY)
    typist.cursor = Position(300, 0)
    await typist.ask(invoked=True)
    await asyncio.sleep(IDLE_S + 0.1)
    shown = await typist.session.report(typist.uri)
    await typist.session.aclose()
    n_tokens = sum(part.tokens or 0 for part in shown.segments)
    assert n_tokens - shown.cached <= FEW, shown.note


async def test_rungs_are_few_and_cost_little_together(session: Session, backend: FakeBackend):
    """From a small window to the largest; each is in use before the next one is begun."""
    typist = at_rest(session, backend)
    typist.cursor = Position(300, 0)
    await rest(typist)
    await typist.session.wait_idle()
    rungs = [prompt for prompt in backend.warmed if not prompt.aside]
    sizes = [*dict.fromkeys(map(size, rungs))]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 4 * sizes[0]
    assert all(larger <= 5.2 * smaller for smaller, larger in itertools.pairwise(sizes))
    largest = (await backend.measure(backend.warmed[-1])).total
    assert typist.counted("tokens", "background") <= 1.8 * largest


@pytest.mark.parametrize("times", [1, 15])
@on_clock
async def test_the_largest_window_is_evaluated_once(times: int) -> None:
    """Behind the chunks, in a file of 9,000 lines as in one of 600, by a slow machine."""
    backend = FakeBackend(n_ctx=8192)
    typist = at_rest(Session(QUICK, lambda _: backend), backend, 130.0, CODE * times)
    typist.cursor = Position(300 * times, 0)
    await rest(typist)
    await typist.session.wait_idle()
    prompts = [prompt for prompt in backend.warmed if not prompt.aside]
    largest = max(map(size, prompts))
    assert {bool(prompt.chunks) for prompt in prompts if size(prompt) == largest} == {True}
    whole = (await backend.measure(prompts[-1])).total
    assert typist.counted("tokens", "background") <= 1.4 * whole
    await typist.session.aclose()


def seconds_told(typist: Typist) -> list[int]:
    """Return what the session tells of its first look, from now on."""
    told: list[int] = []
    connection = typist.session.connection

    def on_status() -> None:
        if connection.look_s != (told[-1] if told else 0):
            told.append(connection.look_s)

    connection._on_status = on_status
    return told


@pytest.mark.parametrize(("per_s", "is_told"), [(20.0, True), (QUICKLY, False)])
async def test_a_first_look_says_how_long_it_takes(
    session: Session, backend: FakeBackend, per_s: float, *, is_told: bool
) -> None:
    """Fewer seconds after each step, then none; nothing of a look that is over within a second."""
    typist = at_rest(session, backend, per_s)
    told = seconds_told(typist)
    await typist.ask(invoked=True)
    assert bool(told) is is_told
    assert told == sorted({*told}, reverse=True)
    assert not told or (told[0] > 2 and told[-1] == 0)


async def test_a_look_that_is_left_is_not_told_for_ever(
    session: Session, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user closed the file before it was read."""
    monkeypatch.setattr("fim_lsp.session.connection.LOOK_ENDS_S", 0.01)
    typist = at_rest(session, backend, 20.0)
    told = seconds_told(typist)
    typist.session.connection.note_first_look(100)
    async with asyncio.timeout(60):
        while told[-1]:
            await asyncio.sleep(0)
    assert told == [5, 0]


@pytest.mark.parametrize(("rest_s", "rungs"), [(0.2, 0), (1.2, 1)])
@on_clock
async def test_a_rung_waits_for_a_rest_as_long_as_it_takes(rest_s: float, rungs: int) -> None:
    """Who only looks around does not keep the fan busy."""
    backend = FakeBackend()
    typist = at_rest(Session(QUICK, lambda _: backend), backend, SLOWLY)
    await rest(typist)
    await asyncio.sleep(rest_s)
    assert len({*map(size, backend.warmed)}) == rungs
    await typist.session.aclose()


async def test_by_hand_more_is_shown(session: Session, backend: FakeBackend) -> None:
    """A user who asks waits longer, also where a small window was evaluated before."""
    typist = at_rest(session, backend, SLOWLY)
    typist.cursor = Position(300, len(typist.document.lines[300].rstrip("\n")))
    typist.type("\n        total = pri")
    await typist.ask()
    automatic = backend.seen[-1].prompt
    typist.type("ce + shi")
    await typist.ask(invoked=True)
    assert size(backend.seen[-1].prompt) > 1.8 * size(automatic)
    assert typist.counted("tokens", "evaluated") <= 1.3 * SLOWLY * (FIRST_S + BY_HAND_S)


async def test_by_hand_a_line_more_is_not_evaluated_for(session: Session, backend: FakeBackend):
    """What was evaluated serves, where the server turns out to be a little faster."""
    typist = at_rest(session, backend, SLOWLY)
    typist.cursor = Position(300, len(typist.document.lines[300].rstrip("\n")))
    typist.type("\n        total = pri")
    await typist.ask(invoked=True)
    before = typist.counted("tokens", "evaluated")
    n_asked = len(backend.seen)
    backend.state = dataclasses.replace(backend.state, prefill_per_s=SLOWLY * 1.15)
    typist.type("zzz")
    await typist.ask(invoked=True)
    assert len(backend.seen) > n_asked
    assert typist.counted("tokens", "evaluated") <= before + FEW

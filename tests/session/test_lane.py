"""The way to the model: steps that end whatever the server says, and permits that are asked at each call."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import itertools
from collections.abc import Callable, Iterator

import pytest

from fim_lsp.session.connection import Connection
from fim_lsp.session.lane import SEAMS, TWICE, Lane, Withdrawn
from fim_lsp.settings.config import Config
from server_bridge.protocol import Measure, Prompt, Reply, Request, Stop, Timings, Warmed
from tests.fake_backend import FakeBackend

PROMPT = Prompt("shop", (), "a.py", "x = 1\n" * 400, "")
TOTAL, STEP = 1000, 50  # tokens
pytestmark = [
    pytest.mark.promise("answers-are-bounded"),
    pytest.mark.promise("rules-act-at-once"),
]


class Odd(FakeBackend):
    """It says of its cache what it is told to, and counts the steps."""

    def __init__(self, cached: Iterator[int], evaluated: int = STEP) -> None:
        super().__init__()
        self.state = dataclasses.replace(self.state, prefill_per_s=200.0)
        self.cached = cached
        self.evaluated = evaluated
        self.n_steps = 0

    async def measure(self, prompt: Prompt) -> Measure:
        return Measure(TOTAL, next(self.cached), 0, (), 0, TOTAL, 0, 0)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        self.n_steps += 1
        return Warmed(self.evaluated, TOTAL)


class Permission:
    """A permit for so many checks."""

    def __init__(self, n_checks: float = float("inf")) -> None:
        self.n_checks = n_checks

    def __call__(self, prompt: Prompt) -> None:
        self.n_checks -= 1
        if self.n_checks < 0:
            raise Withdrawn("it is over")


def lane_to(backend: FakeBackend, *kinds: str) -> Lane:
    async def note_shown(*_: object) -> None:
        """It shares no engine."""

    connection = Connection(
        Config(),
        lambda _: backend,
        on_status=lambda: None,
        on_ready=lambda _: None,
        on_show=note_shown,
    )
    return Lane(connection, kinds)


@pytest.mark.parametrize(
    "cached",
    [
        itertools.repeat(0), itertools.repeat(-100), itertools.repeat(-(10**9)),
        itertools.cycle([0, 900, 0, 400]), itertools.count(0, -10),
    ],
    ids=["nothing", "negative", "very negative", "changes", "less and less"],
)  # fmt: skip
async def test_the_steps_end_whatever_is_said_of_the_cache(cached: Iterator[int]) -> None:
    """They take twice the tokens of the prompt at most, and others run between them."""
    backend = Odd(cached)
    n_turns = 0

    async def others() -> None:
        nonlocal n_turns
        while True:
            n_turns += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(others())
    evaluated = await lane_to(backend).evaluate(Permission(), PROMPT)
    running.cancel()
    assert backend.n_steps <= TWICE * TOTAL / STEP
    assert evaluated <= TWICE * TOTAL
    assert n_turns >= backend.n_steps


@pytest.mark.parametrize("evaluated", [1, 7, STEP, 3 * TOTAL])
async def test_background_steps_end_whatever_is_said_of_them(evaluated: int) -> None:
    """By their number, too, until the user does something; then it is tried again."""
    backend = Odd(itertools.repeat(0), evaluated)
    lane = lane_to(backend, "prefill")
    most = TWICE * (TOTAL // STEP + SEAMS)

    async def step() -> bool:
        model = await lane.model(Permission())
        return (await lane.ahead("prefill", PROMPT, model)).left > 0

    async def count_steps(leave: Callable[..., None]) -> int:
        backend.n_steps = 0
        leave("prefill", step, delay=0.0)
        await lane.wait_idle()
        return backend.n_steps

    assert 0 < await count_steps(lane.background) <= most
    assert await count_steps(lane.again) <= 1  # in all there are no more
    assert 0 < await count_steps(lane.background) <= most


async def test_what_was_spent_on_a_prompt_keeps_none_of_its_text() -> None:
    """A document that was closed, or is private now, is not held for the number of its steps."""
    lane = lane_to(Odd(itertools.repeat(0)))
    prompt = dataclasses.replace(PROMPT)
    await lane.ahead("prefill", prompt, await lane.model(Permission()))
    assert not [holder for holder in gc.get_referrers(prompt) if isinstance(holder, dict)]


async def test_what_is_left_for_the_request_makes_no_step() -> None:
    """Less than a step; and after the end of the session there is none."""
    backend = Odd(itertools.repeat(TOTAL - STEP))
    lane = lane_to(backend)
    assert await lane.evaluate(Permission(), PROMPT) == 0
    await lane.aclose()
    with pytest.raises(Withdrawn, match="the session ends"):
        await lane.evaluate(Permission(), PROMPT)
    assert backend.n_steps == 0


async def write_beside_a_step(backend: FakeBackend, *, can_rest: bool) -> None:
    """Have a text written; a step waits for the model as soon as its first piece has come."""
    lane = lane_to(backend)
    waiting = list[asyncio.Task[None]]()

    async def look(_: object) -> None:
        pass

    def take(_: Reply) -> bool:
        if not waiting:
            waiting.append(asyncio.create_task(lane.run(Permission(), look)))
        return True

    await lane.write(Permission(), Request(PROMPT, 16), take, lambda: can_rest)
    await waiting[0]


@pytest.mark.parametrize("can_rest", [False, True])
async def test_a_stream_makes_way_where_its_rest_can_be_asked_for(*, can_rest: bool) -> None:
    """For a step that waits; then it is asked for, in another request."""
    backend = FakeBackend()
    await write_beside_a_step(backend, can_rest=can_rest)
    assert len(backend.seen) == 1 + can_rest


async def test_a_text_that_has_ended_is_not_gone_on_with() -> None:
    """Where a step waits when its last piece comes."""
    n_asked = 0

    class Ending(FakeBackend):
        async def stream(self, request: Request):
            nonlocal n_asked
            n_asked += 1
            for stop in (Stop.LIMIT, Stop.END):
                await asyncio.sleep(0.01)
                yield Reply("x", (), (), stop, Timings(predicted_n=1))

    await write_beside_a_step(Ending(), can_rest=True)
    assert n_asked == 1


async def test_a_step_that_brings_nothing_is_the_last() -> None:
    """A server that evaluates no step of a prompt evaluates it with the request for text."""
    backend = Odd(itertools.repeat(0), evaluated=0)
    assert await lane_to(backend).evaluate(Permission(), PROMPT) == 0
    assert backend.n_steps == 1


@pytest.mark.parametrize("n_checks", range(4))
async def test_each_call_asks_the_permit(n_checks: int) -> None:
    """Not only the first: what a permit is for may end between two calls."""
    backend = Odd(itertools.repeat(0))
    with pytest.raises(Withdrawn):
        await lane_to(backend).evaluate(Permission(n_checks), PROMPT)
    assert backend.n_steps == n_checks // 2


async def test_a_stream_ends_with_its_permit() -> None:
    """After each piece it is asked again."""
    pieces: list[str] = []

    def take(reply: Reply) -> bool:
        pieces.append(reply.text)
        return True

    request = Request(PROMPT, 64)
    with pytest.raises(Withdrawn):
        await lane_to(FakeBackend()).write(Permission(3), request, take)
    assert len(pieces) == 2


@pytest.mark.promise("edits-can-be-undone")
async def test_a_server_that_does_not_stop_is_left() -> None:
    """It writes more tokens than were asked for."""
    n_pieces = 0

    class Endless(FakeBackend):
        async def stream(self, request: Request):
            while True:
                yield Reply("x", (), (), Stop.LIMIT, Timings(predicted_n=1))

    def take(_: Reply) -> bool:
        nonlocal n_pieces
        n_pieces += 1
        return True

    await lane_to(Endless()).write(Permission(), Request(PROMPT, 8), take)
    assert 8 <= n_pieces < 400

"""Learning which suggestions the user wants never makes the model do more for the same keys."""

from __future__ import annotations

import asyncio
import random
import selectors
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from fim_lsp.quiet import worth
from fim_lsp.session.session import Session
from fim_lsp.settings.config import RingConfig
from server_bridge.protocol import Reply, Request
from tests.fake_backend import CORPUS, FakeBackend
from tests.typist import QUICK, Typist

N_HISTORIES = 16
N_KEYS = 40
ROUNDING = (
    1.03  # of one history: a stream that begins a moment later is closed a token earlier or later
)
TOKEN_S = 0.02  # of the model, so that keys come while it writes
RESTS_S = (0.06, 0.1, 0.3, 1.5)  # between two keys


class Clock(selectors.DefaultSelector):
    """A selector that does not wait: *now* is the time when the next timer is due."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(timeout and 0)


class Loop(asyncio.SelectorEventLoop):
    """An event loop on that clock and without threads, so that the same keys always do the same."""

    def __init__(self) -> None:
        self._clock = Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(  # type: ignore[override]
        self, _: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = self.create_future()
        future.set_result(func(*args))
        return future


class Writing(FakeBackend):
    """It takes its time for each token."""

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        async for reply in super().stream(request):
            await asyncio.sleep(TOKEN_S)
            yield reply


class Typed(NamedTuple):
    """What keys cost: requests for text, tokens that the model wrote, and all that it computed; suggestions hidden."""

    requests: int
    written: int
    computed: int
    n_hidden: int


async def typed(seed: int, *, learn: bool) -> Typed:
    """Return the keys of *seed*, and what the user says of what is shown: keys do not depend on it."""
    rng = random.Random(seed)
    completion = replace(QUICK.completion, learn=learn, min_confidence=0.001, debounce_ms=None)
    config = replace(QUICK, completion=completion, ring=RingConfig(files=False))
    backend = Writing()
    backend.state = replace(backend.state, decode_ms=TOKEN_S * 1000)
    session = Session(config, lambda _: backend)
    await session.connection.wait_ready()
    session.quiet.record = history(rng)
    typist = Typist(session, CORPUS[: CORPUS.index("    def total")])
    at = len(typist.text)
    for _ in range(N_KEYS):
        asking = asyncio.create_task(typist.ask())
        await asyncio.sleep(rng.choice(RESTS_S))
        says_no, goes_on, other = rng.random() < 0.3, rng.random() < 0.9, rng.choice("x(\n ")
        if says_no and asking.done():
            session.dismiss(typist.uri)
        asking.cancel()
        await asyncio.wait([asking])
        n = rng.choice((1, 1, 1, 1, 4, 12)) if goes_on else 0
        typist.type(CORPUS[at : at + n] if goes_on else other)
        at = (at + n) % (len(CORPUS) - 12)
    await session.wait_idle()
    evaluated, background, written = (
        typist.counted("tokens", name) for name in ("evaluated", "background", "predicted")
    )
    await session.aclose()
    return Typed(
        len(backend.seen), written, evaluated + background + written, session.quiet.n_hidden
    )


def history(rng: random.Random) -> worth.Record:
    """Return what was learned of some suggestions, which a user of some taste took or left."""
    record, taste = worth.Record(), rng.random()
    for _ in range(rng.randrange(300)):
        place = worth.Place(
            "python", rng.random(), rng.randrange(1, 90), rng.randrange(1, 4), " x", rng.random()
        )
        record = worth.learn(record, place, taken=rng.random() < taste)
    return record


def run(seed: int, monkeypatch: pytest.MonkeyPatch, *, learn: bool) -> Typed:
    with asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        monkeypatch.setattr(time, "perf_counter", loop.time)
        monkeypatch.setattr(time, "monotonic", loop.time)
        return runner.run(typed(seed, learn=learn))


def test_nothing_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With every history no more requests, and of tokens written and computed no more than `ROUNDING`; fewer of each in the sum.

    A token that is typed is evaluated once, or was written before: so there may be more of the one and fewer of the other.
    """
    learning, without = (
        [run(seed, monkeypatch, learn=learn) for seed in range(N_HISTORIES)]
        for learn in (True, False)
    )
    for one, other in zip(learning, without, strict=True):
        assert one.requests <= other.requests
        assert one.written <= other.written * ROUNDING
        assert one.computed <= other.computed * ROUNDING
    for name in ("requests", "written", "computed"):
        assert sum(getattr(each, name) for each in learning) < sum(getattr(each, name) for each in without)  # fmt: skip
    assert sum(each.n_hidden for each in learning) > N_HISTORIES
    assert not sum(each.n_hidden for each in without)

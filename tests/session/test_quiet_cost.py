"""Learning which suggestions the user wants never makes the model do more for the same keys."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import NamedTuple

import pytest

from fim_lsp.events import Dismissed
from fim_lsp.session.session import Session
from fim_lsp.settings.config import RingConfig
from fim_lsp.suggest import worth
from server_bridge.protocol import Reply, Request
from tests.clock import run
from tests.fake_backend import CORPUS, FakeBackend
from tests.typist import QUICK, Typist

N_HISTORIES = 16
N_KEYS = 40
ROUNDING = (
    1.03  # of one history: a stream that begins a moment later is closed a token earlier or later
)
TOKEN_S = 0.02  # of the model, so that keys come while it writes
RESTS_S = (0.06, 0.1, 0.3, 1.5)  # between two keys


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
            session.handle(Dismissed(typist.uri))
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
        place = worth.Prospect(
            "python", rng.random(), rng.randrange(1, 90), rng.randrange(1, 4), " x", rng.random()
        )
        record = worth.learn(record, place, taken=rng.random() < taste)
    return record


def test_nothing_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With every history no more requests, and of tokens written and computed no more than `ROUNDING`; fewer of each in the sum.

    A token that is typed is evaluated once, or was written before: so there may be more of the one and fewer of the other.
    """
    learning, without = (
        [run(typed(seed, learn=learn), monkeypatch) for seed in range(N_HISTORIES)]
        for learn in (True, False)
    )
    for one, other in zip(learning, without, strict=True):
        assert one.requests <= other.requests
        assert one.written <= other.written * ROUNDING
        assert one.computed <= other.computed * ROUNDING
    for name in ("requests", "written", "computed"):
        assert sum(getattr(each, name) for each in learning) < sum(
            getattr(each, name) for each in without
        )
    assert sum(each.n_hidden for each in learning) > N_HISTORIES
    assert not sum(each.n_hidden for each in without)

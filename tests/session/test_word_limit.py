"""Inside a word an editor's list may wait for an answer: it comes in time, and the work goes on."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import pytest

from fim_lsp.session.session import Session
from fim_lsp.suggest.request import MENU, Requester
from tests.clock import on_clock
from tests.fake_backend import FakeBackend
from tests.typist import QUICK, Typist

CODE = "class Cart:\n    def __init__(self, na"  # the text goes on with `me, value):`
LONG = "x = 1\n" * 400 + CODE  # evaluated in several steps
LIMIT_S = 0.6
LISTED = Requester(word_limit_s=LIMIT_S)
HOUR_S = 3600.0


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[tuple[Session, FakeBackend]]:
    """Yield a session, and its model."""
    backend = FakeBackend()
    backend.state = dataclasses.replace(backend.state, prefill_per_s=200.0)
    session = Session(QUICK, lambda _: backend)
    yield session, backend
    backend.release()
    await session.aclose()


async def ask(
    typist: Typist, client: Requester = LISTED, *, invoked: bool = False
) -> tuple[str, str, float]:
    """Return the text, the outcome and how long it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    at = (typist.uri, typist.cursor)
    answer = await typist.session.complete(*at, invoked=invoked, client=client)
    texts = [each.text for each in answer.suggestions]
    return "".join(texts[:1]), answer.end.outcome, loop.time() - began


@pytest.mark.parametrize(
    ("call", "then"), [("measure", "backend"), ("warm", "cache"), ("stream", "cache")]
)
@on_clock
async def test_an_answer_comes_in_time(call: str, then: str) -> None:
    """What is being evaluated or written goes on, and the next key has it at once."""
    async with opened() as (session, backend):
        typist = Typist(session, LONG)
        backend.hold(call)
        text, outcome, took_s = await ask(typist)
        assert (text, outcome) == ("", "slow")
        assert took_s <= LIMIT_S
        backend.release()
        await asyncio.sleep(HOUR_S)
        assert len(backend.seen) == (then == "cache")
        typist.type("m")
        text, outcome, _ = await ask(typist)
        assert (text[:1], outcome) == ("e", then)
        assert len(backend.seen) == 1


@pytest.mark.parametrize(
    ("text", "client", "invoked", "limit_s"),
    [
        (CODE, LISTED, False, LIMIT_S),
        (CODE, LISTED, True, HOUR_S),
        (CODE + "me, ", LISTED, False, HOUR_S),
        (CODE, Requester(), False, HOUR_S),
        (CODE, MENU, False, QUICK.completion.deadline_ms / 1000),
        (CODE, MENU._replace(word_limit_s=LIMIT_S), False, LIMIT_S),
    ],
    ids=["in a word", "by hand", "elsewhere", "another client", "menu", "menu in a word"],
)
@on_clock
async def test_only_inside_a_word_is_there_a_limit(
    text: str, client: Requester, invoked: bool, limit_s: float
) -> None:
    """And only in an editor whose list waits, and not for a user who asked."""
    async with opened() as (session, backend):
        backend.hold("stream")
        asked = asyncio.create_task(ask(Typist(session, text), client, invoked=invoked))
        await asyncio.sleep(limit_s if limit_s < HOUR_S else HOUR_S / 2)
        assert asked.done() == (limit_s < HOUR_S)
        asked.cancel()


@on_clock
async def test_the_sure_part_is_shown() -> None:
    """Of a text that is not whole by then, the words that are."""
    async with opened() as (session, backend):
        written = 0
        made = backend._decode

        async def one_by_one(request):
            nonlocal written
            async for reply in made(request):
                yield reply
                written += 1
                if written == 6:
                    await asyncio.sleep(HOUR_S)

        backend._decode = one_by_one  # type: ignore[method-assign]
        text, outcome, took_s = await ask(Typist(session, CODE))
        assert (text, outcome) == ("me,", "backend")
        assert took_s <= LIMIT_S


@pytest.mark.parametrize(("key", "n_requests"), [("m", 1), ("x", 2)])
@on_clock
async def test_a_cancelled_request_leaves_its_text(key: str, n_requests: int) -> None:
    """Where no change follows, the stream goes on to its end, for a key that agrees with it."""
    async with opened() as (session, backend):
        typist = Typist(session, CODE)
        backend.hold("stream")
        asked = asyncio.create_task(ask(typist, Requester()))
        await backend.until_held()
        asked.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asked
        await asyncio.sleep(HOUR_S)
        backend.release()
        await asyncio.sleep(HOUR_S)
        typist.type(key)
        _, outcome, _ = await ask(typist)
        assert len(backend.seen) == n_requests
        assert (outcome == "cache") == (n_requests == 1)


@on_clock
async def test_the_time_to_any_answer_is_a_figure() -> None:
    """Inside words and elsewhere, empty ones too, but none that was cancelled."""
    async with opened() as (session, backend):
        typist = Typist(session, CODE)
        backend.hold("stream")
        await ask(typist)
        backend.release()
        typist.type("m")
        asked = asyncio.create_task(ask(typist))
        asked.cancel()
        typist.type("e, ")
        await asyncio.wait([asked])
        await ask(typist)
        latency = session.stats()["latencyMs"]
        assert isinstance(latency, dict)
        assert 500 <= latency["inWords"]["p50"] <= 600
        assert latency["inWords"] == {"p50": latency["p95"], "p95": latency["p95"]}
        assert latency["elsewhere"]["p95"] < 500

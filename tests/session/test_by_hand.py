"""A request by hand: the likeliest text first and at once, other texts while that is on screen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import NamedTuple

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config
from server_bridge.protocol import BackendError, BackendUnavailable, Prompt, PromptTooLong
from tests.clock import on_clock
from tests.fake_backend import FakeBackend, tokenize
from tests.typist import Typist, wait_judged

TOKEN_S = 0.03  # of the smallest model on two cores that are busy
CODE = "def total(items):\n    return "
TEXTS = [
    "sum(item.price for item in items)",
    "sum(map(price_of, items), start=0)",
    "len([item for item in items if item])",
]
ELSEWHERE = Position(0, 4)


class User(NamedTuple):
    """A user with the default settings; the model says `TEXTS` by the sample's number."""

    typist: Typist
    backend: FakeBackend

    async def ask(self, *, invoked: bool = True) -> list[str]:
        return [each.text for each in await self.typist.ask(invoked=invoked)]

    def configure(self, **completion: float) -> None:
        session = self.typist.session
        changed = replace(session.config.completion, **completion)  # type: ignore[arg-type]
        session.configure(replace(session.config, completion=changed))

    @property
    def samples(self) -> list[int]:
        """Which texts the model was asked for."""
        return [request.sample for request in self.backend.seen]


def say(prompt: Prompt, sample: int) -> str:
    """Return what is left of a text, wherever it is taken up again."""
    return TEXTS[sample].removeprefix((prompt.middle + prompt.forced).rpartition("return ")[2])


@contextlib.asynccontextmanager
async def at_work(
    texts: Callable[[Prompt, int], str] = say, code: str = CODE
) -> AsyncIterator[User]:
    backend = FakeBackend(texts, token_s=TOKEN_S)
    backend.state = replace(backend.state, decode_ms=TOKEN_S * 1000)
    session = Session(Config(), lambda _: backend)
    typist = Typist(session, code)
    await session.connection.wait_ready()
    await wait_judged(session)
    yield User(typist, backend)
    await session.aclose()


@on_clock
async def test_the_likeliest_text_comes_alone_and_at_once() -> None:
    """It takes as long as its own tokens do; no other text is decoded."""
    async with at_work() as user:
        began = asyncio.get_running_loop().time()
        assert await user.ask() == TEXTS[:1]
        n_tokens = user.typist.counted("tokens", "predicted")
        assert asyncio.get_running_loop().time() - began <= (n_tokens + 2) * TOKEN_S
        assert set(user.samples) == {0}


@pytest.mark.parametrize("first", [True, False], ids=["by hand", "typing"])
@on_clock
async def test_other_texts_come_where_the_first_is_on_screen(first: bool) -> None:
    """Behind it, each decoded once, however the first one came; asked again, they are known."""
    async with at_work() as user:
        user.configure(min_confidence=0.0, patience_ms=5000)  # all of it comes, and in one piece
        assert await user.ask(invoked=first) == TEXTS[:1]
        user.backend.seen.clear()
        assert await user.ask() == TEXTS
        assert [sample for sample in user.samples if sample] == [1, 2]
        user.backend.seen.clear()
        assert await user.ask() == TEXTS
        assert user.backend.seen == []


@pytest.mark.parametrize(("invoked", "n_asked"), [(True, 3), (False, 1)])
@on_clock
async def test_other_texts_come_at_once_where_nothing_of_the_first_is_left(
    invoked: bool, n_asked: int
) -> None:
    """For a user who asks by hand, and waits; while typing, nothing is shown."""
    texts = [" ".join(["items,"] * 40), *TEXTS[1:]]
    async with at_work(lambda _, sample: texts[sample]) as user:
        assert await user.ask(invoked=invoked) == (TEXTS[1:] if invoked else [])
        assert len({*user.samples}) == n_asked


@on_clock
async def test_a_text_that_the_model_says_each_time_is_asked_for_once() -> None:
    """However often the user asks, there is no other."""
    async with at_work(lambda prompt, _: say(prompt, 0)) as user:
        for n_asked in (1, 3, 3):
            assert await user.ask() == TEXTS[:1]
            assert len({*user.samples}) == n_asked
        assert [sample for sample in user.samples if sample] == [1, 2]


def hide(user: User) -> None:
    user.typist.session.handle(events.Dismissed(user.typist.uri))


def go_and_return(user: User) -> None:
    for place in (ELSEWHERE, user.typist.cursor):
        user.typist.session.handle(events.CursorMoved(user.typist.uri, place))


@pytest.mark.parametrize("leave", [hide, go_and_return])
@on_clock
async def test_a_text_that_is_not_on_screen_any_more_comes_first(leave: Callable[..., object]):
    """At once, and alone: it is known."""
    async with at_work() as user:
        await user.ask()
        leave(user)
        user.backend.seen.clear()
        assert await user.ask() == TEXTS[:1]
        assert set(user.samples) <= {0}


@on_clock
async def test_more_of_the_likeliest_comes_before_others() -> None:
    """A text that was cut because the model is unsure is shown whole, without the model."""
    async with at_work() as user:
        user.configure(min_confidence=0.5)
        [cut] = await user.ask(invoked=False)
        await user.typist.session.wait_idle()
        user.backend.seen.clear()
        assert await user.ask() == TEXTS[:1] != [cut]
        assert set(user.samples) <= {0}
        assert await user.ask() == TEXTS


@on_clock
async def test_a_text_on_screen_is_all_of_it_though_its_end_came_later() -> None:
    """The answer did not wait for the token that tells that the block is whole; others come then."""
    blocks = [f"{name} in items:\n        n += {name}.price" for name in ("item", "each", "cart")]

    def say_block(prompt: Prompt, sample: int) -> str:
        said = (prompt.middle + prompt.forced).rpartition("for ")[2]
        return f"{blocks[sample]}\n    return n".removeprefix(said)

    async with at_work(say_block, code="def total(items):\n    n = 0\n    for ") as user:
        n_tokens = len(tokenize(blocks[0] + "\n"))
        user.configure(
            min_confidence=0.0, debounce_ms=0, patience_ms=(n_tokens + 2) * TOKEN_S * 1000
        )
        assert await user.ask(invoked=False) == blocks[:1]
        await user.typist.session.wait_idle()
        assert await user.ask() == blocks


@pytest.mark.parametrize("key", ["s", "x"], ids=["along", "against"])
@pytest.mark.parametrize("n_asked", [1, 2])
@on_clock
async def test_a_key_ends_the_decoding_of_others(key: str, n_asked: int) -> None:
    """No other text is begun, and the one under way ends with its next token."""
    async with at_work() as user:
        await user.ask()
        asked = asyncio.create_task(user.ask())
        while [sample for sample in user.samples if sample] != [1, 2][:n_asked]:
            await asyncio.sleep(TOKEN_S / 10)
        user.typist.type(key)
        began = asyncio.get_running_loop().time()
        await asked
        assert asyncio.get_running_loop().time() - began <= 2 * TOKEN_S
        await user.typist.session.wait_idle()
        assert [sample for sample in user.samples if sample] == [1, 2][:n_asked]


@pytest.mark.parametrize("error", [BackendUnavailable("gone"), PromptTooLong(4097, 4096)])
@on_clock
async def test_without_others_the_first_stays(error: BackendError) -> None:
    """What is on screen is the answer where the model fails at another text."""

    def fail(prompt: Prompt, sample: int) -> str:
        if sample:
            raise error
        return say(prompt, sample)

    async with at_work(fail) as user:
        assert await user.ask() == TEXTS[:1]
        assert await user.ask() == TEXTS[:1]
        assert 1 in user.samples

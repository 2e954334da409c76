"""What stands before the cursor is shown to the model in the tokens that its tokenizer makes of it."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import pytest

from fim_lsp.prompt.frame import heal
from fim_lsp.session.session import Session
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.client import Http
from server_bridge.llama.link import Link
from server_bridge.llama.tokenizer import Tokenizer
from server_bridge.protocol import Prompt, Reply, Request, Token
from tests import fake_backend
from tests.asked import model_of
from tests.llama_server import PROGRAM, llama_server
from tests.typist import QUICK, Typist, faked

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")  # before tests get another
QWEN = CACHE / "fim-lsp-test" / "qwen" / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
TYPED = "def total(prices, tax_rate):\n    amount = sum(prices)\n    return round(amount * tax_rate, 2)\n\n\n"
N_STEPS = 40


class Spelling(NamedTuple):
    """A session, and how its model's tokenizer spells a text."""

    session: Session
    ids_of: Callable[[str], Awaitable[list[int]]]


async def fake_ids(text: str) -> list[int]:
    return [token.id for token in fake_backend.tokenize(text)]


@pytest.fixture
async def fake() -> AsyncIterator[Spelling]:
    """Return a session on the backend without a model."""
    session = faked()
    await session.connection.wait_ready()
    yield Spelling(session, fake_ids)
    await session.aclose()


@pytest.fixture
async def qwen() -> AsyncIterator[Spelling]:
    """Return one on a real model."""
    with llama_server(QWEN) as url:
        session = Session(QUICK, lambda _: open_backend(BackendSettings("llama-server", url)))
        await session.connection.wait_ready()
        link = Link(Http(url))
        await link.meet()
        tokenizer = Tokenizer(link, 3.0)
        await tokenizer.specials("")

        async def real_ids(text: str) -> list[int]:
            return [token.id for token in await tokenizer.run(text)]

        yield Spelling(session, real_ids)
        await link.aclose()
        await session.aclose()


def middles_of(session: Session) -> list[tuple[Prompt, tuple[Token, ...]]]:
    """Return the prompts that are sent from now on, and the tokens that their middles were sent in."""
    seen: list[tuple[Prompt, tuple[Token, ...]]] = []
    model = model_of(session)
    stream = model.stream

    async def noting(request: Request) -> AsyncGenerator[Reply, None]:
        is_first = True
        async with aclosing(stream(request)) as replies:
            async for reply in replies:
                if is_first:
                    seen.append((request.prompt, reply.middle))
                is_first = False
                yield reply

    model.stream = noting  # type: ignore[method-assign]
    return seen


async def edited(typist: Typist, rng: random.Random) -> None:
    """Type, accept and take back at random; an answer is asked for after each step."""
    at = 0
    for _ in range(N_STEPS):
        found = await typist.ask(invoked=True)
        step = rng.random()
        if found and found[0].text and step < 0.3:
            typist.accept(found[0])
        elif found and found[0].text and step < 0.5:
            typist.type(found[0].text[: rng.randint(1, 3)])
        elif step < 0.65 and typist.cursor.column > 0:
            typist.backspace(rng.randint(1, min(6, typist.cursor.column)))
        else:
            n = rng.randint(1, 4)
            typist.type(TYPED[at : at + n])
            at = (at + n) % (len(TYPED) - 4)


@pytest.mark.parametrize("seed", range(4))
async def test_finished_words_have_their_own_tokens(fake: Spelling, seed: int) -> None:
    """After any typing, accepting and taking back; only a word that is being made may have others."""
    await check(fake, seed)


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.skipif(not (PROGRAM and QWEN.exists()), reason="run by scripts/test-server, with Qwen")
@pytest.mark.parametrize("seed", range(3))
async def test_those_of_a_real_model_have(qwen: Spelling, seed: int) -> None:
    """As the tokenizer of the server makes them."""
    await check(qwen, seed)


async def check(spelling: Spelling, seed: int) -> None:
    sent = middles_of(spelling.session)
    await edited(Typist(spelling.session), random.Random(seed))
    assert len(sent) > N_STEPS // 4
    for prompt, tokens in sent:
        own = await spelling.ids_of(heal(prompt.middle)[0] if prompt.tape else prompt.middle)
        assert [token.id for token in tokens[: len(own)]] == own

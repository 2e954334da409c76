"""What stands before the cursor is shown to the model in the tokens that its tokenizer makes of it."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from fim_lsp.prompt.half_words import heal
from fim_lsp.session.session import Session
from server_bridge.protocol import Prompt, Reply, Request, Token
from tests import fake_backend
from tests.asked import model_of
from tests.typist import Typist

TYPED = (
    "def total(prices, tax_rate):\n    amount = sum(prices)\n"
    "    return round(amount * tax_rate, 2)\n\n\n"
)
N_STEPS = 40


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


async def edit(typist: Typist, rng: random.Random) -> None:
    """Type, accept and take back at random; an answer is asked for after each step."""
    at = 0
    for _ in range(N_STEPS):
        first = next(iter(await typist.ask(invoked=True)), None)
        step = rng.random()
        if first and first.text and step < 0.3:
            typist.accept(first)
        elif first and first.text and step < 0.5:
            typist.type(first.text[: rng.randint(1, 3)])
        elif step < 0.65 and typist.cursor.column > 0:
            typist.backspace(rng.randint(1, min(6, typist.cursor.column)))
        else:
            n = rng.randint(1, 4)
            typist.type(TYPED[at : at + n])
            at = (at + n) % (len(TYPED) - 4)


@pytest.mark.parametrize("seed", range(4))
async def test_finished_words_have_their_own_tokens(session: Session, seed: int) -> None:
    """After any typing, accepting and taking back; only a word that is being made may have others."""
    await session.connection.wait_ready()
    sent = middles_of(session)
    await edit(Typist(session), random.Random(seed))
    assert len(sent) > N_STEPS // 4
    for prompt, tokens in sent:
        own = fake_backend.tokenize(heal(prompt.middle)[0] if prompt.tape else prompt.middle)
        assert tokens[: len(own)] == own

"""Sessions on models unlike the bundled one: other vocabularies, no tokens for a gap, made for chats."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

import pytest

from tests.typist import BRIEF, Typist, embedded

pytestmark = pytest.mark.engine

CODE = "".join(inspect.getsource(argparse).splitlines(keepends=True)[:300])
KEYS = "\ndef total(items):\n    price = sum(items)\n    re"
FEW = 24  # tokens: what was typed, a half word twice, and one a stream


@pytest.mark.parametrize("kind", ["sentencepiece", "plain", "chat"])
async def test_typing_is_cheap_and_suggestions_come(
    unusual_models: dict[str, Path], kind: str
) -> None:
    """As with the bundled model: a few tokens a key, as foretold, line ends included, and text to show for it."""
    session = embedded(BRIEF, str(unusual_models[kind]))
    await session.connection.wait_ready()
    try:
        typist = Typist(session, CODE)
        await typist.ask()
        await session.wait_idle()
        shown = []
        for key in KEYS:
            before = typist.counted("tokens", "evaluated")
            typist.type(key)
            shown += [suggestion.text for suggestion in await typist.ask()]
            assert typist.counted("tokens", "evaluated") - before <= FEW, key
        assert typist.counted("mirror", "wrong") == 0
        assert len(shown) > len(KEYS) // 8
        assert not any("```" in text or "\u2581" in text for text in shown)
    finally:
        await session.aclose()


@pytest.mark.parametrize("kind", ["sentencepiece", "plain", "chat"])
async def test_nothing_is_evaluated_again_at_rest(
    unusual_models: dict[str, Path], kind: str
) -> None:
    """What the background evaluates it evaluates once: no loop."""
    session = embedded(BRIEF, str(unusual_models[kind]))
    await session.connection.wait_ready()
    try:
        typist = Typist(session, CODE)
        for key in "\nx":
            typist.type(key)
            await typist.ask()
            await session.wait_idle()
        before = typist.counted("tokens", "background")
        for key in " = total + ":
            typist.type(key)
            await typist.ask()
            await session.wait_idle()
        assert typist.counted("tokens", "background") - before <= 8 * FEW
    finally:
        await session.aclose()

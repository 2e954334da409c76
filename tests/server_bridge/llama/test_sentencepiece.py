"""
Vocabularies of SentencePiece on a real llama.cpp: a space before every text, pieces across words, characters in bytes.

What all backends keep is in test_contract.py, which runs with such a model, too.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from server_bridge.protocol import Request
from tests.models import rewritten
from tests.server_bridge.llama.heard import connected
from tests.server_bridge.prompts import prompt, short

pytestmark = pytest.mark.usefixtures("patient")

TEXTS = [
    "\n", "\n\n", "\n\n\n    x", " x", "  ", "    return x\n", "\t\tx = 1", "🎉", "é\n größe",
    "日本\n語", "a▁b ▁▁", "\x01",
]  # fmt: skip


async def test_texts_are_spelled_as_they_are(unusual_models: dict[str, Path]) -> None:
    """No space more and none less, also before a line break, which may be a piece with the next one."""
    async with connected(unusual_models["sentencepiece"]) as (server, _):
        for text in TEXTS:
            reply = await server.complete(Request(short(text), 1))
            assert b"".join(token.text for token in reply.middle).decode() == text


async def test_codestral_goes_on_from_the_prefix(tmp_path: Path) -> None:
    """Suffix first and no token before the middle: what is typed is all that a key costs."""
    specials = ("[PREFIX]", "", "[SUFFIX]", "", "", "")
    model = rewritten(tmp_path / "codestral.gguf", specials=specials, sentencepiece=True)
    async with connected(model) as (server, _):
        asked = prompt("    return width")
        reply = await server.complete(Request(asked, n_predict=4))
        again = await server.complete(Request(replace(asked, middle="    return width * "), 4))
    assert b"".join(token.text for token in reply.middle) == b"    return width"
    assert again.timings.prompt_n <= 4

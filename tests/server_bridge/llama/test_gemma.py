"""A real base model without tokens for a gap: Gemma 3 270M, whose window of attention slides, too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Prompt, Request
from tests.llama_server import llama_server
from tests.server_bridge.prompts import keystrokes, prompt

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")  # before tests get another
MODEL = CACHE / "fim-lsp-test" / "gemma" / "gemma-3-270m-q4_k_m.gguf"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("patient"),
    pytest.mark.skipif(not MODEL.exists(), reason="no Gemma 3 270M: sh scripts/get-gemma"),
]

AREA = Prompt("", (), "shapes.py", "def area(width, height):\n", "", "    ")
# What a word that is cut may cost: a window of 512 tokens that slid is evaluated from its last checkpoint.
FEW = 40


@pytest.fixture(scope="module")
def gemma() -> Iterator[str]:
    """Return its server, as a user runs it."""
    with llama_server(MODEL, n_ctx=4096, n_parallel=1) as url:
        yield url


async def test_it_goes_on_with_the_line(gemma: str) -> None:
    """Half words are healed, and what it says is code."""
    server = LlamaServer(Http(gemma))
    state = (await server.connect()).state
    reply = await server.complete(Request(replace(AREA, forced="ret"), 12, stop=("\n",)))
    await server.aclose()
    assert "not trained to fill in a gap" in state.second_best
    assert reply.text == "return width * height"
    assert b"".join(token.text for token in reply.tokens).decode() == reply.text


async def test_texts_are_spelled_as_they_are(gemma: str) -> None:
    """Its pieces hold line breaks and long runs of spaces; characters that it does not have are bytes."""
    server = LlamaServer(Http(gemma))
    for text in ("\n", "\n\n\n\tx", "       y", "# größe 🎉 ▁ 𒀀\n"):
        reply = await server.complete(Request(replace(AREA, middle=text), 1))
        assert b"".join(token.text for token in reply.middle).decode() == text
    await server.aclose()


@pytest.mark.parametrize("forced", [" é🎉", "𒀀𒀁", "日本語"])
async def test_no_character_is_cut(gemma: str, forced: str) -> None:
    """Also where each is several tokens."""
    server = LlamaServer(Http(gemma))
    reply = await server.complete(Request(replace(AREA, forced=forced), 16))
    await server.aclose()
    assert reply.text.startswith(forced)
    assert "\ufffd" not in reply.text


async def test_a_key_costs_little(gemma: str) -> None:
    """The prompt only grows."""
    server, costs = LlamaServer(Http(gemma)), []
    for middle, half in [*keystrokes()][:12]:
        reply = await server.complete(Request(prompt(middle, half), 4))
        costs.append(reply.timings.prompt_n)
    await server.aclose()
    assert costs[0] > 500
    assert max(costs[1:]) <= FEW

"""Text that outgrows its context, on real llama.cpp with a context of 256 tokens (StreamingLLM)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from server_bridge.http.client import Http
from server_bridge.http.responses import Object
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.mirror import RUN, count_moved
from server_bridge.protocol import Chunk, Prompt, Reply, Request, Stop, append_text
from tests.llama_server import llama_server
from tests.models import write_model
from tests.server_bridge.llama.heard import connected
from tests.server_bridge.llama.test_mirror import packed

N_CTX = 256
# a text that the model goes on with in whole characters, so that all of its tokens are known
CHUNKS = (Chunk("tax.py", "RATE = 2\n"),)
PROMPT = Prompt(
    "shop", CHUNKS, "cart.py", "import os\n\n\ndef total(items):\n    ", "\n", "return sum("
)


def behind(shown: list[Reply], *, dropped: bool) -> Prompt:
    """Return the prompt that goes on behind what is *shown* of the text."""
    text = "".join(reply.text for reply in shown)
    tokens = tuple(token for reply in shown for token in reply.tokens)
    return replace(append_text(PROMPT, text, tokens), dropped=dropped)


@pytest.mark.parametrize("shifts", [True, False], ids=["--context-shift", "usual"])
@pytest.mark.parametrize("moves", [True, False], ids=["moves", "evaluates"])
async def test_a_full_context_goes_on_with_the_newer_half(tmp_path, *, shifts: bool, moves: bool):
    """What stays is moved up, or else evaluated, as was predicted; the prompt is still there afterwards."""
    endless = write_model(tmp_path / "endless.gguf")  # its text never ends by itself
    flags = {"n_ctx": N_CTX, "n_parallel": 1, "n_batch": 64, "ctx_shift": shifts}
    shown: list[Reply] = []
    async with connected(endless, endpoint_slots=True, **flags) as (server, _):
        for n_drops in range(4):
            prompt = behind(shown, dropped=moves and n_drops > 0)
            measure = await server.measure(prompt)
            n_shown = len(shown)
            # Of a character of several tokens the server tells one: what it holds is known up to there.
            is_known = "".join(reply.text for reply in shown).isascii()
            shown += [reply async for reply in server.stream(Request(prompt, 1000))]
            assert shown[-1].stop is Stop.FULL
            cost = shown[n_shown].timings
            assert cost.cache_n + cost.prompt_n == measure.total
            assert cost.cache_n >= measure.cached
            assert cost.cache_n == measure.cached or not is_known
            if n_drops and is_known:
                assert (cost.prompt_n <= 2) is moves
            shown = shown[len(shown) // 2 :]
        assert (await server.warm(PROMPT, N_CTX)).evaluated <= 1
        assert server.state.cache_problem == ""


class Still(Http):
    """A server that moves nothing up."""

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        asked = {**json.loads(body), "n_cache_reuse": 0}
        async with aclosing(super().stream(path, json.dumps(asked).encode())) as events:
            async for event in events:
                yield event


async def test_a_server_that_moves_nothing_shows_it_once(tmp_path: Path) -> None:
    """From then on what stays is measured as what is to be evaluated, so that it goes in steps."""
    endless = write_model(tmp_path / "endless.gguf")
    with llama_server(endless, n_ctx=N_CTX, n_parallel=1, n_batch=64) as url:
        server = LlamaServer(Still(url))
        shown = [reply async for reply in server.stream(Request(PROMPT, 1000))]
        n_expected = []
        for _ in range(2):
            shown = shown[len(shown) // 2 :]
            prompt = behind(shown, dropped=True)
            measure = await server.measure(prompt)
            n_expected.append(measure.total - measure.cached)
            shown += [reply async for reply in server.stream(Request(prompt, 1000))]
        assert n_expected[0] <= 2
        assert n_expected[1] > N_CTX // 4
        await server.aclose()


@pytest.mark.parametrize(
    ("held", "prompt", "reused"),
    [
        ([*range(100)], [*range(100), 7], 100),
        ([*range(100)], [*range(100)], 99),
        ([*range(100)], [*range(10), *range(40, 100)], 69),
        ([*range(100)], [*range(10), *range(40, 100), 7], 70),
        ([*range(100)], [*range(10), *range(40, 80), 7, 8], 50),
        ([*range(100)], [*range(10), *range(100 - RUN + 1, 100)], 10),
        ([*range(100)], [*range(40, 100)], 59),
        ([], [*range(40)], 0),
        ([1 << 16] * 60 + [*range(60)], [*range(60)], 59),
    ],
)
def test_what_lies_further_on_moves_up(held: list[int], prompt: list[int], reused: int) -> None:
    """From the end of the common beginning on, where enough tokens in a row are the same."""
    assert count_moved(packed(*held), packed(*prompt)) == reused

"""
Every idea of the server side on Qwen2.5-Coder 0.5B: counts of tokens, and the same text.

Run by scripts/test-server where scripts/get-qwen was run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arguments import FOLDER
from fim_lsp.prompt.half_words import heal
from fim_lsp.session.scheduler import Scheduler
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import Model, Reply, Request
from tests.llama_server import PROGRAM
from tests.server_bridge.prompts import LINES, TYPED, short
from tests.server_bridge.serving import served

SMALL = FOLDER / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
LARGE = FOLDER / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
N_TOKENS = 8
STEP = 24  # tokens

pytestmark = [
    pytest.mark.usefixtures("patient"),
    pytest.mark.slow,
    pytest.mark.server,
    pytest.mark.skipif(not PROGRAM, reason="minutes long: run by scripts/test-server"),
    pytest.mark.skipif(not SMALL.exists(), reason="no Qwen2.5-Coder: sh scripts/get-qwen 0.5b"),
]


@asynccontextmanager
async def engine(**settings: Any) -> AsyncIterator[Model]:
    """The embedded engine with the real model."""
    async with aclosing(
        Embedded(EmbeddedSettings(model=str(SMALL), **{"n_ctx": 2048, **settings}))
    ) as ours:
        yield await ours.connect()


async def test_a_restart_costs_one_token_and_changes_no_text(tmp_path: Path) -> None:
    """What was evaluated is saved, and found again by the next session: one token is left."""
    request = Request(short("    def add_"), N_TOKENS)
    async with engine(slots_dir=str(tmp_path)) as before:
        cold = await before.complete(request)
        assert await before.save(request.prompt)
    async with engine(slots_dir=str(tmp_path)) as after:
        assert await after.restore(request.prompt)
        warm = await after.complete(request)
    assert cold.timings.prompt_n > 64
    assert warm.timings.prompt_n <= 2
    assert warm.text == cold.text


async def test_typing_costs_what_is_typed_and_is_foretold() -> None:
    """Each key evaluates a few tokens, as predicted, and the text is that of a cold cache."""
    costs, warm = [], list[Reply]()
    async with engine() as typed:
        await typed.complete(Request(short(), 1))
        for end in range(4, 64, 4):
            middle, forced = heal(TYPED[:end])
            request = Request(replace(short(middle), forced=forced), N_TOKENS)
            reply = await typed.complete(request)
            costs.append(reply.timings)
            warm.append(reply)
    async with engine() as cold:
        assert (await cold.complete(request)).text == warm[-1].text
    assert all(cost.expected_n == cost.cache_n for cost in costs)
    evaluated = sorted(cost.prompt_n for cost in costs)
    assert evaluated[len(evaluated) // 2] <= 3
    assert evaluated[-1] <= 16


async def test_a_request_waits_for_one_step_of_what_is_evaluated_ahead() -> None:
    """A request while a long prompt is evaluated is answered behind the step under way."""
    long = replace(short(), repo="ahead", prefix="".join(LINES[470:500]))
    scheduler, steps = Scheduler(("warm",)), list[int]()
    async with engine() as ours:
        await ours.complete(Request(short(), 1))

        async def step() -> bool:
            warmed = await ours.warm(long, STEP)
            steps.append(warmed.evaluated)
            if len(steps) == 1:
                asked.append(asyncio.create_task(scheduler.foreground(answer)))
            return warmed.left > 0

        async def answer() -> int:
            await ours.complete(Request(short("    "), 1))
            return len(steps)

        asked = list[asyncio.Task[int]]()
        scheduler.background("warm", step)
        await scheduler.wait_idle()
        assert await asked[0] <= 2
        assert len(steps) > 4
        assert max(steps) <= STEP + 1
        assert sum(steps) < (await ours.measure(long)).total + len(steps) * 2
        await scheduler.aclose()


@pytest.mark.skipif(not LARGE.exists(), reason="no Qwen2.5-Coder 1.5B: sh scripts/get-qwen 1.5b")
async def test_a_small_model_drafts_for_a_large_one(tmp_path: Path) -> None:
    """
    Drafts of a real model are accepted in a chain behind n-grams, and the text begins as without.

    It may end otherwise: what is checked in one step is rounded differently (docs/backends.md).
    """
    request, texts = Request(short("    def "), 12), list[str]()
    for wishes in ({"speculate": False, "draft": ""}, {"speculate": True, "draft": str(SMALL)}):
        async with served(tmp_path, None, model=str(LARGE), **wishes) as server:
            reply = await server.complete(request)
        texts.append(reply.text)
        assert bool(wishes["draft"]) == bool(reply.timings.draft_accepted_n)
    assert texts[1][:8] == texts[0][:8]

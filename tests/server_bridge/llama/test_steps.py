"""
Evaluation ahead in steps ends, whatever is believed of the model's memory.

The server is simulated by the rules of llama.cpp (`Mirror`), with a truth of its own: another
client uses it, too, and what the bridge believes may be wrong.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server_bridge.fim.layout import Ids, ids
from server_bridge.http.responses import Object
from server_bridge.llama import answers
from server_bridge.llama.cache import PREFILL
from server_bridge.llama.checkpoints import Kind, ModelMemory
from server_bridge.llama.link import Body
from tests.fuzz import EXAMPLES, FUZZ
from tests.server_bridge.llama.test_slots import Server, editor

pytestmark = pytest.mark.promise("answers-are-bounded")

SERIES = 6  # prompts in turn
MORE = 8  # steps that pauses at seams, and other slots, may add
N_STEPS = 2  # times as many steps as a prompt has


class OddServer(Server):
    """With *lies* it says odd things of what it keeps."""

    def __init__(self, n_slots: int, memory: ModelMemory, lies: random.Random | None) -> None:
        super().__init__(n_slots)
        self._mirror.memory = memory
        self._lies = lies

    async def stream(self, fields: Object, write: Body) -> AsyncGenerator[answers.Event, None]:
        await asyncio.sleep(0)  # as a real one does
        async for event in super().stream(fields, write):
            if self._lies:
                lie = self._lies.choice([-30, -1, 0, 1])
                event.tokens_cached = max(0, (event.tokens_cached or 0) + lie)
                event.id_slot = self._lies.randrange(self.n_slots)
                event.timings.cache_n = self._lies.choice([0, 3, event.timings.cache_n])
            yield event


def prompts(rng: random.Random) -> tuple[Ids, list[int]]:
    """Return a prompt that begins as others do, and its seams."""
    lengths = [rng.choice([3, 40, 100, 400]) for _ in range(3)]
    parts = [rng.randrange(2, 5) * 1000 + at for at in range(3)]
    whole = [
        100 + n % 7 for part, n in zip(parts, lengths, strict=True) for n in range(part, part + n)
    ]
    ends = [sum(lengths[: n + 1]) for n in range(2)]
    return ids(whole), sorted(
        rng.choice([end, end - rng.randrange(9), end + rng.randrange(9)]) for end in ends
    )


class Case(NamedTuple):
    """A server, what is believed of it, and how it is used."""

    seed: int
    n_slots: int
    truth: Kind
    belief: Kind
    min_step: int
    exclusive: bool
    step: int


CASES = st.builds(
    Case,
    seed=st.integers(0, 2**32),
    n_slots=st.integers(1, 4),
    truth=st.sampled_from(Kind),
    belief=st.sampled_from(Kind),
    min_step=st.sampled_from([64, 256, 8192]),
    exclusive=st.booleans(),
    step=st.sampled_from([16, 75, 300]),
)


@pytest.mark.parametrize("lies", [False, True])
@settings(max_examples=EXAMPLES * FUZZ, deadline=None)
@given(case=CASES)
async def test_steps_over_a_prompt_end(*, lies: bool, case: Case) -> None:
    """There are about as many as the prompt has, whatever the server says."""
    rng = random.Random(case.seed)
    memory = ModelMemory(case.truth, 2048, 512, 4, case.min_step, is_told=True)
    server = OddServer(case.n_slots, memory, rng if lies else None)
    belief = memory._replace(kind=case.belief, is_told=case.exclusive)
    cache = editor(server, exclusive=case.exclusive, memory=belief)
    for _ in range(SERIES):
        if not case.exclusive and rng.random() < 0.5:
            await ask_as_another_client(server, prompts(rng)[0])
        whole, seams = prompts(rng)
        document = f"d{rng.randrange(3)}"
        left = 1
        n_steps = 0
        while left:
            _, left = await cache.warm(document, whole, case.step, seams)
            n_steps += 1
            assert n_steps <= N_STEPS * (whole.n // case.step + 1) + MORE
        if rng.random() < 0.5:
            slot = await cache.prepare(document, whole)
            await cache.client.run(document, whole, {**PREFILL, "n_predict": 3}, slot)


async def ask_as_another_client(server: Server, prompt: Ids) -> None:
    fields = {"prompt": json.loads(f"[{prompt.listed}]"), "id_slot": -1, **PREFILL}
    async for _ in server.stream(fields, json.dumps):
        pass

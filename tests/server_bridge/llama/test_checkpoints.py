"""How far back a state can be taken: the rules by themselves, and on a real server."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_bridge.fim.layout import Ids, ids
from server_bridge.http.client import Http
from server_bridge.llama.checkpoints import (
    CLOSE_STEP,
    GAP,
    Checkpoint,
    Compared,
    Kind,
    ModelMemory,
    after,
    count_resumable,
    count_reused,
    end_of_step,
    learn_memory,
)
from server_bridge.llama.mirror import Mirror
from tests import architectures
from tests.llama_server import llama_server

FEW = ModelMemory(Kind.RECURRENT, 512, 512, n_checkpoints=6, min_step=40, is_told=True)
POINTS = (Checkpoint(50, 1), Checkpoint(80, 2), Checkpoint(96, 3))


@pytest.mark.parametrize(
    ("n_shared", "n_held", "n_prompt", "n_reused"),
    [
        (100, 100, 103, 100),  # it goes on
        (97, 100, 103, 96),
        (96, 100, 103, 96),
        (95, 100, 103, 80),
        (49, 100, 103, 0),
        (100, 100, 100, 96),  # the same again: a token has to be evaluated
        (80, 100, 80, 50),  # a beginning of it
        (0, 0, 9, 0),
    ],
)
def test_a_state_is_gone_back_to(n_shared: int, n_held: int, n_prompt: int, n_reused: int) -> None:
    """The last checkpoint before the difference, or the start."""
    assert count_resumable(POINTS, Compared(n_shared, n_held, n_prompt)) == n_reused


@pytest.mark.parametrize(
    ("start", "n_prompt", "made"),
    [
        (0, 3, []),
        (0, 10, [6]),
        (0, 600, [84, 596]),
        (0, 3000, [2484, 2996]),
        (100, 103, [100]),
        (100, 110, [100, 106]),
        (100, 3000, [2484, 2996]),
    ],
)
def test_checkpoints_lie_near_the_end(start: int, n_prompt: int, made: list[int]) -> None:
    """Four tokens before it, a micro-batch before that, and where a short evaluation starts."""
    points = after(ModelMemory(Kind.RECURRENT), (), start, n_prompt, 1)
    assert [point.n_tokens for point in points] == made


def test_a_step_ends_where_prompts_part() -> None:
    """So that a checkpoint lies there, and none so near before it that it would go first."""
    own = ModelMemory(Kind.RECURRENT, min_step=CLOSE_STEP)
    seam, known, ends = 1000, 0, []
    while known < seam:
        known = end_of_step(own, known, 300, [seam, 1100])
        ends.append(known)
    assert ends[-2:] == [seam - CLOSE_STEP - 1, seam + GAP]
    assert end_of_step(own, known, 300, [seam, 1100]) == 1100 + GAP
    assert end_of_step(own, 1200, 300, [seam, 1100]) == 1500
    assert end_of_step(ModelMemory(Kind.SLIDING), 900, 300, [seam]) == seam + GAP
    for kind in (Kind.PLAIN, Kind.UNKNOWN):
        assert end_of_step(ModelMemory(kind), 900, 300, [seam]) == 1200


@pytest.mark.parametrize(
    ("found", "kind"),
    [(96, Kind.RECURRENT), (95, Kind.SLIDING), (97, Kind.PLAIN), (0, Kind.UNKNOWN)],
)
def test_one_observation_tells_the_kind(found: int, kind: Kind) -> None:
    """Of a prompt that differs from what is held after 97 of 100 tokens."""
    cut = Compared(97, 100, 103)
    memory = learn_memory(ModelMemory(), POINTS, cut, found)
    assert memory.kind is kind
    assert learn_memory(FEW._replace(kind=Kind.PLAIN), POINTS, cut, found).kind is Kind.PLAIN
    if kind in {Kind.RECURRENT, Kind.PLAIN}:
        assert count_reused(memory, POINTS, cut) == found


def test_a_server_that_keeps_more_is_one_of_ours() -> None:
    """How near checkpoints may lie is not told; what is reused shows it."""
    memory = ModelMemory(Kind.RECURRENT)
    closer = learn_memory(memory, POINTS, Compared(97, 100, 103), 97)
    assert closer.min_step == CLOSE_STEP
    assert learn_memory(closer, POINTS, Compared(97, 100, 103), 50) == memory


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    model = architectures.write(tmp_path / "hybrid.gguf", "granitehybrid")
    few = {"n_ctx_checkpoints": FEW.n_checkpoints, "checkpoint_min_step": FEW.min_step}
    with llama_server(
        model, n_parallel=1, n_batch=512, n_ubatch=512, cache_ram_mib=0, **few
    ) as url:
        yield url


def _asked(rng: random.Random, held: list[int]) -> list[int]:
    """Return a prompt that goes on from some of what is held, most often from its end."""
    kept = max(0, len(held) - rng.choice([0, 0, 1, 2, 5, 20, 90]))
    return held[:kept] + [rng.randrange(100, 3000) for _ in range(rng.choice([1, 2, 3, 8, 60]))]


@pytest.mark.usefixtures("patient")
async def test_the_rules_are_the_servers(url: str) -> None:
    """A hundred and fifty prompts, each cut somewhere, with more checkpoints than it keeps."""
    http, mirror, rng = Http(url), Mirror(1, memory=FEW), random.Random(1)
    mirror.saves = False
    held: list[int] = []
    for _ in range(150):
        prompt = _asked(rng, held)
        whole: Ids = ids(prompt)
        body = {"prompt": prompt, "n_predict": rng.choice([0, 3]), "return_tokens": True}
        expected = mirror.expect_reused(whole.packed, 0)
        await http.get("/health")  # the server closes a connection after a hundred requests
        answer = await http.post("/completion", json.dumps({**body, "id_slot": 0}).encode())
        assert answer["timings"]["cache_n"] == expected
        held = (prompt + answer["tokens"])[: answer["tokens_cached"]]
        mirror.settle(0, whole.packed, ids(held).packed, named=True)
    await http.aclose()

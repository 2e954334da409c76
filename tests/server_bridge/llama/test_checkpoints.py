"""How far back a state can be taken: the rules by themselves, and on a real server."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from server_bridge.llama.checkpoints import FEW as FEW_TOKENS
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
    seam = 1000
    known = 0
    ends = []
    while known < seam:
        known = end_of_step(own, known, 300, [seam, 1100])
        ends.append(known)
    assert ends[-2:] == [seam - CLOSE_STEP - 1, seam + GAP]
    assert end_of_step(own, known, 300, [seam, 1100]) == 1100 + GAP
    assert end_of_step(own, 1200, 300, [seam, 1100]) == 1500
    assert end_of_step(ModelMemory(Kind.SLIDING), 900, 300, [seam]) == seam + GAP
    for kind in (Kind.PLAIN, Kind.UNKNOWN):
        assert end_of_step(ModelMemory(kind), 900, 300, [seam]) == 1200


@given(
    kind=st.sampled_from(Kind),
    min_step=st.integers(0, 400),
    n_held=st.integers(0, 400),
    step=st.integers(0, 400),
    seams=st.lists(st.integers(0, 900), max_size=3).map(sorted),
)
def test_a_step_goes_on(
    kind: Kind, min_step: int, n_held: int, step: int, seams: list[int]
) -> None:
    """By more than a request costs, and by about *step*."""
    memory = ModelMemory(kind, min_step=min_step)
    end = end_of_step(memory, n_held, step, seams)
    assert n_held + FEW_TOKENS < end <= n_held + max(FEW_TOKENS + 1, 3 * step)


CUT = Compared(97, 100, 103), Compared(83, 100, 103)  # of 100 tokens
SIGNS = {  # tokens reused of each: of `CUT[0]`, of `CUT[1]`
    Kind.RECURRENT: (96, 80),
    Kind.SLIDING: (95, 79),
    Kind.PLAIN: (97, 83),
    Kind.UNKNOWN: (0, 0),
}


def learn(memory: ModelMemory, *seen: tuple[Kind, int]) -> ModelMemory:
    """Learn what a memory of a kind would show at the first or second of `CUT`."""
    for kind, n in seen:
        memory = learn_memory(memory, POINTS, CUT[n], SIGNS[kind][n])
    return memory


@pytest.mark.parametrize("kind", SIGNS)
def test_two_signs_tell_the_kind(kind: Kind) -> None:
    """One may come from another client's prompt, and the same again may, too."""
    assert learn(ModelMemory(), (kind, 0), (kind, 0)).kind is Kind.UNKNOWN
    memory = learn(ModelMemory(), (kind, 0), (kind, 1))
    assert memory.kind is kind
    assert learn(FEW._replace(kind=Kind.PLAIN), (kind, 0), (kind, 1)).kind is Kind.PLAIN  # told
    if kind in {Kind.RECURRENT, Kind.PLAIN}:
        assert [count_reused(memory, POINTS, cut) for cut in CUT] == [*SIGNS[kind]]


@pytest.mark.parametrize("wrong", [Kind.RECURRENT, Kind.SLIDING])
def test_what_later_requests_contradict_is_taken_back(wrong: Kind) -> None:
    """By two signs again; signs that contradict each other tell nothing."""
    far = Compared(97, 200, 103)  # more than any window gives back
    memory = learn(ModelMemory(), (wrong, 0), (wrong, 1))
    assert memory.kind is wrong
    memory = learn_memory(memory, POINTS, far, 97)
    assert memory.kind is wrong
    assert learn(memory, (wrong, 0), (wrong, 1)).kind is wrong
    assert learn_memory(memory, POINTS, far._replace(n_shared=83), 83).kind is Kind.PLAIN
    memory = learn_memory(learn(ModelMemory(), (wrong, 0)), POINTS, far, 97)
    assert learn(memory, (wrong, 1)).kind is Kind.UNKNOWN
    between = learn(ModelMemory(), (wrong, 0), (Kind.PLAIN, 0), (wrong, 1))
    assert between.kind is Kind.UNKNOWN


def test_the_beginning_of_all_prompts_tells_nothing() -> None:
    """
    Where a prompt parted from another there is a checkpoint, and so may another client's prompt
    part.
    """
    seams = tuple(point._replace(is_seam=True) for point in POINTS)
    memory = ModelMemory()
    for cut, n_reused in zip(CUT, SIGNS[Kind.RECURRENT], strict=True):
        memory = learn_memory(memory, seams, cut, n_reused)
    assert memory == ModelMemory()


def test_a_server_that_keeps_more_is_one_of_ours() -> None:
    """How near checkpoints may lie is not told; what is reused shows it."""
    memory = ModelMemory(Kind.RECURRENT)
    closer = learn_memory(memory, POINTS, Compared(97, 100, 103), 97)
    assert closer.min_step == CLOSE_STEP
    again = learn_memory(closer, POINTS, Compared(97, 100, 103), 50)
    assert (again.min_step, again.kind) == (memory.min_step, memory.kind)


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
    """A hundred prompts, each cut somewhere, with more checkpoints than it keeps."""
    http = Http(url)
    mirror = Mirror(1, memory=FEW)
    rng = random.Random(1)
    mirror.saves = False
    held: list[int] = []
    for _ in range(100):
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

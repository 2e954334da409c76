"""Decisions: how large a step, how long a burst, which chunks somebody can be shown at once."""

from __future__ import annotations

import pytest

from fim_lsp.engine import affordable, burst_tokens, step_tokens
from fim_lsp.view import Frame, Header
from fim_lsp.window import Window
from server_bridge.protocol import Chunk, Health, Measure, State

CHUNKS = tuple(Chunk(f"{n}.py", f"text {n}") for n in range(3))
FRAME = Frame(Header("shop", CHUNKS, "a.py"), Window(0, 0, "", ""))


@pytest.mark.parametrize(("decode_ms", "tokens"), [(1000.0, 2), (12.0, 4), (0.1, 8)])
def test_a_burst_is_as_long_as_nobody_notices(decode_ms: float, tokens: int) -> None:
    """Slow models decode few tokens at a time, so a newer key never waits for long."""
    state = State(Health.READY, "llama-server", decode_ms=decode_ms)
    assert burst_tokens(state) == tokens


@pytest.mark.parametrize(("per_s", "tokens"), [(10.0, 64), (1000.0, 250), (1e6, 4096)])
def test_a_step_of_prefill_takes_a_quarter_of_a_second(per_s: float, tokens: int) -> None:
    """Within bounds, it follows the measured speed."""
    assert step_tokens(State(Health.READY, "llama-server", prefill_per_s=per_s)) == tokens


@pytest.mark.parametrize(
    ("cached", "n_chunks", "left"),
    [
        (0, 0, 40),  # nothing is held, not even the name of the workspace
        (4, 0, 40),
        (103, 0, 40),  # a part of a chunk is of no use
        (104, 1, 40),
        (304, 3, 40),
        (330, 3, 14),
    ],
)
def test_somebody_who_waits_is_shown_the_chunks_that_are_held(
    cached: int, n_chunks: int, left: int
) -> None:
    """Chunks to be evaluated first are left out; what is left to evaluate is said."""
    measure = Measure(
        total=344, cached=cached, repo=4, chunks=(100, 100, 100), path=5, prefix=20, suffix=10, middle=5
    )  # fmt: skip
    cost, frame = affordable(FRAME, measure)
    assert (cost, frame.header.chunks) == (left, CHUNKS[:n_chunks])

"""How much context was new to a server, and a ring that is full."""

from __future__ import annotations

import pytest

from benchmarks.contexts import N_CHUNKS, chunks, n_new, openings

MARKS: set[int | None] = {
    1,
    2,
    3,
    9,
    None,
}  # prefix, suffix, middle, file; None where a model has no such


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ([[9, 5, 5, 1, 6, 2, 7, 3, 8]], 7),
        ([[9, 5, 5, 1, 6, 2, 7, 3, 8], [9, 5, 5, 1, 6, 2, 7, 3, 8, 8, 8]], 7),
        ([[9, 5, 5, 1, 6, 2, 7, 3], [9, 5, 5, 9, 4, 1, 6, 2, 7, 3]], 9),
        ([[9, 5, 5, 1, 6, 2, 7, 3], [9, 5, 5, 1, 6, 6, 2, 7, 3]], 10),
        ([[9, 5], [9, 5, 5, 1], [9, 5, 5, 1, 6, 2]], 5),
        ([[8, 8, 8]], 0),
    ],
    ids=["one prompt", "typing", "a chunk more", "a new window", "in steps", "no parts"],
)
def test_new_context_is_counted_once(prompts: list[list[int]], expected: int) -> None:
    """Chunks and windows count when they first stand in a prompt; what is typed never does."""
    assert n_new(prompts, MARKS) == expected


def test_a_ring_is_full() -> None:
    """Sixteen chunks, of files that an editor has open before a trace begins."""
    names = {step.uri.rpartition("/")[2] for step in openings()}
    assert len(chunks()) == N_CHUNKS
    assert {chunk.name for chunk in chunks()} <= names

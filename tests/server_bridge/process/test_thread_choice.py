"""Cores into candidates, and what they took into numbers of threads."""

from __future__ import annotations

import pytest

from server_bridge.process.thread_choice import Cost, candidates, choose


@pytest.mark.parametrize(
    ("cores", "expected"),
    [
        (1, [1]),
        (2, [2]),
        (3, [2, 3]),
        (4, [2, 4, 3]),
        (6, [3, 6, 5]),
        (8, [4, 8, 6]),
        (10, [5, 10, 8]),  # eight fast cores and two efficient ones
        (16, [8, 16, 12, 4]),
        (64, [32, 64, 48, 16]),
    ],
)
def test_candidates(cores: int, expected: list[int]) -> None:
    """The usual number is the first; where there are no others, there is nothing to measure."""
    assert candidates(cores) == expected


QUIET = {4: Cost(20, 2), 8: Cost(21, 1), 6: Cost(19.5, 1.3)}
BUSY = {4: Cost(60, 9), 8: Cost(200, 2), 6: Cost(58, 4)}


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([], None),
        ([QUIET], None),
        ([QUIET, QUIET], (4, 8)),
        ([QUIET, QUIET, BUSY], (4, 8)),
        ([{4: Cost(20, 2), 8: Cost(30, 1.91), 6: Cost(25, 1.95)}] * 2, (4, 4)),  # less than 5 %
        ([{4: Cost(20, 2), 8: Cost(18, 1), 6: Cost(18.5, 1.04)}] * 2, (6, 6)),  # cores are left to others
        ([{4: Cost(20, 2), 8: Cost(15, 4), 6: Cost(16, 3)}] * 2, (8, 4)),
        # A slow time slows down a whole round.
        ([QUIET, {n: Cost(9 * a, 9 * b) for n, (a, b) in QUIET.items()}], (4, 8)),
    ],
)  # fmt: skip
def test_the_fastest_is_chosen_where_it_is_clearly_faster(
    rounds: list[dict[int, Cost]], expected: tuple[int, int] | None
) -> None:
    """By the median, beside the usual number in the same round; writing and reading each for itself."""
    assert choose(8, rounds) == expected

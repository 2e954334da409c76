"""A ratio of sums over sessions with its 95 % interval, by drawing sessions again (bootstrap). Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

TIMES = 4000
SEED = 0
LOW = 0.025
HIGH = 0.975


class Interval(NamedTuple):
    """A value between the bounds within which it is in 95 % of the draws."""

    low: float
    middle: float
    high: float


def bootstrap(sessions: Sequence[tuple[float, float]], times: int = TIMES) -> Interval:
    """Return the sum of the first numbers of *sessions* by the sum of the second ones."""
    rng = random.Random(SEED)
    drawn = sorted(ratio(rng.choices(sessions, k=len(sessions))) for _ in range(times))
    return Interval(drawn[int(LOW * times)], ratio(sessions), drawn[int(HIGH * times)])


def ratio(sessions: Sequence[tuple[float, float]]) -> float:
    """Return the ratio of the two sums, 0 for none."""
    return sum(part for part, _ in sessions) / (sum(whole for _, whole in sessions) or 1)

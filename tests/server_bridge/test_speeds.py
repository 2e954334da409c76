"""What requests cost: measurements that cannot be, and streams piece by piece."""

from __future__ import annotations

import math

import pytest

from server_bridge.protocol import Health, State, Timings
from server_bridge.speeds import RunningMean, Speeds


@pytest.mark.parametrize("absurd", [math.inf, -math.inf, math.nan, -1.0, 0.0, 1e300, 1e-300])
@pytest.mark.parametrize("name", ["chars_per_token", "prefill_per_s", "decode_ms"])
def test_an_absurd_measurement_is_ignored(name: str, absurd: float) -> None:
    """The mean stays what it was, and goes on with the next sound measurement."""
    guesses = State(Health.UNKNOWN, "", chars_per_token=5.0, prefill_per_s=5.0, decode_ms=5.0)
    mean: RunningMean = getattr(Speeds(guesses), name)
    mean.add(absurd)
    assert mean.value == 5.0
    for _ in range(30):
        mean.add(10.0)
    assert 9.9 < mean.value <= 10.0


FIRST = Timings(prompt_n=9, cache_n=90, predicted_n=1, prompt_ms=5.0)


def test_only_the_first_piece_says_what_was_cached() -> None:
    """All that came before it in steps was evaluated, and is no find in the cache."""
    then = Timings(cache_n=99, predicted_n=2, draft_accepted_n=1)
    assert FIRST.plus(then) == Timings(9, 90, 3, 5.0, draft_accepted_n=1)
    assert Timings(prompt_n=80).plus(FIRST) == Timings(89, 10, 1, 5.0)


def test_a_part_is_what_came_since() -> None:
    """A server that counts less than before has taken nothing back."""
    assert FIRST.plus(Timings(predicted_n=2)).since(FIRST) == Timings(predicted_n=2)
    assert Timings().since(FIRST) == Timings()

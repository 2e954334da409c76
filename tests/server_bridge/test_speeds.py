"""Measurements that cannot be."""

from __future__ import annotations

import math

import pytest

from server_bridge.protocol import Health, State
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

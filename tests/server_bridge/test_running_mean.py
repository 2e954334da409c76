"""Measurements that cannot be."""

from __future__ import annotations

import math

import pytest

from server_bridge.running_mean import RunningMean, chars_per_token, decode_ms, prefill_per_s


@pytest.mark.parametrize("absurd", [math.inf, -math.inf, math.nan, -1.0, 0.0, 1e300, 1e-300])
@pytest.mark.parametrize("make", [chars_per_token, prefill_per_s, decode_ms])
def test_an_absurd_measurement_is_ignored(make, absurd: float) -> None:
    """The mean stays what it was, and goes on with the next sound measurement."""
    mean: RunningMean = make(5.0)
    mean.add(absurd)
    assert mean.value == 5.0
    for _ in range(30):
        mean.add(10.0)
    assert 9.9 < mean.value <= 10.0

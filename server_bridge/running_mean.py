"""A running mean of what is measured, that no absurd measurement can spoil. Pure."""

from __future__ import annotations

SMOOTHING = 0.2  # weight of the newest measurement: settles in about ten


class RunningMean:
    """
    *value* is the mean, a guess at first. A measurement outside *low*…*high*, or NaN, is ignored.
    """

    def __init__(self, guess: float, low: float, high: float) -> None:
        self.value = guess
        self._low = low
        self._high = high

    def add(self, measured: float) -> None:
        """Take a measurement in."""
        if self._low <= measured <= self._high:
            self.value += SMOOTHING * (measured - self.value)


def chars_per_token(guess: float) -> RunningMean:
    """
    Return characters per token: below one in some scripts, and some tenfold in runs of spaces.
    """
    return RunningMean(guess, 0.1, 100.0)


def prefill_per_s(guess: float) -> RunningMean:
    """Return tokens evaluated per second."""
    return RunningMean(guess, 0.1, 1e7)


def decode_ms(guess: float) -> RunningMean:
    """Return milliseconds per generated token."""
    return RunningMean(guess, 1e-3, 60_000.0)

"""The speeds of a model server, as its answers show; no absurd measurement spoils them. Pure."""

from __future__ import annotations

import math
from typing import Any

from server_bridge.protocol import Health, State

SMOOTHING = 0.2  # weight of the newest measurement: settles in about ten
ENOUGH_CHARS = 200  # shorter texts say little about characters per token
ENOUGH_TOKENS = 32  # shorter prompts measure the request, not the speed
GUESS = State(Health.UNKNOWN, "")


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


class Speeds:
    """The three that a `State` tells; *state* has the guesses."""

    def __init__(self, state: State = GUESS) -> None:
        # Below one in some scripts, and some tenfold in runs of spaces.
        self.chars_per_token = RunningMean(state.chars_per_token, 0.1, 100.0)
        self.prefill_per_s = RunningMean(state.prefill_per_s, 0.1, 1e7)
        self.decode_ms = RunningMean(state.decode_ms, 1e-3, 60_000.0)

    def learn_text(self, n_chars: int, n_tokens: int) -> None:
        """Learn from the length of a text."""
        if n_chars >= ENOUGH_CHARS and n_tokens:
            self.chars_per_token.add(n_chars / n_tokens)

    def learn_prefill(self, n_tokens: int, ms: float, enough_ms: float = math.inf) -> None:
        """Learn from a prompt, which may be short if it took *enough_ms*."""
        if ms and (n_tokens >= ENOUGH_TOKENS or ms >= enough_ms):
            self.prefill_per_s.add(1000 * n_tokens / ms)

    def learn_decoding(self, n_tokens: int, ms: float) -> None:
        """Learn how fast tokens came; the first comes of the prompt."""
        if n_tokens > 1:
            self.decode_ms.add(ms / (n_tokens - 1))

    @property
    def values(self) -> dict[str, Any]:
        """The fields of a `State`."""
        return {name: mean.value for name, mean in vars(self).items()}

"""The answer to a completion request: suggestions, outcome, reason, and the cost of this request alone. Values."""

from __future__ import annotations

from typing import NamedTuple

from fim_lsp.suggest.request import Suggestion
from server_bridge.protocol import Timings


class Cost(NamedTuple):
    """Tokens evaluated, found in the cache and decoded; milliseconds of evaluation and of decoding."""

    evaluated: int = 0
    cached: int = 0
    predicted: int = 0
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0

    def plus(self, timings: Timings) -> Cost:
        """Add a piece of a stream; what was evaluated in steps before it is no find in the cache."""
        return Cost(
            self.evaluated + timings.prompt_n,
            self.cached or max(0, timings.cache_n - self.evaluated),
            self.predicted + timings.predicted_n,
            self.prompt_ms + timings.prompt_ms,
            self.predicted_ms + timings.predicted_ms,
        )

    def since(self, before: Cost) -> Cost:
        """Return the cost after *before*."""
        return Cost(*(now - then for now, then in zip(self, before, strict=True)))  # type: ignore[arg-type]

    def with_sample(self, other: Cost) -> Cost:
        """Add what another sample of the same prompt cost."""
        return Cost(*(mine + its for mine, its in zip(self, other, strict=True)))  # type: ignore[arg-type]


class Answer(NamedTuple):
    """
    *suggestions*, the best first; *outcome* is `backend`, `cache`, `local`, or why there are none, by the names of
    `fim/stats`; *reason* says in words where they come from, or why there are none. *is_failure*: the model could
    not answer.
    """

    suggestions: list[Suggestion]
    outcome: str = ""
    reason: str = ""
    is_failure: bool = False
    cost: Cost = Cost()

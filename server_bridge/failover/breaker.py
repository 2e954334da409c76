"""
When to ask a server again that failed: a circuit breaker, one per endpoint. Pure.

    closed ──failure──▶ open ──its time is up──▶ half-open ──probe fails──▶ open, for longer
       ▲                                             │
       └───────────────── probe succeeds ────────────┘

Open, nothing is sent. Half-open, one harmless question is: never a user's completion while there is
somebody else to answer it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xxhash import xxh3_64_intdigest

FIRST_S = 0.25  # a server that restarts is back in a moment
LONGEST_S = 2.0  # a server that comes back is in use again within 5 s
UNASKED_S = 4.0  # for servers that nobody named and that may never be there
STRANGER_S = 30.0  # what answers on a usual port and is no model server has a log of its own
SPREAD = 0.5  # of the delay, by which the clients of one server differ
N_SLOW = 2  # one slow answer is no failure yet


@dataclass(slots=True)
class Breaker:
    """*seed* is who we are and whom we ask; *named* is whether the user wants us to."""

    seed: str
    named: bool = True
    n_failures: int = 0
    n_slow: int = 0
    retry_at: float = 0.0  # seconds on the caller's clock

    @property
    def is_closed(self) -> bool:
        """Whether all is well, as far as known."""
        return self.n_failures == 0

    def is_half_open(self, now: float) -> bool:
        """Whether it is time for a probe."""
        return self.n_failures > 0 and now >= self.retry_at

    def succeed(self) -> None:
        """An answer came."""
        self.n_failures = self.n_slow = 0

    def slow(self, now: float) -> None:
        """No answer came in time."""
        self.n_slow += 1
        if self.n_slow >= N_SLOW or self.n_failures:
            self.fail(now)

    def fail(self, now: float, *, wrong: bool = False) -> None:
        """It failed; *wrong*: by an answer that somebody has to mend."""
        self.n_failures += 1
        longest = LONGEST_S if self.named else STRANGER_S if wrong else UNASKED_S
        self.retry_at = now + delay(self.n_failures, longest, self.seed)


def delay(n_failures: int, longest: float, seed: str) -> float:
    """Seconds until the next probe: doubling, and for each *seed* a little different."""
    share = xxh3_64_intdigest(f"{seed} {n_failures}".encode()) / 2**64
    most: float = min(longest, FIRST_S * 2 ** min(n_failures - 1, 16))
    return most * (1 - SPREAD * share)

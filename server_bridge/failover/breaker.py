"""
A circuit breaker, one per endpoint: when to ask a server again that failed. Pure.

    closed ──failure──▶ open ──its time is up──▶ half-open ──probe fails──▶ open, for longer
       ▲                  ▲                          │
       │                  └─completion fails─┐       │ probe succeeds
       ├────── completion succeeds ─────── on trial ◀┤ after a failure at work
       └─────────────────────────────────────────────┘ after a failure to connect

Open, nothing is sent. Half-open, one harmless question is, never a user's completion while another
server can answer it. A server that connects and then fails at work is on trial after a good probe: it
gets the next completion, and only that closes the breaker.
"""

from __future__ import annotations

from dataclasses import dataclass

from xxhash import xxh3_64_intdigest

FIRST_S = 0.25  # a server that restarts is back in a moment
LONGEST_S = 2.0  # a server that comes back is in use again within 5 s
UNASKED_S = 4.0  # for servers that the user did not name and that may never be there
UNRELATED_S = 30.0  # what answers on a usual port and is no model server has a log of its own
SPREAD = 0.5  # of the delay, by which the clients of one server differ
N_SLOW = 2  # one slow answer is no failure yet


@dataclass(slots=True)
class Breaker:
    """*seed* is this client and the server; *named*: the user asked for that server."""

    seed: str
    named: bool = True
    n_failures: int = 0
    n_slow: int = 0
    retry_at: float = 0.0  # seconds on the caller's clock
    failed_at_work: bool = False  # after it had connected
    is_on_trial: bool = False

    @property
    def is_closed(self) -> bool:
        """Return whether the server is healthy, as far as known."""
        return self.n_failures == 0

    def is_half_open(self, now: float) -> bool:
        """Return whether it is time for a probe."""
        return self.n_failures > 0 and not self.is_on_trial and now >= self.retry_at

    def note_connection(self) -> None:
        """Note that a probe succeeded, or the first connection."""
        self.is_on_trial = self.failed_at_work
        if not self.failed_at_work:
            self.n_failures = 0

    def succeed(self) -> None:
        """Note a completion."""
        self.n_failures = self.n_slow = 0
        self.failed_at_work = self.is_on_trial = False

    def slow(self, now: float) -> None:
        """Note that no answer came in time."""
        self.n_slow += 1
        if self.n_slow >= N_SLOW or self.n_failures:
            self.fail(now, at_work=True)

    def fail(
        self, now: float, *, wrong: bool = False, at_work: bool = False, least_s: float = 0.0
    ) -> None:
        """
        Note a failure, *at_work* or when it was connected; *wrong*: until the user changes something. It asked
        to be left alone for *least_s*: clients that were told so at the same time come back one after the
        other.
        """
        self.n_failures += 1
        self.is_on_trial = False
        self.failed_at_work = self.failed_at_work or at_work
        longest = LONGEST_S if self.named else UNRELATED_S if wrong else UNASKED_S
        usual = delay(self.n_failures, longest, self.seed)
        asked = least_s * (1 + SPREAD * _share(self.seed, self.n_failures))
        self.retry_at = now + max(usual, asked)


def delay(n_failures: int, longest: float, seed: str) -> float:
    """Return the seconds until the next probe: doubling, and for each *seed* a little different."""
    most: float = min(longest, FIRST_S * 2 ** min(n_failures - 1, 16))
    return most * (1 - SPREAD * _share(seed, n_failures))


def _share(seed: str, n_failures: int) -> float:
    """Return a number from 0 to 1."""
    return float(xxh3_64_intdigest(f"{seed} {n_failures}".encode()) / 2**64)

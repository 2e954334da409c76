"""
The quietness of a session: the snooze, and what the user did with the last suggestions.

Mutable state, owned by the session. The suggestion on screen belongs to its document
(`acceptance`), the decisions are in `suggest/back_off`. The end of a snooze is on the wall's clock,
which goes on while the machine sleeps: the user is shown it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from fim_lsp.suggest import back_off
from fim_lsp.suggest.back_off import PastReaction, Reaction

MOST_MINUTES = 24 * 60.0
# reactions: five are enough for all that they do, and each costs half a microsecond
REMEMBERED = 16


class Quietness:
    """How quiet a session is; *clock* tells seconds."""

    def __init__(
        self, clock: Callable[[], float], wall: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.clock = clock
        self._wall = wall
        self._until = wall()
        self._snoozed_s = 0.0
        self._wanted = "normal"  # how many suggestions, as of the last request
        self._reactions: deque[PastReaction] = deque(maxlen=REMEMBERED)
        self._refused = Counter[Reaction]()  # since one was taken

    def snooze(self, minutes: float) -> None:
        """Stop automatic suggestions for so long; 0 ends it."""
        self._snoozed_s = 60 * max(0.0, min(minutes, MOST_MINUTES))
        self._until = self._wall() + timedelta(seconds=self._snoozed_s)

    @property
    def remaining_s(self) -> float:
        """
        Return how many seconds of quiet are left; no more than were asked for, if the clock was set
        back.
        """
        return max(0.0, min((self._until - self._wall()).total_seconds(), self._snoozed_s))

    @property
    def until(self) -> str:
        """Until when, on the clock of the machine; "" while suggestions come."""
        until = self._wall() + timedelta(seconds=self.remaining_s)
        return f"{until.astimezone():%H:%M}" if self.remaining_s else ""

    @property
    def is_snoozed(self) -> bool:
        """Return whether there are no automatic suggestions now."""
        return self.remaining_s > 0

    def wait_ms(self, usual_ms: float, wanted: str) -> float:
        """
        Return how long an automatic request waits for the next key in place of *usual_ms*, where
        the user *wanted* so many suggestions.
        """
        self._wanted = wanted
        return back_off.wait_ms(usual_ms, self._strength())

    def note_reaction(self, reaction: Reaction, since: float) -> None:
        """
        Record the *reaction* to a suggestion that is on screen *since* then; one that was typed
        against before it can have been read says nothing.
        """
        now = self.clock()
        if reaction is Reaction.IGNORED and now - since < back_off.READ_S:
            return
        self._reactions.append(PastReaction(reaction, now))
        if reaction in back_off.TAKEN:
            self._refused.clear()
        else:
            self._refused[reaction] += 1

    def why(self) -> str:
        """Return why suggestions come later than usual, "" where they do not."""
        refused = back_off.describe_refused(self._refused)
        return f"quiet: {refused}" if refused and self._strength() >= back_off.NEAR_ONE else ""

    def snapshot(self) -> dict[str, object]:
        """Return the part of `fim/stats`."""
        return {"until": self.until, "rarer": round(self._strength(), 2), "why": self.why()}

    def _strength(self) -> float:
        return back_off.strength(self._reactions, self.clock(), self._wanted)

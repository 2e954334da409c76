"""
The quietness of a session: the snooze, the fate of the last suggestions, the learned record.

Mutable state, owned by the session: the last verdicts; the record of this user, which is kept in a
private file of numbers. What is on screen belongs to its document (`acceptance`). The decisions are
in `suggest/worth`. The end of a snooze is on the wall's clock, which goes on while the machine
sleeps: the user is shown it.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from fim_lsp.suggest import back_off, worth
from fim_lsp.suggest.back_off import PastReaction, Reaction
from fim_lsp.suggest.confidence import likelihood
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.request import CompletionRequest
from fim_lsp.suggest.worth import Prospect, Record
from server_bridge.machine import private_files

FILE = "quiet.json"
MOST_MINUTES = 24 * 60.0
REMEMBERED = 16  # verdicts: five are enough for all that they do, and each costs half a microsecond
MANY = 10  # refused one after the other: the user is told once that some are hidden


@dataclass(slots=True)
class Exposure:
    """
    A suggestion in front of the user since (seconds); *is_judged*: what became of it is learned, or
    not worth it.
    """

    place: Prospect | None
    since: float
    is_judged: bool = False


class Quietness:
    """
    How quiet a session is. *folder* is where the record is kept, None for nowhere; *clock* tells
    seconds.
    """

    def __init__(
        self,
        folder: Path | None,
        clock: Callable[[], float],
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.record = Record()
        if folder is not None:
            self.record = private_files.restore(folder / FILE, worth.restore, self.record)
        self.n_hidden, self.hides = 0, False
        self._path = folder / FILE if folder else None
        self._written = self.record
        self._clock, self._wall = clock, wall
        self._until, self._snoozed_s = wall(), 0.0
        self._wanted = "normal"  # how many suggestions, as of the last request
        self._judged: deque[PastReaction] = deque(maxlen=REMEMBERED)
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

    def wait_ms(self, usual_ms: float, request: CompletionRequest) -> float:
        """Return how long an automatic request waits for the next key in place of *usual_ms*."""
        if not request.config.completion.learn:
            return usual_ms
        self._wanted = request.config.suggestions
        return back_off.wait_ms(usual_ms, self._strength())

    def weigh(
        self,
        request: CompletionRequest,
        candidate: Candidate,
        pause_s: float,
        *,
        so_far: bool,
        goes_on: bool = False,
    ) -> Exposure | None:
        """
        Return what to learn from when *candidate* is shown, None where it is not worth it.

        *so_far*: the text is still growing; *goes_on*: a part of it is on screen already, so it
        stays visible.
        """
        self.hides &= request.config.completion.learn
        if request.sure <= 0 or not request.config.completion.learn:
            # Asked by hand, or the user wants to see everything.
            return Exposure(None, 0.0, is_judged=True)
        text, before = candidate.text, request.cursor.before
        place = Prospect(
            request.document.language, likelihood(candidate),
            len(text), text.count("\n") + 1, before, pause_s,
        )  # fmt: skip
        shown = goes_on or worth.is_worth(self.record, place, self._strength())
        if not shown and not so_far and request.client.offers:
            self.n_hidden += 1
            self.hides |= self._refused.total() >= MANY
            shown = self.n_hidden % worth.AGAIN == 0
        return Exposure(place, self._clock()) if shown else None

    def _strength(self) -> float:
        return back_off.strength(self._judged, self._clock(), self._wanted)

    def judge(self, exposure: Exposure | None, reaction: Reaction) -> None:
        """
        Learn the *reaction* to a suggestion, once; one that was typed against before it can have
        been read says nothing.
        """
        if exposure is None or exposure.place is None or exposure.is_judged:
            return
        exposure.is_judged, now = True, self._clock()
        if reaction is Reaction.IGNORED and now - exposure.since < back_off.READ_S:
            return
        self._judged.append(PastReaction(reaction, now))
        taken, accepted = reaction in back_off.TAKEN, reaction is Reaction.ACCEPTED
        if taken:
            self._refused.clear()
            self.hides = False
        else:
            self._refused[reaction] += 1
        self.record = worth.learn(self.record, exposure.place, taken=taken, accepted=accepted)

    def why(self) -> str:
        """Return why suggestions are rarer than usual, "" where they are not."""
        is_rarer = self.hides or self._strength() >= back_off.NEAR_ONE
        refused = back_off.describe_refused(self._refused)
        return f"quiet: {refused}" if is_rarer and refused else ""

    def snapshot(self) -> dict[str, object]:
        """Return the part of `fim/stats`."""
        return {
            "until": self.until,
            "hidden": self.n_hidden,
            "rarer": round(self._strength(), 2),
            "why": self.why(),
            "learned": worth.describe_record(self.record),
        }

    def forget(self) -> None:
        """Begin again without a record."""
        self.record = self._written = Record()

    def write(self) -> bool:
        """
        Keep the record; whether its file was deleted meanwhile (`fim-lsp forget`), so that it is to
        be forgotten. Blocking.
        """
        record = self.record
        if self._path is None or record == self._written == Record():
            return False
        if self._written != Record() and not self._path.exists():
            return True
        if record != self._written:
            with contextlib.suppress(OSError):
                private_files.write(self._path, msgspec.json.encode(record))
                self._written = record
        return False

"""
What a simulated user saw over a history: counts, and what they come to.

The user refuses what is wrong, so its pattern stays quiet for the rest of the commit; what is right is
not taken, because the commit goes on in its own order.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.next_edit.replay import Ask
from fim_lsp.next_edit.edits import Lines


class Where(enum.Enum):
    """Places are shown from different levels on."""

    OPEN = "an open file"
    RENAMED = "a renamed name in a file that is not open"
    UNOPENED = "anything else in one"


class Shown(NamedTuple):
    """A proposal, how sure it is, what a refusal is remembered by, and where it is."""

    uri: str
    line: int
    before: Lines
    after: Lines
    confidence: float
    pattern: object
    where: Where = Where.OPEN

    @property
    def change(self) -> object:
        """Return what is refused besides the pattern."""
        return self.uri, self.before, self.after


Ranked = list[Shown]  # the surest first; those in files that are not open last


class JudgedAsk(NamedTuple):
    """
    An ask, and what the engine had: *ranked*, each with how sure it is, what a refusal is remembered
    by, where it is, and whether it was right.
    """

    commit: str
    recurs: bool
    more: bool  # changes follow
    ranked: tuple[tuple[float, AbstractSet[object], Where, bool], ...]


@dataclass
class Score:
    """Counts over asks and commits."""

    asks: int = 0  # where more changes follow
    shown: int = 0
    right: int = 0
    covered: int = 0  # of the asks
    calm: int = 0  # commits without a recurring change
    quiet: int = 0  # … in which nothing was shown
    unopened: int = 0  # of those shown, in files that are not open
    unopened_right: int = 0

    @property
    def precision(self) -> float:
        """Right ones among those shown."""
        return self.right / self.shown if self.shown else 1.0

    @property
    def unopened_precision(self) -> float:
        """Right ones among those shown in files that are not open."""
        return self.unopened_right / self.unopened if self.unopened else 1.0

    @property
    def coverage(self) -> float:
        """Asks with a proposal among those where more changes follow."""
        return self.covered / self.asks if self.asks else 0.0

    @property
    def silence(self) -> float:
        """Commits without a proposal among those without a recurring change."""
        return self.quiet / self.calm if self.calm else 1.0

    def __add__(self, other: Score) -> Score:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Score(*(one + two for one, two in pairs))


def judge(ask: Ask, ranked: Ranked) -> JudgedAsk:
    """Return what is kept of an ask."""
    judged = tuple(
        (
            proposal.confidence,
            {proposal.pattern, proposal.change},
            proposal.where,
            ask.is_right(*proposal[:4]),
        )
        for proposal in ranked
    )
    return JudgedAsk(ask.commit, ask.recurs, bool(ask.todo), judged)


def score(asks: Iterable[JudgedAsk], levels: Mapping[Where, float]) -> Score:
    """Return the counts where a proposal is shown from these levels on."""
    total = Score()
    refused = dict[str, set[object]]()
    calm: set[str] = set()
    noisy: set[str] = set()
    for ask in asks:
        total.asks += ask.more
        calm |= set() if ask.recurs else {ask.commit}
        quiet = refused.setdefault(ask.commit, set())
        for confidence, keys, where, is_right in ask.ranked:
            if confidence < levels[where] or keys & quiet:
                continue
            total.shown += 1
            total.right += is_right
            total.unopened += where is not Where.OPEN
            total.unopened_right += is_right and where is not Where.OPEN
            total.covered += ask.more
            noisy.add(ask.commit)
            if not is_right:
                quiet |= keys
            break
    total.calm = len(calm)
    total.quiet = len(calm - noisy)
    return total

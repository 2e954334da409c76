"""
The fate of the last suggestions into how long the next ones wait, which fades within minutes.
Pure.

Each suggestion that was not wanted makes the next ones wait longer, each that was taken undoes a
part of it. The rule is Copilot's (`userInteractionMonitor.ts`): the product of a factor for each,
whose exponent fades with e^(-t / 10 min). Its 1.5 is for a suggestion that was dismissed; one that
is only typed against may not have been read.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Reaction(enum.Enum):
    """The user's reaction to a suggestion."""

    ACCEPTED = "accepted"
    TYPED_ALONG = "typed along"
    DISMISSED = "dismissed"
    IGNORED = "typed against"


TAKEN = (Reaction.ACCEPTED, Reaction.TYPED_ALONG)
REFUSED = (Reaction.DISMISSED, Reaction.IGNORED)
FACTORS = {
    Reaction.ACCEPTED: 0.8,  # Copilot's
    Reaction.TYPED_ALONG: 0.8,  # right, too
    Reaction.DISMISSED: 1.5,  # Copilot's
    Reaction.IGNORED: 1.2,  # two are about one that was dismissed
}
FADE_S = 600.0  # Copilot's ten minutes
MOST = 6.0  # more than four in a row change nothing: Copilot's waits end at a bound, too
READ_S = 0.3  # to see that something is there and what: about the shortest fixation of a reader
# Of a suggestion that was typed along, or accepted in part: Neovim sends what is typed within
# 150 ms as one change; three keys take longer than that.
ALONG_CHARS = 3
# the wait that is made longer where there is none; with a much larger one a user who always
# dismisses loses keys that would be saved
STEP_MS = 20.0
MOST_WAIT_MS = 3000.0  # Copilot's
# how much a suggestion that was refused counts, by `fim.suggestions`
WEIGHTS = {"fewer": 2.0, "normal": 1.0, "more": 0.5, "one line": 1.0}
NEAR_ONE = 1.25  # less is not worth telling the user


class PastReaction(NamedTuple):
    """A suggestion that ended, and when (seconds)."""

    verdict: Reaction
    at: float


def strength(judged: Iterable[PastReaction], now: float, wanted: str = "normal") -> float:
    """
    Return how many times as much an interruption counts now as at the beginning, for a user who
    *wanted* so many suggestions; 1 where nothing was dismissed.
    """
    total = 0.0
    for verdict, at in judged:
        fading = math.exp(-max(0.0, now - at) / FADE_S)
        weight = WEIGHTS[wanted] if verdict in REFUSED else 1.0
        total = max(0.0, total + weight * math.log(FACTORS[verdict]) * fading)
    return min(MOST, math.exp(total))


def wait_ms(usual_ms: float, strong: float) -> float:
    """Return how long to wait after a key in place of *usual_ms*."""
    return max(usual_ms, min((usual_ms + STEP_MS) * strong - STEP_MS, MOST_WAIT_MS))


def describe_refused(counts: Mapping[Reaction, int]) -> str:
    """Return in words how many suggestions were refused, and how."""
    refused = [(counts.get(one, 0), one.value) for one in REFUSED]
    return " and ".join(f"{n} {'was' if n == 1 else 'were'} {how}" for n, how in refused if n)

"""
When a server is given up: the signs of a server whose answer is late, and what follows.

A time-out says that an answer is late, and never why. So each one has the server looked at, and
every rule that gives a request, a connection, a server or a process up is a row of `RULES`. Pure.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import NamedTuple

LOOK_S = 5.0  # the server of an answer that takes longer is looked at
SOON_S = 2.0  # the same of what a server knows without thinking
LATE_S = 2.0  # an answer that takes longer is late: our steps are to take a quarter of a second
CALM_S = 8.0  # without a late one answers come in time again
HURRIED_S = 1.2  # where another server waits: two fit into a completion's deadline
HUNG_S = 60.0  # a process of ours that computes nothing for so long does not begin again
# 70 GB from a disk; a prompt that ik_llama.cpp evaluates, and answers nothing else; a queue before
# our steps, each a quarter of a second, of a server that may lie
LOAD_S = 600.0
TWICE_S = 1.0  # less than there is between two looks


class ServerKind(enum.Enum):
    """Whose server it is, and what else there is."""

    ENGINE = "a process of ours"
    LLAMA = "a llama.cpp server that was met"
    TEXT = "an OpenAI-style server"
    HURRIED = "a server that was never met, or another one waits beside it"


class Seen(enum.Enum):
    """The result of a look at a server whose answer is late."""

    WORKING = "a slot is busy, its processor time moves, or a stream has signs of life"
    IDLE = "it answers, and no slot is busy"
    DEAF = "it takes connections and answers nothing"
    GONE = "its process has ended, or it takes no connection"


class NextStep(enum.Enum):
    """The next step."""

    WAIT = "wait"
    ASK_AGAIN = "close the connection and ask again"
    LEAVE = "close the connection; another server is asked, if there is one"
    END = "end the process, and start another"


class Allowance(NamedTuple):
    """The next step where it was seen so for *limit_s*."""

    limit_s: float
    step: NextStep


RULES: dict[tuple[ServerKind, Seen], Allowance] = {
    (ServerKind.ENGINE, Seen.WORKING): Allowance(math.inf, NextStep.WAIT),
    (ServerKind.ENGINE, Seen.IDLE): Allowance(TWICE_S, NextStep.ASK_AGAIN),
    (ServerKind.ENGINE, Seen.DEAF): Allowance(HUNG_S, NextStep.END),
    (ServerKind.ENGINE, Seen.GONE): Allowance(0.0, NextStep.ASK_AGAIN),
    (ServerKind.LLAMA, Seen.WORKING): Allowance(LOAD_S, NextStep.LEAVE),
    (ServerKind.LLAMA, Seen.IDLE): Allowance(TWICE_S, NextStep.ASK_AGAIN),
    (ServerKind.LLAMA, Seen.DEAF): Allowance(LOAD_S, NextStep.LEAVE),
    (ServerKind.LLAMA, Seen.GONE): Allowance(0.0, NextStep.LEAVE),
    (ServerKind.TEXT, Seen.WORKING): Allowance(LOAD_S, NextStep.LEAVE),  # a queue that never ends
    (ServerKind.TEXT, Seen.DEAF): Allowance(0.0, NextStep.LEAVE),  # `openai.waking` asks it again
    (ServerKind.HURRIED, Seen.WORKING): Allowance(LOAD_S, NextStep.LEAVE),
    (ServerKind.HURRIED, Seen.IDLE): Allowance(TWICE_S, NextStep.LEAVE),
    (ServerKind.HURRIED, Seen.DEAF): Allowance(0.0, NextStep.LEAVE),
    (ServerKind.HURRIED, Seen.GONE): Allowance(0.0, NextStep.LEAVE),
}


@dataclass(slots=True)
class Watch:
    """State: what was seen of a server while one answer is late, and since when."""

    server: ServerKind
    _seen: Seen | None = None
    _since: float = 0.0

    def decide(self, seen: Seen, now: float) -> NextStep:
        """Return what follows a look at the time *now*, in seconds."""
        if seen is not self._seen:
            self._seen = seen
            self._since = now
        limit_s, step = RULES[self.server, seen]
        return step if now - self._since >= limit_s else NextStep.WAIT

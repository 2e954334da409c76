"""
The tokens that a llama.cpp server reuses of its prompts, beside those that the mirror expects: the
advice for the user where they fall short. Pure.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from server_bridge.llama.checkpoints import WHERE_CUT, Kind
from server_bridge.llama.mirror import Mirror, Outlook

RECENT = 50  # requests that a judgement is founded on: a minute of typing
REPORT = "the engine keeps less of its prompts than it should: please report this, with the model"
OTHERS = (
    "other editors use the same engine, and what they need takes the place of what this one comes "
    "back to: close those that you do not use"
)
ODD = 0.05  # more wrong predictions than this are no accident


class CacheCheck:
    """
    The last `RECENT` predictions for a memory of one kind; `problem` is what to tell the user, ""
    while there is none.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._kind = Kind.UNKNOWN
        self._recent: deque[_Outcome] = deque(maxlen=RECENT)

    def compare(self, outlook: Outlook | None, n_reused: int, mirror: Mirror) -> None:
        """Compare a prediction, *outlook* of *mirror*, with what was reused."""
        if mirror.memory.kind is not self._kind:
            self._kind = mirror.memory.kind
            self.problem = ""
            self._recent.clear()
        if outlook is None or not outlook.sure:
            return
        self._recent.append(_Outcome(outlook, n_reused))
        short = [outcome for outcome in self._recent if outcome.n_reused < outcome.outlook.reused]
        if len(short) > ODD * RECENT:
            self.problem = _likely(short, list(self._recent), mirror)
        elif not short:
            self.problem = ""


class _Outcome(NamedTuple):
    outlook: Outlook
    n_reused: int


def _likely(short: list[_Outcome], recent: list[_Outcome], mirror: Mirror) -> str:
    """Return the likeliest reason for the outcomes in *short*, and what to change."""
    if not any(outcome.n_reused for outcome in recent):
        return (
            "the server keeps nothing between requests: its prompt cache is off, or requests go to "
            "several servers in turn"
        )
    if mirror.memory.aside_bytes is not None:  # our own engine: its user can set no option of it
        return REPORT if mirror.exclusive else OTHERS
    if all(outcome.outlook.loaded for outcome in short):
        return (
            "the server does not keep prompts in its memory, or not enough of them: start it with a "
            "larger --cache-ram, or with one slot per file in use (-np)"
        )
    if all(outcome.outlook.cut for outcome in short) and mirror.memory.kind in WHERE_CUT:
        return WHERE_CUT[mirror.memory.kind]
    if mirror.exclusive:
        return REPORT
    return (
        "another client uses the same slots of the server: give it more of them (-np), or a context "
        "large enough for all (-c)"
    )

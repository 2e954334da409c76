"""
Predictions of what a server reuses compared with what it says it reused, and what is likely wrong. Pure.

One wrong prediction is an accident (the server was restarted, another client came in between). Many of
them mean that the server evaluates more than it should, and how they differ tells why.
"""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from server_bridge.llama.checkpoints import CLOSE_STEP, Kind, Memory
from server_bridge.llama.mirror import Mirror, Outlook

RECENT = 50  # requests that a judgement is founded on: a minute of typing
FIXED = 10864  # llama.cpp's #28302, September 2026; #24110 came three months before
FUSSY = (Kind.RECURRENT, Kind.SLIDING)
ODD = 0.05  # more wrong predictions than this are no accident


class CacheCheck:
    """The last `RECENT` predictions; `problem` is what to tell the user, "" while there is none."""

    def __init__(self) -> None:
        self.problem = ""
        self._recent: deque[_Outcome] = deque(maxlen=RECENT)

    def compare(self, outlook: Outlook | None, found: int, mirror: Mirror) -> None:
        """Compare a prediction, *outlook* of *mirror*, with the *found* tokens that were reused."""
        if outlook is None or not outlook.sure:
            return
        self._recent.append(_Outcome(outlook, found))
        short = [each for each in self._recent if each.found < each.outlook.reused]
        if len(short) > ODD * RECENT:
            self.problem = _likely(short, list(self._recent), mirror)
        elif not short:
            self.problem = ""


class _Outcome(NamedTuple):
    outlook: Outlook
    found: int


def unfit(build: str, memory: Memory) -> str:
    """Return what is wrong with a server's *build* (`build_info`) or flags for such a *memory*; "" for nothing."""
    number = re.match(r"b(\d{3,6})\b", build)
    if memory.kind in FUSSY and number and int(number[1]) < FIXED:
        return (
            f"llama.cpp b{number[1]} loses the states of a {memory.kind.value} model that are gone back to, and "
            f"builds before June 2026 end when they are sent the same prompt twice: update to b{FIXED} or newer"
        )
    # With --swa-full a sliding window does not show.
    return WHERE_CUT[Kind.SLIDING] if memory.kind is Kind.SLIDING else ""


def _likely(short: list[_Outcome], recent: list[_Outcome], mirror: Mirror) -> str:
    """Return the likeliest reason for the outcomes in *short*, and what to change."""
    if not any(each.found for each in recent):
        return (
            "the server keeps nothing between requests: its prompt cache is off, or requests go to "
            "several servers in turn"
        )
    if all(each.outlook.loaded for each in short):
        return (
            "the server does not keep prompts in its memory, or not enough of them: start it with a "
            "larger --cache-ram, or with one slot per file in use (-np)"
        )
    if all(each.outlook.cut for each in short) and mirror.memory.kind in WHERE_CUT:
        return WHERE_CUT[mirror.memory.kind]
    if mirror.exclusive:
        return "the engine keeps less of its prompts than it should: please report this, with the model"
    return (
        "another client uses the same slots of the server: give it more of them (-np), or a context "
        "large enough for all (-c)"
    )


RECURRENT = (
    f"start it with --ctx-checkpoints 32 --checkpoint-min-step {CLOSE_STEP}, as fim-lsp serve does"
)
WHERE_CUT = {
    Kind.UNKNOWN: "the server evaluates much again when the end of a prompt changes, as with a model that has a "
    f"sliding window (start it with --swa-full) or a recurrent one ({RECURRENT})",
    Kind.SLIDING: "the model has a sliding window, and much is evaluated again when the end of a prompt changes: "
    "start the server with --swa-full, as fim-lsp serve does",
    Kind.RECURRENT: "the model is recurrent or hybrid, so its state cannot be cut, and the server keeps too few copies "
    f"of it to go back to: {RECURRENT}",
}

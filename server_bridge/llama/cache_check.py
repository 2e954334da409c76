"""
Predictions of what a server reuses compared with what it says it reused, and what is likely wrong. Pure.

One wrong prediction is an accident (the server was restarted, another client came in between). Many of
them mean that the server evaluates more than it should, and how they differ tells why.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from server_bridge.llama.mirror import Outlook

RECENT = 50  # requests that a judgement is founded on: a minute of typing
ODD = 0.05  # more wrong predictions than this are no accident


class CacheCheck:
    """The last `RECENT` predictions; `problem` is what to tell the user, "" while all is well."""

    def __init__(self) -> None:
        self.problem = ""
        self._recent: deque[_Outcome] = deque(maxlen=RECENT)

    def compare(self, outlook: Outlook | None, found: int) -> None:
        """A request of which we had this *outlook* reused *found* tokens."""
        if outlook is None or not outlook.sure:
            return
        self._recent.append(_Outcome(outlook, found))
        short = [each for each in self._recent if each.found < each.outlook.reused]
        if len(short) > ODD * RECENT:
            self.problem = _likely(short, list(self._recent))
        elif not short:
            self.problem = ""


class _Outcome(NamedTuple):
    outlook: Outlook
    found: int


def _likely(short: list[_Outcome], recent: list[_Outcome]) -> str:
    """The likeliest reason for the outcomes in *short*, and what to change."""
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
    if all(each.outlook.cut and not each.found for each in short):
        return (
            "the server evaluates the whole prompt again when its end changes (a model with a sliding "
            "window or a recurrent one): start it with --swa-full, or take another model"
        )
    return (
        "another client uses the same slots of the server: give it more of them (-np), or a context "
        "large enough for all (-c)"
    )

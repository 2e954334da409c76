"""
The fields of a request that a server may refuse: taken back, and left out from then on.

Servers differ in what they take, and in how they refuse the rest: by its name, by the name of
another field, or without a word. So a field that the refusal names is left out at once; where it
names none each is left out in turn, and in the end all are. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from server_bridge.http.responses import LONGEST, REFUSALS, Object
from server_bridge.protocol import BackendRejected

RENAMED = {"max_tokens": "max_completion_tokens"}  # OpenAI's later models know only the new name
NEEDS = {"stream_options": "stream"}  # refused where the other one is left out


class OptionalFields:
    """
    The fields that one server takes; *names* are those that a request can do without. State: what
    it refuses, and what is left out on trial.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.refused: frozenset[str] = frozenset()
        self._trial: frozenset[str] = frozenset()
        self._trials: Iterator[frozenset[str]] | None = None
        self._in_vain: set[frozenset[str]] = set()  # what was tried, and is not tried again

    def leave_out(self, body: Object) -> Object:
        """Return *body* as this server takes it, as far as is known."""
        out = self.refused | self._trial
        out |= {name for name, needed in NEEDS.items() if needed in out}
        renamed = {name: RENAMED.get(name, name) if name in out else name for name in body}
        kept = (name for name in body if name not in out or name in RENAMED)
        return {renamed[name]: body[name] for name in kept}

    def take_back(self, body: Object, refusal: BackendRejected) -> bool:
        """
        Leave out what a *refusal* of *body* is about, by its words or on trial; return whether to
        ask again.
        """
        words = {*re.findall(r"\w+", refusal.server_text[:LONGEST])}
        renamed = {name for name, new in RENAMED.items() if new in words}
        there = body.keys() & {*self._names, *renamed} - self.refused
        if named := there & words:
            self.refused |= named
            return True
        if refusal.status not in REFUSALS:
            return False
        if self._trials is None and (all_ := frozenset(there)) not in self._in_vain:
            self._in_vain.add(all_)
            ones = (frozenset({name}) for name in self._names if name in all_)
            self._trials = iter(dict.fromkeys((*ones, all_)))
        self._trial = next(self._trials or iter(()), frozenset())
        self._trials = self._trials if self._trial else None
        return bool(self._trial)

    def note_answer(self) -> None:
        """Keep what was left out of the request that is answered now."""
        self.refused |= self._trial
        self._trial = frozenset()
        self._trials = None

"""
Which slot of a llama.cpp server a document's prompts go to. State; decides, never waits.

Theory of operation. Left to itself the server gives a prompt to the slot that shares most with it.
With a ring all documents share thousands of tokens, so all go to one slot, and because that slot
keeps more than half of its content it is not saved first: whoever comes back pays for its window
again (measured: 127 tokens per request in a session over several files, 873 at most).

So a document owns a slot, and comes back to what it left there. Where that serves it badly (it has
none yet, another document took it, the ring was evaluated elsewhere) the slot is *cleared* first: a
prompt of one foreign token makes the server save all slots to the host's memory, and into a slot
that has nothing in common with the next prompt it loads the best of all it ever saved. So nothing
is evaluated twice, for the price of one token and a copy. Loading takes a state out of the memory,
but what lies idle in another slot is saved anew each time: two slots serve any number of documents.

Where clearing gains nothing (no `--cache-ram`) a document is a *guest* in the slot that has most of
its prompt, and moves into its own when it is warmed the next time.

On a server that others may use, too, a slot is named once: for the first prompt of a document that may
go where another one is, and only one that `/slots` just showed empty. From then on the server finds it
by its content; the current path tells it from others with the same ring. For naming a
slot that is busy is dangerous (builds since June 2026, seen in b11549): before the server defers such a
request it loads another prompt into the slot, in the middle of somebody's evaluation, which then ends
wrong or never. Where no slot is empty everything is left to the server: in a crowd, who comes back finds nothing
like his prompt in any slot, and the server loads what it saved by itself.

Whether a server keeps what is in its slots shows when the first one is cleared (`learn`): with one
unified cache (`-np auto`) it empties idle ones, and a named empty slot loads nothing, so none is named.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from server_bridge.mirror import Mirror

COPY = 64  # tokens; fewer are evaluated sooner than two states of some 8,000 tokens are copied


class Kind(enum.Enum):
    """What a server does with slots that are named, as far as we know."""

    UNKNOWN = "unknown"
    SEPARATE = "separate"  # each keeps its content
    UNIFIED = "unified"  # idle ones are saved and emptied
    HIDDEN = "hidden"  # it does not show its slots


class Choice(NamedTuple):
    """*slot* None leaves it to the server; *clear*: evaluate something foreign there first."""

    slot: int | None
    clear: bool = False


class Slots:
    """
    The slots of one server by document; *mirror* says what is in them.

    *alone*: nobody else uses the server. *vacant* are the slots that nobody uses, as far as we know.
    """

    def __init__(self, mirror: Mirror, n_slots: int, *, alone: bool) -> None:
        self.kind = Kind.SEPARATE if alone or n_slots == 1 else Kind.UNKNOWN
        self.vacant = set(range(n_slots)) if alone or n_slots == 1 else set()
        self._alone = alone
        self._n_slots = n_slots
        self._mirror = mirror
        self._owned: dict[str, int] = {}  # by document, the one used last at the end
        self._guests: set[str] = set()
        self._without: set[str] = set()  # looked for a slot in vain, and do not look again

    def choose(self, document: str, prompt: bytes, *, ahead: bool = False) -> Choice:
        """Where *prompt* of *document* goes; *ahead*: to be evaluated before anybody asks."""
        mirror, home = self._mirror, self.home(document)
        here = mirror.expected(prompt, home)
        if mirror.saves and self.kind is not Kind.HIDDEN:
            is_new = home is not None and home not in mirror.held and not self._alone
            if is_new and len(self.vacant) == self._n_slots:
                return Choice(None)  # it is in nobody's way; sixteen may begin at this moment
            if is_new or (self._finds_cleared(home) and mirror.cleared(prompt) - here > COPY):
                return Choice(home, clear=True)
        if home is None or (ahead and (document in self._guests or not self._alone)):
            return Choice(home)
        if not self._alone:
            return Choice(None if mirror.expected(prompt) - here > COPY else home)
        host = max(mirror.held, key=lambda slot: mirror.expected(prompt, slot), default=home)
        return Choice(host if mirror.expected(prompt, host) - here > COPY else home)

    def reusable(self, document: str, prompt: bytes, *, ahead: bool = False) -> int:
        """How many tokens of *prompt* need not be evaluated where it goes."""
        slot, clear = self.choose(document, prompt, ahead=ahead)
        return self._mirror.cleared(prompt) if clear else self._mirror.expected(prompt, slot)

    def home(self, document: str) -> int | None:
        """The slot *document* owns or may take; None where none may be named, or need be any more."""
        if self.kind in (Kind.UNIFIED, Kind.HIDDEN):
            return None
        if document in self._owned:
            return self._owned[document] if self._alone else None
        if self.vacant:
            return min(self.vacant)
        return next(iter(self._owned.values()), None) if self._alone else None

    def is_looking(self, document: str) -> bool:
        """Whether *document* needs a slot, and it is to be seen first which are vacant."""
        named = self.kind in (Kind.UNKNOWN, Kind.SEPARATE) and not self._alone
        served = document in self._owned or document in self._without
        return named and not served

    def see(self, document: str, tokens: dict[int, int] | None) -> None:
        """Take in what `/slots` says: tokens by slot, None where the server does not show them."""
        if tokens is not None:
            owned = self._owned.values()
            self.vacant = {slot for slot, n in tokens.items() if not n and slot not in owned}
            if not self.vacant:
                self._without.add(document)
        elif self.kind is Kind.UNKNOWN:
            self.kind = Kind.HIDDEN

    def learn(self, before: dict[int, int], after: dict[int, int], cleared: int) -> None:
        """See in tokens by slot what clearing one did to the others."""
        others = [slot for slot, n in before.items() if n and slot != cleared]
        if others and any(after.get(slot) for slot in others):
            self.kind = Kind.SEPARATE
        elif others:
            self.kind = Kind.UNIFIED
            self._mirror.unify(cleared)

    def _finds_cleared(self, home: int | None) -> bool:
        """Whether the prompt would go where was cleared, as far as we know."""
        return home is not None or self.kind is not Kind.SEPARATE or self._n_slots == 1

    def used(self, document: str, slot: int) -> None:
        """*document* was served by *slot*, its own from now on, or, on a server of ours, as a guest."""
        self.vacant.discard(slot)
        if not self._alone:
            self._owned[document] = slot
            return
        owner = next((name for name, owned in self._owned.items() if owned == slot), None)
        if owner not in (None, document) and slot != self.home(document):
            self._guests.add(document)
            return
        self._owned.pop(owner or document, None)
        self._owned.pop(document, None)
        self._owned[document] = slot
        self._guests.discard(document)

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

On a server that others may use, too, only slots that `/slots` shows empty are taken. Whether such
a server keeps what is in them shows when the first one is cleared (`learn`): with one unified cache
(`-np auto`) it empties idle slots, and a named empty slot loads nothing, so none is ever named.

Nor is one where more people are than slots: a request that names a busy slot waits for it while others
lie idle, and sixteen editors that begin together all find the same one empty. What others leave in a
slot of ours is seen when we look again, now and then. A crowd needs no clearing either: whoever comes
back finds others' prompts in all slots, and the server loads what it saved by itself.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from server_bridge.mirror import Mirror, n_tokens

COPY = 64  # tokens; fewer are evaluated sooner than two states of some 8,000 tokens are copied
LOOK_EVERY = 16  # requests between two looks: some seconds of typing
ENOUGH = 2  # slots we take of a server that others may use: more would gain nothing


class Kind(enum.Enum):
    """What a server does with slots that are named, as far as we know."""

    UNKNOWN = "unknown"
    SEPARATE = "separate"  # each keeps its content
    UNIFIED = "unified"  # idle ones are saved and emptied
    HIDDEN = "hidden"  # it does not show its slots
    CROWDED = "crowded"  # others use ours


LEFT_TO_THE_SERVER = (Kind.HIDDEN, Kind.CROWDED)


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
        self._most = n_slots if alone else ENOUGH
        self._mirror = mirror
        self._owned: dict[str, int] = {}  # by document, the one used last at the end
        self._guests: set[str] = set()
        self._without: set[str] = set()  # looked for a slot in vain, and do not look again
        self._n_unseen = 0  # requests that named a slot since the last look

    def choose(self, document: str, prompt: bytes, *, ahead: bool = False) -> Choice:
        """Where *prompt* of *document* goes; *ahead*: to be evaluated before anybody asks."""
        mirror, home = self._mirror, self.home(document)
        here = mirror.expected(prompt, home)
        if mirror.saves and self.kind not in LEFT_TO_THE_SERVER:
            # A slot of another's server may find there what we left the last time.
            is_new = home is not None and home not in mirror.held and not self._alone
            if is_new or mirror.cleared(prompt) - here > COPY:
                return Choice(home, clear=True)
        if home is None or (ahead and document in self._guests):
            return Choice(home)
        host = max(mirror.held, key=lambda slot: mirror.expected(prompt, slot), default=home)
        return Choice(host if mirror.expected(prompt, host) - here > COPY else home)

    def reusable(self, document: str, prompt: bytes, *, ahead: bool = False) -> int:
        """How many tokens of *prompt* need not be evaluated where it goes."""
        slot, clear = self.choose(document, prompt, ahead=ahead)
        return self._mirror.cleared(prompt) if clear else self._mirror.expected(prompt, slot)

    def home(self, document: str) -> int | None:
        """The slot *document* owns or may take; None where none may be named."""
        if self.kind in (Kind.UNIFIED, *LEFT_TO_THE_SERVER):
            return None
        if document in self._owned:
            return self._owned[document]
        if self.vacant and len(self._owned) < self._most:
            return min(self.vacant)
        return next(iter(self._owned.values()), None)

    def is_looking(self, document: str) -> bool:
        """Whether *document* needs a slot, and it is to be seen first which are vacant."""
        named = self.kind in (Kind.UNKNOWN, Kind.SEPARATE) and not self._alone
        served = document in self._owned or document in self._without
        return named and not served and len(self._owned) < self._most

    def see(self, document: str, tokens: dict[int, int] | None) -> None:
        """Take in what `/slots` says: tokens by slot, None where the server does not show them."""
        if tokens is not None:
            owned = self._owned.values()
            self.vacant = {slot for slot, n in tokens.items() if not n and slot not in owned}
            if not self.vacant:
                self._without.add(document)
            if not (self.vacant or owned) and len(tokens) > 1:
                self.kind = Kind.CROWDED
        elif self.kind is Kind.UNKNOWN:
            self.kind = Kind.HIDDEN

    def is_doubtful(self) -> bool:
        """Whether it is time to `check` that our slots are ours."""
        named = self.kind in (Kind.UNKNOWN, Kind.SEPARATE) and not self._alone
        return named and self._n_unseen >= LOOK_EVERY

    def check(self, tokens: dict[int, int]) -> None:
        """See in tokens by slot whether somebody left something else in a slot of ours."""
        self._n_unseen = 0
        held = self._mirror.held
        ours = {slot: n_tokens(held[slot]) for slot in self._owned.values() if slot in held}
        if any(tokens.get(slot) not in (None, 0, n) for slot, n in ours.items()):
            self.kind = Kind.CROWDED

    def learn(self, before: dict[int, int], after: dict[int, int], cleared: int) -> None:
        """See in tokens by slot what clearing one did to the others."""
        others = [slot for slot, n in before.items() if n and slot != cleared]
        if others and any(after.get(slot) for slot in others):
            self.kind = Kind.SEPARATE
        elif others:
            self.kind = Kind.UNIFIED
            self._mirror.unify(cleared)

    def used(self, document: str, slot: int) -> None:
        """*document* was served by *slot*, as named: its own, or as a guest."""
        self._n_unseen += 1
        self.vacant.discard(slot)
        owner = next((name for name, owned in self._owned.items() if owned == slot), None)
        if owner not in (None, document) and slot != self.home(document):
            self._guests.add(document)
            return
        self._owned.pop(owner or document, None)
        self._owned.pop(document, None)
        self._owned[document] = slot
        self._guests.discard(document)

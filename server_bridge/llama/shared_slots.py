"""
Slots of a server that others may use, too: hardly ever named. State; decides only.

A slot is named once: for the first prompt of a document that may go where another one is, and only one
that `/slots` just showed empty. From then on the server finds it by its content; the current path tells
it from others with the same ring. Naming a busy slot is dangerous (builds since June 2026, seen in
b11549): before the server defers such a request it loads another prompt into the slot, in the middle of
another client's evaluation, which then ends wrong or never. Where no slot is empty everything is left to
the server: with more clients than slots, a document that comes back matches no slot, and the server
loads what it saved by itself.

Whether a server keeps what is in its slots shows when the first one is cleared (`learn`): with one
unified cache (`-np auto`) it empties idle ones, and a named empty slot loads nothing, so none is named.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from server_bridge.llama.mirror import Mirror
from server_bridge.llama.slots import COPY, SlotChoice, Slots


class SlotKind(enum.Enum):
    """What a server does with slots that are named, as far as we know."""

    UNKNOWN = "unknown"
    SEPARATE = "separate"  # each keeps its content
    UNIFIED = "unified"  # idle ones are saved and emptied
    HIDDEN = "hidden"  # it does not show its slots


class SharedSlots(Slots):
    """See the module. *_vacant* are the slots that `/slots` showed empty and that we have not used."""

    def __init__(
        self, mirror: Mirror, n_slots: int, price: Callable[[], int] = lambda: COPY
    ) -> None:
        super().__init__(mirror, price)
        only = n_slots == 1
        self._n_slots = n_slots
        self._kind = SlotKind.SEPARATE if only else SlotKind.UNKNOWN
        self._vacant = {0} if only else set[int]()
        self._slot_of: dict[str, int] = {}  # where each document was served last
        self._without: set[str] = set()  # documents that found no empty slot, and do not look again

    @property
    def is_learning(self) -> bool:  # type: ignore[override]  # a constant of the other policy
        """Whether it is still to be seen what the server does with slots."""
        return self._kind is SlotKind.UNKNOWN

    def choose(self, document: str, prompt: bytes, *, ahead: bool = False) -> SlotChoice:
        """An empty slot for a new document where the server would put it upon another; else none."""
        if self._kind is SlotKind.HIDDEN:
            return SlotChoice(None)
        mirror, home = self._mirror, self.home(document)
        here = mirror.expected(prompt, home)
        if mirror.saves:
            is_new = home is not None and home not in mirror.held
            if is_new and len(self._vacant) == self._n_slots:
                return SlotChoice(None)  # any slot will do, and other clients may start right now
            if is_new or (
                self._finds_cleared(home) and mirror.cleared(prompt) - here > self._price()
            ):
                return SlotChoice(home, clear=True)
        if home is None or ahead:
            return SlotChoice(home)
        return SlotChoice(None if mirror.expected(prompt) - here > COPY else home)

    def home(self, document: str) -> int | None:
        """An empty slot for a document that has not been served yet."""
        named = self._kind in (SlotKind.UNKNOWN, SlotKind.SEPARATE)
        return min(self._vacant, default=None) if named and document not in self._slot_of else None

    def used(self, document: str, slot: int) -> None:
        """*document* has a slot from now on, and the server finds it there."""
        self._vacant.discard(slot)
        self._slot_of[document] = slot

    def is_looking(self, document: str) -> bool:
        """Whether *document* needs a slot, and it is to be seen first which are empty."""
        named = self._kind in (SlotKind.UNKNOWN, SlotKind.SEPARATE)
        return named and document not in self._slot_of and document not in self._without

    def see(self, document: str, tokens: dict[int, int] | None) -> None:
        """Take in which slots are empty; a server that does not show them gets everything unnamed."""
        if tokens is not None:
            ours = self._slot_of.values()
            self._vacant = {slot for slot, n in tokens.items() if not n and slot not in ours}
            if not self._vacant:
                self._without.add(document)
        elif self._kind is SlotKind.UNKNOWN:
            self._kind = SlotKind.HIDDEN

    def learn(self, before: dict[int, int], after: dict[int, int], cleared: int) -> None:
        """If the others lost what they had the slots are unified; if there were none, nothing is known."""
        others = [slot for slot, n in before.items() if n and slot != cleared]
        if not others:
            return
        if any(after.get(slot) for slot in others):
            self._kind = SlotKind.SEPARATE
        else:
            self._kind = SlotKind.UNIFIED
            self._mirror.unify(cleared)

    def _finds_cleared(self, home: int | None) -> bool:
        """Whether the prompt would go where was cleared, as far as we know."""
        return home is not None or self._kind is not SlotKind.SEPARATE or self._n_slots == 1

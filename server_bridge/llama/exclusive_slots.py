"""
Slots of a server that only we use: each document owns one, and any may be named. State; decides only.

Loading takes a state out of the host's memory, but what lies idle in another slot is saved again each
time: two slots serve any number of documents.

Where clearing gains nothing (no `--cache-ram`) a document is a *guest* in the slot that has most of
its prompt, and moves into its own when it is prefilled the next time.
"""

from __future__ import annotations

from collections.abc import Callable

from server_bridge.llama.mirror import Mirror
from server_bridge.llama.slots import COPY, SlotChoice, Slots


class ExclusiveSlots(Slots):
    """See the module."""

    def __init__(
        self, mirror: Mirror, n_slots: int, price: Callable[[], int] = lambda: COPY
    ) -> None:
        super().__init__(mirror, price)
        self._free = set(range(n_slots))
        self._owned: dict[str, int] = {}  # by document, the one used last at the end
        self._guests: set[str] = set()

    def choose(self, document: str, prompt: bytes, *, ahead: bool = False) -> SlotChoice:
        """Its own, cleared where that pays; a guest's prompt goes where most of it is."""
        mirror, home = self._mirror, self.home(document)
        here = mirror.expected(prompt, home)
        if mirror.saves and mirror.cleared(prompt) - here > self._price():
            return SlotChoice(home, clear=True)
        if ahead and document in self._guests:
            return SlotChoice(home)
        host = max(mirror.held, key=lambda slot: mirror.expected(prompt, slot), default=home)
        return SlotChoice(host if mirror.expected(prompt, host) - here > COPY else home)

    def home(self, document: str) -> int:
        """Its own slot, else a free one, else the one unused for longest."""
        if document in self._owned:
            return self._owned[document]
        return min(self._free) if self._free else next(iter(self._owned.values()))

    def used(self, document: str, slot: int) -> None:
        """The slot is *document*'s own from now on, or it was a guest there."""
        owner = next((name for name, owned in self._owned.items() if owned == slot), document)
        if owner != document and slot != self.home(document):
            self._guests.add(document)
        else:
            self._owned.pop(owner, None)
            self._owned.pop(document, None)
            self._owned[document] = slot
            self._guests.discard(document)
        self._free.discard(slot)

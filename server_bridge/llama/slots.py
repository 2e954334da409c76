"""
The policy for the slots of a llama.cpp server, by document: what both variants have in common.

Theory of operation. Left to itself the server gives a prompt to the slot that shares most with it.
With a ring all documents share thousands of tokens, so all go to one slot, and because that slot
keeps more than half of its content it is not saved first: coming back to a document costs its
window again, 1,536 tokens by default.

So a document gets a slot, and comes back to what it left there. Where that serves it badly (it has
none yet, another document took it, the ring was evaluated elsewhere) the slot is *cleared* first: a
prompt of one foreign token makes the server save all slots to the host's memory, and into a slot
that has nothing in common with the next prompt it loads the best of all it ever saved. So nothing
is evaluated twice, for the price of one token and a copy.

On a server of our own every slot may be named (`ExclusiveSlots`), and what a document may need next
is evaluated *aside*: in another slot, so that nothing is lost which the document uses. Once it is
used, the two slots change their parts. On one that others may use naming is dangerous, and hardly
ever done (`SharedSlots`). A policy decides and never waits; `cache` acts.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import NamedTuple

from server_bridge.llama.mirror import Mirror

ASIDE = "\naside"  # behind a document: what is evaluated for it beside what it uses
FEW = 8  # tokens; fewer in a slot aside are no reason to go on there
COPY = 64  # tokens; fewer are evaluated sooner than two states of some 8,000 tokens are copied


class SlotChoice(NamedTuple):
    """*slot* None leaves it to the server; *clear*: evaluate something foreign there first."""

    slot: int | None
    clear: bool = False


class Slots(ABC):
    """
    The slots of one server by document; *mirror* says what is in them. A *prompt* is token ids,
    packed as `Ids` has them. *served* are the documents that were served, by another policy, too.
    """

    is_learning = False  # whether the next clearing is to be observed, see `learn`
    has_room_aside = False  # whether a document may have a second slot: not where others use them

    def __init__(
        self,
        mirror: Mirror,
        price: Callable[[], int] = lambda: COPY,
        served: Iterable[str] = (),
    ) -> None:
        self.served = {*served}
        self._mirror = mirror
        self._price = price  # of clearing a slot, in tokens that could be evaluated instead

    @abstractmethod
    def choose(self, document: str, prompt: bytes, *, ahead: bool = False) -> SlotChoice:
        """
        Choose a slot for *prompt* of *document*; *ahead*: it is prefilled, and no request waits for
        it.
        """

    @abstractmethod
    def note_use(self, document: str, slot: int) -> None:
        """Note that *document* was served by *slot*."""

    @abstractmethod
    def home(self, document: str) -> int | None:
        """
        Return the slot *document* owns or may take; None where none may be named, or need be any
        more.
        """

    def reusable(
        self, document: str, prompt: bytes, *, ahead: bool = False, moves: bool = False
    ) -> int:
        """
        Return how many tokens of *prompt* need not be evaluated where it goes; see
        `Mirror.outlook`.
        """
        slot, clear = self.choose(document, prompt, ahead=ahead)
        if clear:
            return self._mirror.expect_cleared(prompt)
        return self._mirror.expect_reused(prompt, slot, moves=moves)

    def empty(self, document: str) -> int | None:
        """
        Return the slot of *document* if there is nothing in it: then a saved state may be loaded
        there.
        """
        slot = self.home(document)
        return None if slot in self._mirror.held else slot

    def is_looking(self, document: str) -> bool:  # noqa: ARG002
        """Return whether `/slots` is to be seen before a slot is chosen for *document*."""
        return False

    def see(self, document: str, tokens: dict[int, int] | None) -> None:  # noqa: B027
        """Record what `/slots` says: tokens by slot, None where the server does not show them."""

    def learn(self, before: dict[int, int], after: dict[int, int], cleared: int) -> None:  # noqa: B027
        """See in tokens by idle slot what clearing one did to the others."""


class ExclusiveSlots(Slots):
    """
    Slots of a server that only we use: each document owns one, and any may be named. State; decides
    only.

    Loading takes a state out of the host's memory, but what lies idle in another slot is saved
    again each time: two slots serve any number of documents.

    Where clearing gains nothing (no `--cache-ram`) a document is a *guest* in the slot that has
    most of its prompt, and moves into its own when it is prefilled the next time.

    *_lost* are documents that were served while others used the server, too: they may have taken
    any slot, so the server finds the next prompt of each by its content.
    """

    def __init__(
        self,
        mirror: Mirror,
        n_slots: int,
        price: Callable[[], int] = lambda: COPY,
        served: Iterable[str] = (),
    ) -> None:
        super().__init__(mirror, price, served)
        self._lost = {name for name in self.served if not name.endswith(ASIDE)}
        self._free = set(range(n_slots))
        self._owned: dict[str, int] = {}  # by document, the one used last at the end
        self._guests: set[str] = set()

    @property
    def has_room_aside(self) -> bool:  # type: ignore[override]  # a constant of the other policy
        """Return whether there are two slots."""
        return len(self._free) + len(self._owned) > 1

    def choose(self, document: str, prompt: bytes, *, ahead: bool = False) -> SlotChoice:
        """
        Choose its own slot, cleared where that pays; a guest's prompt goes where most of it is.
        """
        if document in self._lost:
            return SlotChoice(None)
        mirror = self._mirror
        home = self.home(document)
        here = mirror.expect_reused(prompt, home)
        aside = self._owned.get(document + ASIDE)
        if aside is not None and mirror.expect_reused(prompt, aside) - here > FEW:
            return SlotChoice(aside)
        if mirror.saves and mirror.expect_cleared(prompt) - here > self._price():
            return SlotChoice(home, clear=True)
        if ahead and document in self._guests:
            return SlotChoice(home)
        host = max(mirror.held, key=lambda slot: mirror.expect_reused(prompt, slot), default=home)
        return SlotChoice(host if mirror.expect_reused(prompt, host) - here > COPY else home)

    def home(self, document: str) -> int:
        """Return its own slot, else a free one, else the one unused for longest."""
        if document in self._owned:
            return self._owned[document]
        if self._free:
            return min(self._free)
        main = document.removesuffix(ASIDE)
        others = (slot for owner, slot in self._owned.items() if owner != main)
        return next(others, 0)

    def note_use(self, document: str, slot: int) -> None:
        """Note the slot as *document*'s own from now on, or it was a guest there."""
        owner = next((name for name, owned in self._owned.items() if owned == slot), document)
        if owner == document + ASIDE and document in self._owned:
            self._owned[owner] = self._owned[document]
            self._owned[document] = slot
        elif owner != document and slot != self.home(document):
            self._guests.add(document)
        else:
            self._owned.pop(owner, None)
            self._owned.pop(document, None)
            self._owned[document] = slot
            self._guests.discard(document)
        self._free.discard(slot)
        self._lost.discard(document)
        self.served.add(document)


class SlotKind(enum.Enum):
    """The behaviour of a server with named slots, as far as we know."""

    UNKNOWN = "unknown"
    SEPARATE = "separate"  # each keeps its content
    UNIFIED = "unified"  # idle ones are saved and emptied
    HIDDEN = "hidden"  # it does not show its slots


class SharedSlots(Slots):
    """
    Slots of a server that others may use, too: hardly ever named. State; decides only.

    A slot is named once: for the first prompt of a document that may go where another one is, and
    only one that `/slots` just showed empty. From then on the server finds it by its content; the
    current path tells it from others with the same ring. Naming a busy slot is dangerous (builds
    since June 2026, seen in b11549): before the server defers such a request it loads another
    prompt into the slot, in the middle of another client's evaluation, which then ends wrong or
    never. Where no slot is empty everything is left to the server: with more clients than slots, a
    document that comes back matches no slot, and the server loads what it saved by itself.

    Whether a server keeps what is in its slots shows when the first one is cleared (`learn`): with
    one unified cache (`-np auto`) it empties idle ones, and a named empty slot loads nothing, so
    none is named.

    *_vacant* are the slots that `/slots` showed empty and that we have not used.
    """

    def __init__(
        self,
        mirror: Mirror,
        n_slots: int,
        price: Callable[[], int] = lambda: COPY,
        served: Iterable[str] = (),
    ) -> None:
        super().__init__(mirror, price, served)
        only = n_slots == 1
        self._n_slots = n_slots
        self._kind = SlotKind.SEPARATE if only else SlotKind.UNKNOWN
        self._vacant = {0} if only else set[int]()
        self._slot_of: dict[str, int] = {}  # where each document was served last
        self._without: set[str] = set()  # documents that found no empty slot, and do not look again

    @property
    def is_learning(self) -> bool:  # type: ignore[override]  # a constant of the other policy
        """Return whether it is still to be seen what the server does with slots."""
        return self._kind is SlotKind.UNKNOWN

    def choose(self, document: str, prompt: bytes, *, ahead: bool = False) -> SlotChoice:
        """
        Return an empty slot for a new document where the server would put it upon another; else
        none.
        """
        if self._kind is SlotKind.HIDDEN:
            return SlotChoice(None)
        mirror = self._mirror
        home = self.home(document)
        here = mirror.expect_reused(prompt, home)
        if mirror.saves:
            is_new = home is not None and home not in mirror.held
            if is_new and len(self._vacant) == self._n_slots:
                return SlotChoice(None)  # any slot will do, and other clients may start right now
            # Whether the prompt would go where was cleared, as far as we know.
            finds = home is not None or self._kind is not SlotKind.SEPARATE or self._n_slots == 1
            if is_new or (finds and mirror.expect_cleared(prompt) - here > self._price()):
                return SlotChoice(home, clear=True)
        if home is None or ahead:
            return SlotChoice(home)
        return SlotChoice(None if mirror.expect_reused(prompt) - here > COPY else home)

    def home(self, document: str) -> int | None:
        """Return an empty slot for a document that has not been served yet."""
        named = self._kind in (SlotKind.UNKNOWN, SlotKind.SEPARATE)
        return min(self._vacant, default=None) if named and document not in self._slot_of else None

    def note_use(self, document: str, slot: int) -> None:
        """Note the slot of *document*: the server finds it there from now on."""
        self._vacant.discard(slot)
        self._slot_of[document] = slot
        self.served.add(document)

    def is_looking(self, document: str) -> bool:
        """Return whether *document* needs a slot, and it is to be seen first which are empty."""
        named = self._kind in (SlotKind.UNKNOWN, SlotKind.SEPARATE)
        return named and document not in self._slot_of and document not in self._without

    def see(self, document: str, tokens: dict[int, int] | None) -> None:
        """
        Record which slots are empty; a server that does not show them gets everything unnamed.
        """
        if tokens is not None:
            ours = self._slot_of.values()
            self._vacant = {slot for slot, n in tokens.items() if not n and slot not in ours}
            if not self._vacant:
                self._without.add(document)
        elif self._kind is SlotKind.UNKNOWN:
            self._kind = SlotKind.HIDDEN

    def learn(self, before: dict[int, int], after: dict[int, int], cleared: int) -> None:
        """
        Learn from a clearing: if the others lost what they had the slots are unified; if there were
        none, nothing is known. One at work, as at a prompt that was given up, is not emptied.
        """
        others = [slot for slot, n in before.items() if n and slot != cleared and slot in after]
        if not others:
            return
        if any(after[slot] for slot in others):
            self._kind = SlotKind.SEPARATE
        else:
            self._kind = SlotKind.UNIFIED
            self._mirror.unify(cleared)

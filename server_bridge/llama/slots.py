"""
Which slot of a llama.cpp server a document's prompts go to: what both policies have in common.

Theory of operation. Left to itself the server gives a prompt to the slot that shares most with it.
With a ring all documents share thousands of tokens, so all go to one slot, and because that slot
keeps more than half of its content it is not saved first: coming back to a document costs its window
again (measured: 127 tokens per request in a session over several files, 873 at most).

So a document gets a slot, and comes back to what it left there. Where that serves it badly (it has
none yet, another document took it, the ring was evaluated elsewhere) the slot is *cleared* first: a
prompt of one foreign token makes the server save all slots to the host's memory, and into a slot
that has nothing in common with the next prompt it loads the best of all it ever saved. So nothing
is evaluated twice, for the price of one token and a copy.

On a server of our own every slot may be named (`exclusive_slots`). On one that others may use naming is
dangerous, and hardly ever done (`shared_slots`). A policy decides and never waits; `cache` acts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from server_bridge.llama.mirror import Mirror

COPY = 64  # tokens; fewer are evaluated sooner than two states of some 8,000 tokens are copied


class SlotChoice(NamedTuple):
    """*slot* None leaves it to the server; *clear*: evaluate something foreign there first."""

    slot: int | None
    clear: bool = False


class Slots(ABC):
    """The slots of one server by document; *mirror* says what is in them."""

    is_learning = False  # whether the next clearing shall be watched, see `learn`

    def __init__(self, mirror: Mirror, price: Callable[[], int] = lambda: COPY) -> None:
        self._mirror = mirror
        self._price = price  # of clearing a slot, in tokens that could be evaluated instead

    @abstractmethod
    def choose(self, document: str, prompt: bytes, *, ahead: bool = False) -> SlotChoice:
        """Where *prompt* of *document* goes; *ahead*: it is prefilled, and no request waits for it."""

    @abstractmethod
    def used(self, document: str, slot: int) -> None:
        """*document* was served by *slot*."""

    @abstractmethod
    def home(self, document: str) -> int | None:
        """The slot *document* owns or may take; None where none may be named, or need be any more."""

    def reusable(self, document: str, prompt: bytes, *, ahead: bool = False) -> int:
        """How many tokens of *prompt* need not be evaluated where it goes."""
        slot, clear = self.choose(document, prompt, ahead=ahead)
        return self._mirror.cleared(prompt) if clear else self._mirror.expected(prompt, slot)

    def empty(self, document: str) -> int | None:
        """The slot of *document* if there is nothing in it: then a saved state may be loaded there."""
        slot = self.home(document)
        return None if slot in self._mirror.held else slot

    def is_looking(self, document: str) -> bool:  # noqa: ARG002
        """Whether `/slots` is to be seen before a slot is chosen for *document*."""
        return False

    def see(self, document: str, tokens: dict[int, int] | None) -> None:  # noqa: B027
        """Take in what `/slots` says: tokens by slot, None where the server does not show them."""

    def learn(self, before: dict[int, int], after: dict[int, int], cleared: int) -> None:  # noqa: B027
        """See in tokens by slot what clearing one did to the others."""

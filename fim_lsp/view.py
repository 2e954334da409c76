"""
A view: what the session keeps of an open document besides its text. State, and decisions on it.

`follow` takes in edits, `look` finds the window for a request that somebody waits for, `ahead` the
one that is to be warmed while nobody does. A window that is being warmed (`next`) takes the place
of the current one when it is warm, not before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from fim_lsp import window
from fim_lsp.documents import Document, Edit, Position
from fim_lsp.flight import Flight
from fim_lsp.paths import Place as FilePlace
from fim_lsp.suggest.known import Known
from fim_lsp.tape import Tape
from fim_lsp.window import Budget, Fit, Window

RESTING = 4  # flights that were left and may be resumed: the last few places of the cursor


@dataclass(slots=True)
class View:
    """*position* is the cursor as last heard of; *deleted*: the last edit only took text away."""

    file: FilePlace
    window: Window | None = None
    next: Window | None = None
    tape: Tape = ()
    position: Position | None = None
    deleted: bool = False
    scale: float = 1.0  # of the budget: less where a prompt turned out too long
    known: Known = field(default_factory=Known)
    flights: deque[Flight] = field(default_factory=lambda: deque(maxlen=RESTING))

    def follow(self, edits: tuple[Edit | str, ...]) -> None:
        """Let the windows move with edits above them."""
        for edit in edits:
            if isinstance(edit, Edit):
                self.deleted = not edit.text and edit.start != edit.end
                self.window = self.window and window.moved(self.window, edit)
                self.next = self.next and window.moved(self.next, edit)

    def look(self, document: Document, position: Position, budget: Budget) -> Window:
        """The window that serves *position* now, a small new one where none does."""
        old = self.window
        if old and window.fit(old, document, position, budget) is not Fit.LOST:
            return old
        return self.take(window.anchored(document, position, budget, old, quick=True))

    def ahead(self, document: Document, position: Position, budget: Budget) -> Window:
        """The window to warm: the current one while it fits, else the one that is to replace it."""
        for candidate in (self.window, self.next):
            if candidate and window.fit(candidate, document, position, budget) is Fit.FITS:
                return candidate
        self.next = window.anchored(document, position, budget, self.window)
        return self.next

    def take(self, new: Window) -> Window:
        """Go on with *new*; the tape spelled the middle of the old one."""
        self.window, self.next, self.tape = new, None, ()
        return new

    def shrink(self) -> None:
        """Take half as much text from now on: the prompt was too long."""
        self.scale, self.window, self.next, self.tape = self.scale / 2, None, None, ()

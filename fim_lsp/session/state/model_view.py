"""
The part of one open document that a model may see, and the prompts made of it. Texts of models are
in `answering.texts`, and end with the view (`call_at_end`).

A verdict opens or closes the view. While a document is judged again its view stands still; a
refusal, and another folder, begin a new one, so work for the old one finds nothing to go on with.
Only methods of `ModelView` write its fields.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from fim_lsp.instruct.dialogue import Dialogue
from fim_lsp.session.state.frame_ladder import FrameLadder
from fim_lsp.session.state.state_file import SavedDocument
from fim_lsp.session.state.workspaces import Workspace
from fim_lsp.suggest.reasons import End
from fim_lsp.suggest.why import LARGE, why_hidden
from fim_lsp.workspace.paths import FileLocation, PlaceId

UNJUDGED = "not judged yet"


class Verdict(enum.Enum):
    """The verdict on a document: whether anything of it may be used."""

    UNJUDGED = "unjudged"
    USABLE = "usable"
    PRIVATE = "private"
    TOO_LARGE = "too large"


@dataclass(eq=False, repr=False)
class ModelView:
    """
    The model's side of a document in *file*, of *workspace*. *why_private* is "" where it may be
    used; *question* is another object each time that it is to be judged, so that a verdict on an
    earlier one does not count.

    *dialogue* is about the last edit by instruction, *restoring* loads what an earlier run saved,
    *saved* is what is on disk of it, *n_connected* how often the backend had been reached at its
    last request.
    """

    file: FileLocation
    workspace: Workspace
    verdict: Verdict = Verdict.UNJUDGED
    why_private: str = UNJUDGED
    question: object = field(default_factory=object)
    place: PlaceId | None = None
    ladder: FrameLadder = field(init=False)
    dialogue: Dialogue | None = None
    restoring: asyncio.Task[None] | None = None
    saved: SavedDocument | None = None
    n_connected: int = 0
    _ends: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ladder = FrameLadder(self.file)

    @property
    def refusal(self) -> End | None:
        """Return why nothing of it may be used; None where it may."""
        if self.verdict is Verdict.TOO_LARGE:
            return LARGE
        if self.verdict is Verdict.USABLE:
            return None
        return why_hidden(self.why_private, is_early=self.why_private == UNJUDGED)

    def allow(self, place: PlaceId | None = None) -> None:
        """Let it inform others: it is not private at *place*."""
        self.verdict = Verdict.USABLE
        self.why_private = ""
        self.place = place

    def suspend(self) -> None:
        """Show nothing of it until it is judged again."""
        self.verdict = Verdict.UNJUDGED
        self.why_private = UNJUDGED
        self.question = object()

    def doubt(self) -> None:
        """Have it looked at whether what was judged is still there."""
        self.question = self.question if self.verdict is Verdict.UNJUDGED else object()

    def explain(self, why: str) -> None:
        """Note *why* it could not be judged; it is private until it can be."""
        self.why_private = why

    def keep_dialogue(self, dialogue: Dialogue) -> None:
        """Go on from *dialogue* at the next edit by instruction."""
        self.dialogue = dialogue

    def begin_restoring(self, work: Callable[[], asyncio.Task[None]]) -> None:
        """Have *work* load what an earlier run saved, once."""
        self.restoring = self.restoring or work()

    def note_saved(self, saved: SavedDocument | None) -> None:
        """Note what is on disk of it; None: nothing any more."""
        self.saved = saved
        self.ladder.note_saved(saved.frame if saved else None)

    def note_connected(self, n_connected: int) -> bool:
        """
        Note at a request how often the backend was reached; return whether its slots were lost
        since the one before.
        """
        n_before = self.n_connected
        self.n_connected = n_connected
        return 0 < n_before < n_connected

    def call_at_end(self, act: Callable[[], None]) -> None:
        """Have *act* called when nothing of it may be used any more."""
        self._ends.append(act)

    def end(self) -> None:
        """Stop all that is made for it."""
        for act in self._ends:
            act()

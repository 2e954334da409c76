"""
An open document: its text and all that the session keeps of it. State, and decisions on it.

What depends on each other is written by its methods only: the text, the cursor, the verdict, and
in values of their own the frames (`ladder`) and what is known of the text behind the cursor
(`known`). A document whose rules or folder changed is begun again: work still running
on the old object sees `current is None`.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from fim_lsp.context.chunks import Source
from fim_lsp.context.ring import Viewport
from fim_lsp.documents import (
    DOCUMENT_CHARS,
    Document,
    Edit,
    Position,
    TextPlace,
    apply_edits,
    carry,
)
from fim_lsp.instruct.dialogue import Dialogue
from fim_lsp.prompt import window
from fim_lsp.prompt.window import Window
from fim_lsp.session.generation import Generation
from fim_lsp.session.lane import Permit, Withdrawn
from fim_lsp.session.state.acceptance import Acceptance
from fim_lsp.session.state.frame_ladder import FrameLadder
from fim_lsp.session.state.known_text import KnownText
from fim_lsp.session.state.state_file import SavedDocument
from fim_lsp.session.state.workspaces import Workspace
from fim_lsp.session.stats import LastAnswer
from fim_lsp.suggest.reasons import End, Outcome
from fim_lsp.suggest.request import CompletionRequest, Suggestion
from fim_lsp.workspace.paths import FileLocation
from server_bridge.protocol import Prompt

UNJUDGED = "not judged yet"
CHANGED = "the text was changed meanwhile"


class Verdict(enum.Enum):
    """The verdict on a document: whether anything of it may be used."""

    UNJUDGED = "unjudged"
    USABLE = "usable"
    PRIVATE = "private"
    TOO_LARGE = "too large"


@dataclass(eq=False, repr=False)
class OpenDocument:
    """
    One open document. *most_chars* is at least as many as the document has. *why_private* is ""
    where it may be used. *place* is the cursor's last known one, carried along by edits since;
    *deleted* is where the last edit only took text away; *typed*: there was an edit since the last
    request. *dialogue* is about the last edit by instruction, *restoring* loads what an earlier run
    saved, *saved* is what is on disk of it, *used* when a request was served last (loop time; 0:
    never).
    """

    document: Document
    file: FileLocation
    workspace: Workspace
    acceptance: Acceptance
    most_chars: int
    verdict: Verdict = Verdict.UNJUDGED
    why_private: str = UNJUDGED
    _position: Position | None = None
    deleted: Position | None = None
    typed: bool = False
    known: KnownText = field(default_factory=KnownText)
    last_answer: LastAnswer | None = None
    dialogue: Dialogue | None = None
    restoring: asyncio.Task[None] | None = None
    saved: SavedDocument | None = None
    n_connected: int = 0  # how often the backend had been reached at its last request
    used: float = 0.0
    is_retired: bool = False

    def __post_init__(self) -> None:
        self.ladder = FrameLadder(self.file)
        if self.most_chars > DOCUMENT_CHARS:
            self.refuse(Verdict.TOO_LARGE.value, Verdict.TOO_LARGE)

    @property
    def uri(self) -> str:
        """The name by which the client knows it."""
        return self.document.uri

    @property
    def current(self) -> Document | None:
        """
        The text now; None where nothing of it may be used: it is private, not judged yet, or
        closed.
        """
        return self.document if self.is_usable and not self.is_retired else None

    @property
    def place(self) -> TextPlace | None:
        """The cursor in `current`; None where one of them is."""
        document, position = self.current, self._position
        return TextPlace(document, position) if document and position is not None else None

    def place_at(self, position: Position) -> TextPlace:
        """Return the nearest place to a position that counts on the text now."""
        return TextPlace(self.document, self.document.clamp(position))

    @property
    def is_usable(self) -> bool:
        """Return whether it is judged, and not private."""
        return self.verdict is Verdict.USABLE

    @property
    def refusal(self) -> End | None:
        """Return why nothing of it may be used; None where it may."""
        if self.verdict is Verdict.TOO_LARGE:
            return Outcome.LARGE, ""
        return None if self.is_usable else (Outcome.PRIVATE, self.why_private)

    def permit(
        self, document: Document | None = None, why_over: Callable[[], str] = lambda: ""
    ) -> Permit:
        """
        Return the permit to show it to a model: with *document*, while that is its text, until
        *why_over* says why not.
        """

        def check(prompt: Prompt) -> None:
            if self.current is None:
                raise Withdrawn(self.why_private or "it was closed, or is judged again")
            if document is not None and self.document is not document:
                raise Withdrawn(CHANGED)
            if not all(self.workspace.shows(chunk.name) for chunk in prompt.chunks):
                raise Withdrawn("a file in its context is gone, or private now")
            if why := why_over():
                raise Withdrawn(why)

        return check

    def suspend(self) -> None:
        """Stop work on this object: another one begins, to be judged."""
        self.retire()
        self.workspace.suspend(self.uri)

    def change(self, edits: tuple[Edit | str, ...], version: int) -> None:
        """
        Apply *edits*; the windows move with those above them, the cursor with
        those at it.
        """
        before, self.typed = self.document, True
        self.document = apply_edits(before, edits, version)
        if self.verdict is Verdict.TOO_LARGE:
            return
        self.acceptance.follow(before, edits)
        self.last_answer = self.last_answer and self.last_answer.after(before, edits, version)
        for edit in edits:
            if isinstance(edit, Edit):
                self._position = self._position and carry(self._position, edit)
                self.deleted = edit.start if not edit.text and edit.start != edit.end else None
                self.ladder.move(edit)
        self._position = self._position and self.document.clamp(self._position)
        self.workspace.memory.note_edit(before, self.document, edits)
        self.known.pause(unless=self.leads_to)

    def crosses_limit(self, edits: tuple[Edit | str, ...]) -> bool:
        """Return whether *edits*, the last ones, made it too large, or small enough again."""
        self.most_chars += sum(len(e if isinstance(e, str) else e.text) for e in edits)
        is_large = self.verdict is Verdict.TOO_LARGE
        if is_large and all(isinstance(edit, Edit) and edit.start == edit.end for edit in edits):
            return False
        if self.most_chars <= DOCUMENT_CHARS:
            return is_large
        self.most_chars = sum(map(len, self.document.lines))
        return (self.most_chars > DOCUMENT_CHARS) != is_large

    def move_to(self, place: TextPlace) -> Position:
        """Move the cursor. Raises Withdrawn where *place* is in an older text."""
        if place.document is not self.document:
            raise Withdrawn(CHANGED)
        self._position = place.position
        return place.position

    def allow(self) -> None:
        """Let it inform others: it is not private."""
        self.verdict, self.why_private = Verdict.USABLE, ""
        self.workspace.open(source(self.document, self.file))

    def refuse(self, reason: str, verdict: Verdict = Verdict.PRIVATE) -> None:
        """Use and remember nothing of it: it is private, or too large."""
        self.verdict, self.why_private = verdict, reason
        self.workspace.withdraw(self.uri)

    def retire(self) -> None:
        """Stop decoding for this object: it was closed, or is judged again."""
        self.is_retired = True
        self.known.end()

    def close(self) -> None:
        """Close it: its text is that on disk from now on."""
        self.acceptance.close()
        self.workspace.memory.note_close(self.uri)
        self.retire()

    def offer(self, request: CompletionRequest, suggestions: list[Suggestion]) -> None:
        """Remember what the user is shown for *request*."""
        edits = [(item.id, Edit(item.start, item.end, item.text)) for item in suggestions]
        self.acceptance.offer(request.document, edits, by_itself=request.sure > 0)

    def take_typed(self) -> bool:
        """
        Return whether there was an edit since the last request, which is this one from now on.
        """
        typed, self.typed = self.typed, False
        return typed

    def viewport(self, shown: Window, line: int | None = None) -> Viewport:
        """Return the viewport of a prompt with this window, the cursor on *line* or as it is."""
        if line is None:
            line = self._position.line if self._position else 0
        return Viewport(self.uri, line, shown.first, line + 1 + shown.suffix.count("\n"))

    def leads_to(self, generation: Generation) -> bool:
        """Return whether the cursor may still come to what *generation* says."""
        if self.ladder.current is None or self._position is None:
            return False
        shown = self.ladder.current.window
        if self._position.line < shown.anchor:
            return False
        middle = window.middle(shown, self.document, self._position)
        return generation.is_on_the_way(shown, middle)


def source(document: Document, file: FileLocation) -> Source:
    """Return a document as the memory keeps it, under the name a model may see."""
    return Source(document.uri, file.path, document.language, document.version, document.lines)

"""
An open document: its text, and what its user did there. State, and decisions on it.

All that is the user's stands here and outlives every verdict: the text, the cursor, what is on
screen, what became of it. A verdict may end its `ModelView`. Each is written by its own methods
only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fim_lsp.context.chunks import YANK_CHARS, Source
from fim_lsp.context.ring import Viewport
from fim_lsp.documents import (
    DOCUMENT_CHARS,
    Document,
    Edit,
    Position,
    TextPlace,
    apply_edits,
)
from fim_lsp.prompt.window import Window
from fim_lsp.session.lane import Permit, Withdrawn
from fim_lsp.session.state.acceptance import Acceptance
from fim_lsp.session.state.model_view import ModelView, Verdict
from fim_lsp.session.state.workspaces import Workspace
from fim_lsp.session.stats import LastAnswer
from fim_lsp.suggest.known import Displayed
from fim_lsp.workspace.paths import FileLocation, PlaceId
from server_bridge.protocol import Prompt

CHANGED = "the text was changed meanwhile"
TOP = Position(0, 0)
YANKS = 4  # that are remembered of a document that is not judged yet


@dataclass(eq=False, repr=False)
class Requests:
    """
    What is known of the requests in one document. *last_answer* is how the newest one ended, *used*
    is when the model was asked last (loop time; 0: never), *typed*: there was an edit since then.
    *displayed* is the text shown last, if it is one that stays while it is typed along.
    """

    last_answer: LastAnswer | None = None
    used: float = 0.0
    typed: bool = False
    displayed: Displayed | None = None

    def note_edits(self, before: Document, edits: tuple[Edit, ...], version: int) -> None:
        """Record that *edits* were made in *before*, which has *version* now."""
        self.typed = True
        self.last_answer = self.last_answer and self.last_answer.after(before, edits, version)

    def note_answer(self, answer: LastAnswer) -> None:
        """Record how the newest request ended."""
        self.last_answer = answer

    def answer_at(self, version: int, position: Position | None) -> LastAnswer | None:
        """Return how the last request at *position*, None: at any, ended in this *version*."""
        last = self.last_answer
        is_there = last is not None and last[:2] == (version, position)
        return last if position is None or is_there else None

    def note_use(self, now: float) -> None:
        """Record that the model is asked *now*."""
        self.used = now

    def take_typed(self) -> bool:
        """
        Return whether there was an edit since the last request, which is this one from now on.
        """
        typed = self.typed
        self.typed = False
        return typed

    def display(self, displayed: Displayed | None) -> None:
        """Note what stands on screen and stays while it is typed along, None for nothing."""
        self.displayed = displayed


@dataclass(eq=False, repr=False)
class OpenDocument:
    """
    One open document. *most_chars* is at least as many as it has. *cursor* is its last known place,
    carried along by edits since; *deleted* is where the last edit only took text away.
    """

    document: Document
    view: ModelView
    acceptance: Acceptance
    most_chars: int
    cursor: Position | None = None
    deleted: Position | None = None
    requests: Requests = field(default_factory=Requests)
    yanks: deque[str] = field(default_factory=lambda: deque(maxlen=YANKS))
    is_closed: bool = False

    @property
    def uri(self) -> str:
        """The name by which the client knows it."""
        return self.document.uri

    @property
    def file(self) -> FileLocation:
        """Where it is."""
        return self.view.file

    @property
    def workspace(self) -> Workspace:
        """The workspace that it belongs to."""
        return self.view.workspace

    @property
    def current(self) -> Document | None:
        """
        The text now; None where nothing of it may be used: it is private, not judged yet, or
        closed.
        """
        is_shown = self.view.verdict is Verdict.USABLE and not self.is_closed
        return self.document if is_shown else None

    @property
    def place(self) -> TextPlace | None:
        """The cursor in `current`; None where one of them is."""
        document = self.current
        position = self.cursor
        return TextPlace(document, position) if document and position is not None else None

    def place_at(self, position: Position | None) -> TextPlace:
        """
        Return the nearest place to a position that counts on the text now, None for that of the
        cursor: the beginning where it is not known.
        """
        return TextPlace(self.document, self.document.clamp(position or self.cursor or TOP))

    def permit(
        self, document: Document | None = None, why_over: Callable[[], str] = lambda: ""
    ) -> Permit:
        """
        Return the permit to show it to a model: with *document*, while that is its text, until
        *why_over* says why not.
        """
        view = self.view

        def check(prompt: Prompt) -> None:
            if self.is_closed or self.view is not view:
                raise Withdrawn(self.view.why_private or "it was closed, or is in another folder")
            if view.verdict is not Verdict.USABLE:
                raise Withdrawn(view.why_private, judged=view.verdict is Verdict.UNJUDGED)
            if document is not None and self.document is not document:
                raise Withdrawn(CHANGED)
            if not all(view.workspace.shows(chunk.name) for chunk in prompt.chunks):
                raise Withdrawn("a file in its context is gone, or private now", judged=True)
            if why := why_over():
                raise Withdrawn(why)

        return check

    def change(self, edits: tuple[Edit, ...], version: int) -> bool:
        """
        Apply *edits*; the windows move with those above them, the cursor with those at it. Return
        whether it is too large now, or small enough again.
        """
        before = self.document
        self.document = apply_edits(before, edits, version)
        self.acceptance.follow(before, edits)
        self.requests.note_edits(before, edits, version)
        for edit in edits:
            self.cursor = self.cursor and edit.carry(self.cursor)
            self.deleted = edit.start if not edit.text and edit.start != edit.end else None
            self.view.ladder.move(edit)
        self.cursor = self.cursor and self.document.clamp(self.cursor)
        if self.view.verdict is not Verdict.TOO_LARGE:
            self.workspace.memory.note_edit(self.document, edits)
        return self._crosses_limit(edits)

    def _crosses_limit(self, edits: tuple[Edit, ...]) -> bool:
        """Return whether *edits*, the last ones, made it too large, or small enough again."""
        self.most_chars += sum(len(edit.text) for edit in edits)
        is_large = self.view.verdict is Verdict.TOO_LARGE
        if is_large and all(edit.start == edit.end for edit in edits):
            return False
        if self.most_chars <= DOCUMENT_CHARS:
            return is_large
        self.most_chars = sum(map(len, self.document.lines))
        return (self.most_chars > DOCUMENT_CHARS) != is_large

    def move_to(self, place: TextPlace) -> Position:
        """Move the cursor. Raises Withdrawn where *place* is in an older text."""
        if place.document is not self.document:
            raise Withdrawn(CHANGED)
        if self.deleted != place.position:
            self.deleted = None  # a cursor that comes back later follows no deletion
        if self.cursor != place.position:
            self.requests.display(None)
        self.cursor = place.position
        return place.position

    def yank(self, text: str) -> None:
        """Remember that the user copied *text*, once it is known that it may be used."""
        if self.workspace.memory.knows(self.uri):
            self.workspace.memory.note_yank(self.uri, text)
        elif self.view.verdict is Verdict.UNJUDGED and len(text) <= YANK_CHARS:
            self.yanks.append(text)

    def allow(self, place: PlaceId | None = None) -> None:
        """Let it inform others: it is not private at *place*."""
        self.view.allow(place)
        self.workspace.open(source(self.document, self.file))
        for text in self.yanks:
            self.workspace.memory.note_yank(self.uri, text)
        self.yanks.clear()

    def refuse(
        self, reason: str, verdict: Verdict = Verdict.PRIVATE, place: PlaceId | None = None
    ) -> None:
        """Use and remember nothing of it: it is private, at *place*, or too large."""
        self.show_in(ModelView(self.file, self.workspace, verdict, reason, place=place))
        self.workspace.withdraw(self.uri)
        self.yanks.clear()

    def refuse_large(self) -> None:
        """Use nothing of it, if it is too large."""
        if self.most_chars > DOCUMENT_CHARS:
            self.refuse(Verdict.TOO_LARGE.value, Verdict.TOO_LARGE)

    def suspend(self) -> None:
        """
        Show nothing of it until it is judged again; too large is no verdict that a rule changes.
        """
        if self.view.verdict is not Verdict.TOO_LARGE:
            self.view.suspend()
            self.workspace.suspend(self.uri)

    def show_in(self, view: ModelView) -> None:
        """
        Begin again with a new *view* of it; copies from it are remembered in its workspace of now.
        """
        self.view.end()
        self.yanks.extend(self.workspace.memory.yanks(self.uri))
        self.workspace.suspend(self.uri)
        self.workspace.memory.note_close(self.uri)
        self.view = view

    def close(self) -> None:
        """Close it: its text is that on disk from now on, which is to be judged."""
        self.retire()
        self.acceptance.end()
        self.workspace.memory.note_close(self.uri)

    def retire(self) -> None:
        """Stop work on this object; the memory of it is shown once it is judged again."""
        self.is_closed = True
        self.view.end()
        self.workspace.suspend(self.uri)

    def viewport(self, shown: Window, line: int | None = None) -> Viewport:
        """Return the viewport of a prompt with this window, the cursor on *line* or as it is."""
        if line is None:
            line = self.cursor.line if self.cursor else 0
        return Viewport(self.uri, line, shown.first, line + 1 + shown.suffix.count("\n"))


def source(document: Document, file: FileLocation) -> Source:
    """Return a document as the memory keeps it, under the name a model may see."""
    return Source(document.uri, file.path, document.language, document.version, document.lines)

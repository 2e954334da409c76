"""
An open document: its text and all that the session keeps of it. State, and decisions on it.

Only its methods write. A frame that is being prefilled (`next`) takes the place of the current one
when it is evaluated, not before. `usable` are frames for a request that waits, `ahead` is the one
to prefill while none does. A document whose rules or folder changed is begun again (`restart`):
work still running on the old object sees `current is None`.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fim_lsp.context.chunks import Source
from fim_lsp.context.ring import Viewport
from fim_lsp.documents import DOCUMENT_CHARS, Document, Edit, Position, apply_edits, carry
from fim_lsp.instruct.dialogue import Dialogue
from fim_lsp.prompt import frame as frames
from fim_lsp.prompt import window
from fim_lsp.prompt.frame import Chunks, Frame, Header
from fim_lsp.prompt.window import Budget, Fit, Window
from fim_lsp.session.generation import Generation
from fim_lsp.session.lane import Permit, Withdrawn
from fim_lsp.session.state.acceptance import Acceptance
from fim_lsp.session.state.state_file import SavedDocument
from fim_lsp.session.state.workspaces import Workspace
from fim_lsp.session.stats import LastAnswer
from fim_lsp.suggest.continuations import Continuations, Displayed
from fim_lsp.suggest.reasons import TOO_LARGE
from fim_lsp.workspace.git_commit import is_message
from fim_lsp.workspace.paths import FileLocation, local_path
from server_bridge.protocol import Prompt

RESTING = 4  # generations that were left and may be resumed: the last few places of the cursor
SMALLEST = 0.1  # of the budget; a prompt that is too long even then cannot shrink further
UNJUDGED = "not judged yet"


class Verdict(enum.Enum):
    """The verdict on a document: whether anything of it may be used."""

    UNJUDGED = "unjudged"
    USABLE = "usable"
    PRIVATE = "private"
    TOO_LARGE = TOO_LARGE


@dataclass(eq=False, repr=False)
class OpenDocument:
    """
    See the module. *most_chars* is at least as many as the document has. *why_private* is "" where
    it may be used. *position* is the cursor's last known place, carried along by edits since;
    *deleted* is where the last edit only took text away; *typed*: there was an edit since the last
    request. *displayed* is the text that was suggested last, *shown_at* in which version and where
    a suggestion was last shown, *used* when a request was served last (0: never);
    *is_message*: it is the message of a commit.
    """

    document: Document
    file: FileLocation
    workspace: Workspace
    acceptance: Acceptance
    most_chars: int
    verdict: Verdict = Verdict.UNJUDGED
    why_private: str = UNJUDGED
    frame: Frame | None = None
    next: Frame | None = None
    aside: Frame | None = None  # of the end of the line where the cursor rests
    position: Position | None = None
    deleted: Position | None = None
    typed: bool = False
    max_chunks: int | None = None  # fewer chunks, then a smaller window …
    scale: float = 1.0  # … where a prompt turned out too long
    continuations: Continuations = field(default_factory=Continuations)
    displayed: Displayed | None = None
    shown_at: tuple[int, Position] | None = None
    last_answer: LastAnswer | None = None
    dialogue: Dialogue | None = None  # about the last edit by instruction
    generations: deque[Generation] = field(default_factory=lambda: deque(maxlen=RESTING))
    restoring: asyncio.Task[None] | None = None  # what an earlier run saved
    saved: SavedDocument | None = None  # what is on disk of it
    used: float = 0.0
    is_retired: bool = False

    def __post_init__(self) -> None:
        self.is_message = is_message(local_path(self.uri))
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
    def is_usable(self) -> bool:
        """Return whether it is judged, and not private."""
        return self.verdict is Verdict.USABLE

    @property
    def refusal(self) -> str:
        """Return why nothing of it may be used, as `Answer.outcome` says it; "" where it may."""
        is_large = self.verdict is Verdict.TOO_LARGE
        return self.why_private if is_large or self.is_usable else f"private: {self.why_private}"

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
                raise Withdrawn("the text was changed meanwhile")
            if not all(self.workspace.shows(chunk.name) for chunk in prompt.chunks):
                raise Withdrawn("a file in its context is gone, or private now")
            if why := why_over():
                raise Withdrawn(why)

        return check

    # -- what happens to it --------------------------------------------------------------------

    def restart(
        self, document: Document, file: FileLocation, workspace: Workspace, most_chars: int
    ) -> OpenDocument:
        """
        Return the document begun again, to be judged; what the user was shown stays on screen.
        """
        self.retire()
        self.workspace.suspend(self.uri)
        return OpenDocument(document, file, workspace, self.acceptance, most_chars)

    def change(self, edits: tuple[Edit | str, ...], version: int, now: float) -> None:
        """
        Apply *edits* at *now* (seconds); the windows move with those above them, the cursor with
        those at it.
        """
        before, self.typed = self.document, True
        self.document = apply_edits(before, edits, version)
        if self.verdict is Verdict.TOO_LARGE:
            return
        self.acceptance.follow(before, edits, now)
        self.last_answer = self.last_answer and self.last_answer.after(before, edits, version)
        for edit in edits:
            if isinstance(edit, Edit):
                self.position = self.position and carry(self.position, edit)
                self.deleted = edit.start if not edit.text and edit.start != edit.end else None
                self.frame = self.frame and frames.move(self.frame, edit)
                self.next = self.next and frames.move(self.next, edit)
                self.aside = self.aside and frames.move(self.aside, edit)
        self.position = self.position and self.document.clamp(self.position)
        self.workspace.memory.note_edit(before, self.document, edits)
        self._pause_contradicted()

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

    def move_to(self, position: Position) -> Position:
        """Move the cursor to *position*, which exists: `convert` clamps what clients send."""
        self.position = position
        return position

    def allow(self) -> None:
        """Let it inform others: it is not private."""
        self.verdict, self.why_private = Verdict.USABLE, ""
        self.workspace.open(source(self.document, self.file))

    def refuse(self, reason: str, verdict: Verdict = Verdict.PRIVATE) -> None:
        """Use and remember nothing of it: it is private, or too large."""
        self.verdict, self.why_private = verdict, reason
        self.workspace.withdraw(self.uri)

    def leave_unjudged(self, reason: str) -> None:
        """Use nothing of it until it can be judged."""
        self.why_private = reason

    def retire(self) -> None:
        """Stop decoding for this object: it was closed, or is judged again."""
        self.is_retired = True
        self.stop()

    def stop(self) -> None:
        """Stop decoding."""
        for generation in self.generations:
            generation.end()

    def close(self) -> None:
        """Close it: its text is that on disk from now on."""
        self.acceptance.close(self.document)
        self.workspace.memory.note_close(self.uri)
        self.retire()

    # -- what is done for it --------------------------------------------------------------------

    def mark_used(self, now: float) -> None:
        """Note that a request is served at *now* (loop time)."""
        self.used = now

    def take_typed(self) -> bool:
        """
        Return whether there was an edit since the last request, which is this one from now on.
        """
        typed, self.typed = self.typed, False
        return typed

    def display(self, displayed: Displayed | None) -> None:
        """Remember what is on screen, as far as is known."""
        self.displayed = displayed

    def mark_shown(self, at: tuple[int, Position]) -> None:
        """Note in which version and where the user is shown a suggestion, or a part of one."""
        self.shown_at = at

    def note_answer(self, answer: LastAnswer) -> None:
        """Remember how the last request ended."""
        self.last_answer = answer

    def restore(self, work: asyncio.Task[None]) -> None:
        """Have *work* load what an earlier run saved."""
        self.restoring = work

    def set_dialogue(self, dialogue: Dialogue) -> None:
        """Remember the last edit by instruction, which a further one may continue."""
        self.dialogue = dialogue

    def mark_saved(self, saved: SavedDocument | None) -> None:
        """Remember what is on disk of it."""
        self.saved = saved

    # -- frames to choose from -----------------------------------------------------------------

    def cut_withdrawn(self) -> None:
        """Show no chunk of a file that is gone, or private now."""
        shows = self.workspace.shows
        self.frame = self.frame and frames.before_withdrawn(self.frame, shows)
        self.next = self.next and frames.before_withdrawn(self.next, shows)
        self.aside = self.aside and frames.before_withdrawn(self.aside, shows)

    def usable(self, document: Document, position: Position, budget: Budget) -> list[Frame]:
        """Return the frames at hand that serve *position*, the newest first."""
        at_hand = [frame for frame in (self.next, self.frame, self.aside) if frame]
        fits = [window.fit(frame.window, document, position, budget) for frame in at_hand]
        return [frame for frame, fit in zip(at_hand, fits, strict=True) if fit is not Fit.LOST]

    def ahead(self, document: Document, position: Position, budget: Budget, share: float) -> Frame:
        """
        Return the frame to prefill: the one in use while nothing is better, else the next rung of
        the ladder.

        First the window grows, from *share* of the budget on, with the chunks at hand; the largest
        one stands behind the chunks of the ring now, or it would be evaluated twice. A window that
        does not fit any more is anchored again at its own size.
        """
        frame = self.frame
        if frame is None:
            return self._prepare(document, position, budget, None, share)
        if window.fit(frame.window, document, position, budget) is not Fit.FITS:
            return self._prepare(document, position, budget, frame, max(share, frame.window.share))
        if frame.window.share < 1:
            return self._prepare(
                document, position, budget, frame, frame.window.share * window.RUNG
            )
        header = self.header(self.workspace.chunks(self.viewport(frame.window)))
        if frame.header != header:
            self.next = frame = Frame(header, frame.window)
        return frame

    def _prepare(
        self, document: Document, position: Position, budget: Budget, frame: Frame | None,
        share: float,
    ) -> Frame:  # fmt: skip
        """
        Return the next frame, with *share* of the budget, behind the chunks of *frame*, or of the
        ring where it becomes the largest; the one under way if it serves.
        """
        share = min(1.0, share)
        under_way = self.next
        if (
            under_way
            and under_way.window.share == share
            and window.fit(under_way.window, document, position, budget) is Fit.FITS
        ):
            return under_way
        old = frame.window if frame and frame.window.share == share else None
        new = window.place_window(document, position, budget, old, share)
        chunks = frames.beside(frame.header.chunks, self.file.path, new) if frame else ()
        if old is None and share == 1:
            chunks = self.workspace.chunks(self.viewport(new))
        self.next = Frame(self.header(chunks), new)
        return self.next

    def viewport(self, shown: Window | None) -> Viewport:
        """Return the viewport of a prompt with this window; without one, the cursor's line."""
        line = self.position.line if self.position else 0
        if shown is None:
            return Viewport(self.uri, line, line, line + 1)
        return Viewport(self.uri, line, shown.first, line + 1 + shown.suffix.count("\n"))

    def header(self, chunks: Chunks) -> Header:
        """Return the header of a prompt of the document, with as many of *chunks* as fit."""
        return Header(self.file.repo, chunks[: self.max_chunks], self.file.path)

    # -- changes of the frame in use -----------------------------------------------------------

    def install(self, new: Frame) -> Frame:
        """Go on with *new*."""
        self.frame, self.next = new, None
        return new

    def prefer(self, new: Frame) -> None:
        """Prefill *new* first."""
        if new is not self.frame:
            self.next = new

    def put_aside(self, new: Frame) -> None:
        """Have *new* ready for the end of the line where the cursor rests."""
        self.aside = new

    def reset(self) -> None:
        """Drop all frames: nothing is frozen any more."""
        self.frame, self.next, self.aside = None, None, None

    def shrink(self, long: Frame) -> bool:
        """Show less from now on, because a prompt with *long* did not fit; False at the end."""
        if long.header.chunks:
            self.max_chunks = len(long.header.chunks) // 2
        else:
            self.scale /= 2
        self.next = None
        if self.frame is long:
            self.frame = None
        return self.scale > SMALLEST

    # -- generations ---------------------------------------------------------------------------

    def generation_for(self, document: Document, position: Position) -> Generation | None:
        """Return the generation under way that agrees with what is typed at *position*."""
        if self.frame is None or position.line < self.frame.window.anchor:
            return None
        shown = self.frame.window
        typed = window.middle(shown, document, position)
        agreeing = (other for other in self.generations if other.agrees(shown, typed))
        return next(agreeing, None)

    def begin(self, generation: Generation) -> None:
        """Add *generation* to those under way."""
        self.generations.appendleft(generation)

    def release(self, generation: Generation) -> None:
        """Let go of *generation* once it has ended: no request can join it."""
        if generation.is_over and generation in self.generations:
            self.generations.remove(generation)

    def _pause_contradicted(self) -> None:
        """Stop decoding what the cursor can no longer reach."""
        for generation in self.generations:
            if not self.leads_to(generation):
                generation.pause()

    def leads_to(self, generation: Generation) -> bool:
        """Return whether the cursor may still come to what *generation* says."""
        if self.frame is None or self.position is None:
            return False
        shown = self.frame.window
        if self.position.line < shown.anchor:
            return False
        middle = window.middle(shown, self.document, self.position)
        return generation.is_on_the_way(shown, middle)


def source(document: Document, file: FileLocation) -> Source:
    """Return a document as the memory keeps it, under the name a model may see."""
    return Source(document.uri, file.path, document.language, document.version, document.lines)

"""
What the session keeps of an open document besides its text. State, and decisions on it.

A frame that is being prefilled (`next`) takes the place of the current one when it is evaluated, not
before. `follow` takes in edits; `usable` and `quick` are frames for a request that waits, `ahead` is
the one to prefill while none does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fim_lsp.context.update import Viewport
from fim_lsp.documents import Document, Edit, Position, carried
from fim_lsp.instruct.dialogue import Dialogue
from fim_lsp.prompt import frame as frames
from fim_lsp.prompt import window
from fim_lsp.prompt.frame import Chunks, Frame, Header, HeaderFor
from fim_lsp.prompt.window import Budget, Fit, Window
from fim_lsp.session.generation import Generation
from fim_lsp.suggest.continuations import Continuations
from fim_lsp.suggest.typed_through import Displayed
from fim_lsp.workspace.paths import FileLocation

RESTING = 4  # generations that were left and may be resumed: the last few places of the cursor
SMALLEST = (
    0.1  # of the budget; a prompt that is too long even then cannot be helped by showing less
)
UNJUDGED = "not judged yet"


@dataclass(slots=True)
class DocumentState:
    """
    *private* is why nothing of the document may be used, "" when it may. *position* is the cursor as
    last heard of, carried along by edits since; *deleted*: the last edit only took text away; *typed*:
    there was an edit since the last request.
    """

    uri: str
    file: FileLocation
    language: str = ""
    private: str = UNJUDGED
    frame: Frame | None = None
    next: Frame | None = None
    position: Position | None = None
    deleted: bool = False
    typed: bool = False
    max_chunks: int | None = None  # fewer chunks, then a smaller window …
    scale: float = 1.0  # … where a prompt turned out too long
    dialogue: Dialogue | None = None  # the last edit by instruction
    continuations: Continuations = field(default_factory=Continuations)
    displayed: Displayed | None = None  # what was suggested last
    generations: deque[Generation] = field(default_factory=lambda: deque(maxlen=RESTING))

    def follow(self, edits: tuple[Edit | str, ...]) -> None:
        """Let the windows move with edits above them, and the cursor with those at it."""
        self.typed = True
        for edit in edits:
            if isinstance(edit, Edit):
                self.position = self.position and carried(self.position, edit)
                self.deleted = not edit.text and edit.start != edit.end
                self.frame = self.frame and frames.moved(self.frame, edit)
                self.next = self.next and frames.moved(self.next, edit)

    # -- frames to choose from -----------------------------------------------------------------

    def usable(self, document: Document, position: Position, budget: Budget) -> list[Frame]:
        """The frames at hand that serve *position*, the newest first."""
        at_hand = [frame for frame in (self.next, self.frame) if frame]
        fits = [window.fit(frame.window, document, position, budget) for frame in at_hand]
        return [frame for frame, fit in zip(at_hand, fits, strict=True) if fit is not Fit.LOST]

    def quick(
        self, document: Document, position: Position, budget: Budget, runs: Iterable[Chunks],
        header: Callable[[Chunks, Window], Header], share: float,
    ) -> list[Frame]:  # fmt: skip
        """
        New frames with small windows, *share* of the budget, for a request that waits.

        They continue what the backend may hold: the windows at hand, and the headers with *runs* of
        chunks.
        """
        old = [frame.window for frame in (self.frame, self.next) if frame]
        windows = dict.fromkeys(
            window.anchored(document, position, budget, each, share) for each in (*old, None)
        )
        made = (Frame(header(run, new), new) for new in windows for run in runs)
        return list(dict.fromkeys(made))

    def ahead(
        self, document: Document, position: Position, budget: Budget, header: HeaderFor,
        share: float,
    ) -> Frame:  # fmt: skip
        """
        The frame to prefill: the one in use while nothing is better, else the next rung of the ladder.

        First the window grows, from *share* of the budget on, with the chunks at hand; then come the chunks of
        *header*. A window that does not fit any more is anchored again at its own size.
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
        if frame.header != (new := header(frame.window)):
            self.next = Frame(new, frame.window)
            return self.next
        return frame

    def _prepare(
        self, document: Document, position: Position, budget: Budget, frame: Frame | None,
        share: float,
    ) -> Frame:  # fmt: skip
        """The next frame, with *share* of the budget, behind the chunks of *frame*; the one under way if it serves."""
        share = min(1.0, share)
        under_way = self.next
        if (
            under_way
            and under_way.window.share == share
            and window.fit(under_way.window, document, position, budget) is Fit.FITS
        ):
            return under_way
        old = frame.window if frame and frame.window.share == share else None
        new = window.anchored(document, position, budget, old, share)
        chunks = frames.beside(frame.header.chunks, self.file.path, new) if frame else ()
        self.next = Frame(self.header(chunks), new)
        return self.next

    def viewport(self, shown: Window | None) -> Viewport:
        """What a prompt with this window shows of the document; without one, the cursor's line."""
        line = self.position.line if self.position else 0
        if shown is None:
            return Viewport(self.uri, line, line, line + 1)
        return Viewport(self.uri, line, shown.first, line + 1 + shown.suffix.count("\n"))

    def header(self, chunks: Chunks) -> Header:
        """What a prompt of the document begins with, after as many of *chunks* as fit."""
        return Header(self.file.repo, chunks[: self.max_chunks], self.file.path, self.language)

    # -- changes of the frame in use -----------------------------------------------------------

    def install(self, new: Frame) -> Frame:
        """Go on with *new*."""
        self.frame, self.next = new, None
        return new

    def reset(self) -> None:
        """Nothing is frozen any more."""
        self.frame, self.next = None, None

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
        """The generation under way that agrees with what is typed at *position*."""
        if self.frame is None or position.line < self.frame.window.anchor:
            return None
        shown = self.frame.window
        typed = window.middle(shown, document, position)
        return next((each for each in self.generations if each.agrees(shown, typed)), None)

    def pause_contradicted(self, document: Document) -> None:
        """Stop decoding what no user at the cursor may come to any more."""
        for generation in self.generations:
            if not self._leads_to(generation, document):
                generation.pause()

    def retire(self) -> None:
        """The document was closed or is judged again: nothing more is decoded for this state."""
        for generation in self.generations:
            generation.end()

    def took(self, generation: Generation) -> None:
        """Let go of *generation* once it has ended: no request can join it."""
        if generation.ended and generation in self.generations:
            self.generations.remove(generation)

    def _leads_to(self, generation: Generation, document: Document) -> bool:
        if self.frame is None or self.position is None:
            return False
        shown, position = self.frame.window, document.clamp(self.position)
        if position.line < shown.anchor:
            return False
        return generation.is_on_the_way(shown, window.middle(shown, document, position))

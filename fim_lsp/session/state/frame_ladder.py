"""
The frames of one open document: which one serves a place, and which is to be evaluated next.

Small windows come first and grow, each a rung of a ladder, while the user rests. Pure: the module
does not know what the model has evaluated, and takes the chunks of the ring as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fim_lsp.documents import Edit, TextPlace
from fim_lsp.prompt import frame as frames
from fim_lsp.prompt import window
from fim_lsp.prompt.frame import Chunks, Frame, Header
from fim_lsp.prompt.window import Budget, Fit, Window
from fim_lsp.workspace.paths import FileLocation

SMALLEST = 0.1  # of the budget; a prompt that is too long even then cannot shrink further

ChunksOf = Callable[[Window], Chunks]  # to show beside a window
Server = tuple[str, str, int]  # its URL, its model, the tokens of its context


@dataclass(slots=True)
class FrameLadder:
    """
    The *current* frame, the *next* one, and the one *aside*, of the end of the line where the
    cursor rests; *saved* is the one that was current when it was saved. Where prompts turned out
    too long for *server* they have *max_chunks*, then a window of *scale*.
    """

    file: FileLocation
    current: Frame | None = None
    next: Frame | None = None
    aside: Frame | None = None
    saved: Frame | None = None
    server: Server = ("", "", 0)
    max_chunks: int | None = None
    scale: float = 1.0

    @property
    def at_hand(self) -> list[Frame]:
        """The frames, the newest first."""
        return [frame for frame in (self.next, self.current, self.aside) if frame]

    def usable(self, place: TextPlace, budget: Budget) -> list[Frame]:
        """Return the frames at hand that serve *place*, the newest first."""
        return [f for f in self.at_hand if window.fit(f.window, *place, budget) is not Fit.LOST]

    def climb(self, place: TextPlace, budget: Budget, share: float, ring: ChunksOf) -> Frame:
        """
        Return the frame to evaluate now: the one in use while nothing is better, else the next
        rung; *ring* returns the chunks to show beside a window.

        First the window grows, from *share* of the budget on, with the chunks at hand; the largest
        one stands behind the chunks of the ring now, or it would be evaluated twice. A window that
        does not fit any more is anchored again at its own size.
        """
        frame = self.current
        if frame is None:
            return self._rung(place, budget, share, ring)
        if window.fit(frame.window, *place, budget) is not Fit.FITS:
            return self._rung(place, budget, max(share, frame.window.share), ring)
        if frame.window.share < 1:
            return self._rung(place, budget, frame.window.share * window.RUNG, ring)
        header = self.header(ring(frame.window))
        if frame.header != header:
            self.next = frame = Frame(header, frame.window)
        return frame

    def _rung(self, place: TextPlace, budget: Budget, share: float, ring: ChunksOf) -> Frame:
        """
        Return the next frame, with *share* of the budget, behind the chunks of the one in use, or
        of the ring where it becomes the largest; the one under way if it serves.
        """
        share = min(1.0, share)
        frame = self.current
        top = self.next
        if top and top.window.share == share and window.fit(top.window, *place, budget) is Fit.FITS:
            return top
        old = frame.window if frame and frame.window.share == share else None
        new = window.place_window(*place, budget, old, share)
        chunks = frames.chunks_for_window(frame.header.chunks, self.file.path, new) if frame else ()
        if old is None and share == 1:
            chunks = ring(new)
        self.next = Frame(self.header(chunks), new)
        return self.next

    def header(self, chunks: Chunks) -> Header:
        """Return the header of a prompt of the document, with as many of *chunks* as fit."""
        return Header(self.file.repo, chunks[: self.max_chunks], self.file.path)

    def install(self, new: Frame) -> None:
        """Go on with *new*."""
        self.current = new
        self.next = None

    def advance(self, evaluated: Frame) -> bool:
        """
        Go on with the *next* frame, if *evaluated* is as it stands now; return whether it was.

        A frame that moved, or lost a chunk, while it was evaluated is evaluated once more, which
        costs as much as changed.
        """
        if self.next is not evaluated:
            return False
        self.install(evaluated)
        return True

    def put_aside(self, frame: Frame) -> None:
        """Keep *frame* for the end of the line."""
        self.aside = frame

    def note_saved(self, frame: Frame | None) -> None:
        """Record that *frame* is saved, unless it changed since."""
        self.saved = frame if frame is self.current else None

    def restore(self) -> None:
        """Use the saved frame as well: the server has what it evaluated of it."""
        self.aside = self.saved or self.aside

    def fit_to(self, server: Server) -> None:
        """Show as much as there is room for again, where *server* is another than before."""
        if server != self.server:
            self.server = server
            self.max_chunks = None
            self.scale = 1.0

    def prefer(self, new: Frame) -> None:
        """Evaluate *new* first."""
        if new is not self.current:
            self.next = new

    def move(self, edit: Edit) -> None:
        """Move the windows with an *edit* above them."""
        self._change(lambda frame: frames.move(frame, edit))

    def cut_withdrawn(self, shows: Callable[[str], bool], n_chunks: int) -> None:
        """Show no chunk of a file that is gone, or private now, and no more than so many."""
        self._change(lambda frame: frames.before_withdrawn(frame, shows, n_chunks))

    def _change(self, change: Callable[[Frame], Frame | None]) -> None:
        self.current = self.current and change(self.current)
        self.next = self.next and change(self.next)
        self.aside = self.aside and change(self.aside)
        self.saved = self.saved and change(self.saved)

    def reset(self) -> None:
        """Drop all frames: nothing is frozen any more."""
        self._change(lambda _: None)

    def shrink(self, long: Frame) -> bool:
        """Show less from now on, because a prompt with *long* did not fit; False at the end."""
        if long.header.chunks:
            self.max_chunks = len(long.header.chunks) // 2
        else:
            self.scale /= 2
        self.next = None
        self._change(lambda frame: None if frame == long else frame)
        return self.scale > SMALLEST

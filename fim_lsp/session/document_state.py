"""
A view: what the session keeps of an open document besides its text. State, and decisions on it.

A `Frame` is all of a prompt that stays while someone types. `follow` takes in edits, `usable`
and `quick` are frames for a request that somebody waits for, `ahead` is the one to be warmed while
nobody does.
A frame that is being warmed (`next`) takes the place of the current one when it is warm, not before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from fim_lsp import window
from fim_lsp.context.turn import View as Sight
from fim_lsp.documents import Document, Edit, Position, carried
from fim_lsp.flight import Flight
from fim_lsp.paths import Place as FilePlace
from fim_lsp.suggest.known import Known
from fim_lsp.suggest.screen import Screen
from fim_lsp.tape import Tape
from fim_lsp.window import Budget, Fit, Window
from server_bridge.protocol import Chunk

RESTING = 4  # flights that were left and may be resumed: the last few places of the cursor


@dataclass(frozen=True, slots=True)
class Header:
    """
    What a prompt begins with: the workspace's name, chunks from elsewhere, the path within.

    *language* is not shown; it may decide which server is asked.
    """

    repo: str
    chunks: tuple[Chunk, ...]
    path: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is frozen of a prompt."""

    header: Header
    window: Window


Chunks = tuple[Chunk, ...]
HeaderFor = Callable[[Window], Header]  # chunks must not show again what the window shows


@dataclass(slots=True)
class View:
    """
    *position* is the cursor as last heard of, carried along by edits since; *deleted*: the last edit
    only took text away; *typed*: there was an edit since the last request.
    """

    uri: str
    file: FilePlace
    language: str = ""
    frame: Frame | None = None
    next: Frame | None = None
    tape: Tape = ()
    position: Position | None = None
    deleted: bool = False
    typed: bool = False
    max_chunks: int | None = None  # fewer chunks, then a smaller window …
    scale: float = 1.0  # … where a prompt turned out too long
    known: Known = field(default_factory=Known)
    screen: Screen | None = None  # what was suggested last
    flights: deque[Flight] = field(default_factory=lambda: deque(maxlen=RESTING))

    def follow(self, edits: tuple[Edit | str, ...]) -> None:
        """Let the windows move with edits above them, and the cursor with those at it."""
        self.typed = True
        for edit in edits:
            if isinstance(edit, Edit):
                self.position = self.position and carried(self.position, edit)
                self.deleted = not edit.text and edit.start != edit.end
                self.frame = self.frame and _moved(self.frame, edit)
                self.next = self.next and _moved(self.next, edit)

    def usable(self, document: Document, position: Position, budget: Budget) -> list[Frame]:
        """The frames at hand that serve *position*, the newest first."""
        frames = [frame for frame in (self.next, self.frame) if frame]
        fits = [window.fit(frame.window, document, position, budget) for frame in frames]
        return [frame for frame, fit in zip(frames, fits, strict=True) if fit is not Fit.LOST]

    def quick(
        self, document: Document, position: Position, budget: Budget, runs: Iterable[Chunks],
        header: Callable[[Chunks, Window], Header],
    ) -> list[Frame]:  # fmt: skip
        """
        New frames with small windows, for somebody who waits.

        They go on from what the backend may hold: the windows at hand, and the headers with *runs* of
        chunks.
        """
        old = [frame.window for frame in (self.frame, self.next) if frame]
        windows = dict.fromkeys(
            window.anchored(document, position, budget, each, quick=True) for each in (*old, None)
        )
        frames = (Frame(header(run, new), new) for new in windows for run in runs)
        return list(dict.fromkeys(frames))

    def ahead(
        self, document: Document, position: Position, budget: Budget, header: HeaderFor
    ) -> Frame:
        """The frame to warm: the current one while nothing is better, else its successor."""
        for frame in (self.frame, self.next):
            if frame and window.fit(frame.window, document, position, budget) is Fit.FITS:
                if frame.header == header(frame.window):
                    return frame
                self.next = Frame(header(frame.window), frame.window)
                return self.next
        new = window.anchored(document, position, budget, self._window)
        self.next = Frame(header(new), new)
        return self.next

    @property
    def _window(self) -> Window | None:
        return self.frame.window if self.frame else None

    def sight(self, shown: Window | None) -> Sight:
        """What a prompt with this window shows of the document; without one, the cursor's line."""
        line = self.position.line if self.position else 0
        if shown is None:
            return Sight(self.uri, line, line, line + 1)
        return Sight(self.uri, line, shown.first, line + 1 + shown.suffix.count("\n"))

    def header(self, chunks: Chunks) -> Header:
        """What a prompt of the document begins with, after as many of *chunks* as fit."""
        return Header(self.file.repo, chunks[: self.max_chunks], self.file.path, self.language)

    def take(self, new: Frame) -> Frame:
        """Go on with *new*; a tape spells the middle of one window only."""
        if self.frame is None or new.window != self.frame.window:
            self.tape = ()
        self.frame, self.next = new, None
        return new

    def forget(self) -> None:
        """Begin anew: nothing is frozen."""
        self.frame, self.next, self.tape = None, None, ()

    def shrink(self, long: Frame) -> bool:
        """Take less from now on, because a prompt with *long* did not fit; False at the end."""
        if long.header.chunks:
            self.max_chunks = len(long.header.chunks) // 2
        else:
            self.scale /= 2
        self.next = None
        if self.frame is long:
            self.frame = None
        return self.scale > SMALLEST


SMALLEST = 0.1  # of the budget; a prompt that is too long even then is not ours to mend


def _moved(frame: Frame, edit: Edit) -> Frame:
    return replace(frame, window=window.moved(frame.window, edit))

"""
One turn of the ring: from a snapshot of what is remembered to the next state. Pure.

The only part of `context` that takes longer than an event may, and therefore a function of plain
values: it runs in a worker thread on a `Snapshot` nobody changes. The first turn after an edit
reads the syntax of that file (4 ms per 1,000 lines), the others are remembered by version.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fim_lsp.context.choice import Interest, Surroundings
from fim_lsp.context.chunks import (
    ContextChunk,
    Piece,
    Source,
    Why,
    located,
    overlaps,
    pieces,
    telling,
)
from fim_lsp.context.ring import Bad, Limits, Ring, turned
from fim_lsp.context.similarity import WORD
from fim_lsp.documents import unix

_NEAR_ABOVE = 20  # lines around the cursor that say what the work is about: the function so far
_NEAR_BELOW = 10  # … and what comes of it


class View(NamedTuple):
    """The window of a prompt: lines [first, last) of a document, the cursor on *line*."""

    uri: str
    line: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is remembered at one moment. *sources* by when they were looked at, the latest first."""

    n_events: int
    ring: Ring
    limits: Limits
    view: View
    sources: tuple[Source, ...]
    edited: Mapping[str, Mapping[int, int]]  # uri → line → clock
    clock: int
    others: tuple[Piece, ...]  # yanks, and pieces of files nobody opened

    @property
    def here(self) -> Source | None:
        """The file that is worked on."""
        return next((s for s in self.sources if s.uri == self.view.uri), None)

    @property
    def near(self) -> frozenset[str]:
        """The words around the cursor."""
        line, lines = self.view.line, self.here.lines if self.here else ()
        return _words(lines[max(0, line - _NEAR_ABOVE) : line + _NEAR_BELOW])


@dataclass(frozen=True, slots=True)
class Turned:
    """The next ring, and the moment it belongs to."""

    n_events: int
    ring: Ring


def turn(snapshot: Snapshot) -> Turned:
    """Choose anew, as far as the account of the ring allows."""
    candidates = list(_candidates(snapshot))
    interest = Interest(_surroundings(snapshot), candidates)
    bad = judge(snapshot.view, snapshot.here)
    ring = turned(snapshot.ring, candidates, interest, snapshot.limits, bad)
    return Turned(snapshot.n_events, ring)


def judge(view: View, here: Source | None) -> Bad:
    """Tells of a chunk whether it must not be shown: no longer true, or lines of it in the window."""
    window = _window_lines(view, here)

    def is_bad(chunk: ContextChunk) -> bool:
        return any(
            not piece.fresh
            or _in_window(piece, view)
            or (piece.home != view.uri and not window.isdisjoint(telling(piece.text)))
            for piece in chunk.pieces
        )

    return is_bad


def _window_lines(view: View, here: Source | None) -> frozenset[str]:
    return telling(unix("".join(here.lines[view.first : view.last]))) if here else frozenset()


def _in_window(piece: Piece, view: View) -> bool:
    return piece.uri == view.uri and piece.start < view.last and piece.end > view.first


def _candidates(snapshot: Snapshot) -> Iterator[Piece]:
    """All that could be shown: yanks and strangers first, then files, but for lines named before."""
    view = snapshot.view
    taken: dict[str, list[Piece]] = {}
    cut = (piece for source in snapshot.sources for piece in pieces(source))
    for piece in itertools.chain(_others(snapshot), cut):
        if not _in_window(piece, view) and not overlaps(piece, taken):
            if piece.why is not Why.OPENED:
                taken.setdefault(piece.uri, []).append(piece)
            yield piece


def _others(snapshot: Snapshot) -> Iterator[Piece]:
    """Yanks where their lines stand now, in their file or pasted here, and pieces of other files."""
    sources = {source.uri: source for source in snapshot.sources}
    for piece in snapshot.others:
        if piece.why is Why.YANKED:
            homes = filter(None, (sources.get(piece.uri), snapshot.here))
            places = (located(piece, home) for home in homes)
            yield next((place for place in places if place.fresh), replace(piece, start=0, end=0))
        elif piece.uri not in sources:
            yield piece


def _surroundings(snapshot: Snapshot) -> Surroundings:
    view, here = snapshot.view, snapshot.here
    window = here.lines[view.first : view.last] if here else ()
    return Surroundings(
        uri=view.uri,
        lines=_window_lines(view, here),
        seen=_words(window),
        near=snapshot.near,
        here=_counted(here),
        ages=_ages(snapshot),
        files={source.uri: rank for rank, source in enumerate(snapshot.sources)},
    )


def _ages(snapshot: Snapshot) -> dict[str, int]:
    """Each word of an edited line, with how many edited lines ago that was."""
    ages: dict[str, int] = {}
    for source in snapshot.sources:
        marks = snapshot.edited.get(source.uri, {})
        for line, clock in sorted(marks.items(), key=lambda mark: mark[1]):
            if line < len(source.lines):
                ages.update(dict.fromkeys(WORD.findall(source.lines[line]), snapshot.clock - clock))
    return ages


def _counted(here: Source | None) -> Counter[str]:
    """In how many pieces of the file each word stands: reads no text that was read before."""
    counts: Counter[str] = Counter()
    for piece in pieces(here) if here else ():
        counts.update(piece.words)
    return counts


def _words(lines: Sequence[str]) -> frozenset[str]:
    return frozenset(WORD.findall("".join(lines)))

"""
The next state of the ring, from a snapshot of what is remembered. Pure.

The only part of `context` that takes longer than an event may, and therefore a function of plain
values: it runs in a worker thread on a `Snapshot`, which never changes. The first update after an edit
reads the syntax of that file (4 ms per 1,000 lines), the others are remembered by version.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from fim_lsp.context.chunks import (
    ContextChunk,
    Piece,
    Read,
    Source,
    Why,
    locate,
    overlaps,
    read,
    telling,
    telling_lines,
)
from fim_lsp.context.ranking import Interest, Surroundings
from fim_lsp.context.ring import Bad, Limits, Ring, refill
from fim_lsp.context.similarity import WORD
from fim_lsp.documents import LINE_CHARS

_CANDIDATE_CHARS = 2_000_000
"""Characters of all candidates together, the files looked at last first: 3,000 pieces, ranked in 0.3 s.
Twenty usual files have a fifth of that."""

_PIECE_COST = 200  # characters that a piece counts besides its own: the work that any piece makes

_AS_TAKEN = (Why.YANKED, Why.SERVER)  # of lines that a file's own pieces may hold, too

_NEAR_ABOVE = 20  # lines around the cursor that say what the work is about: the function so far
_NEAR_BELOW = 10  # … and what comes of it


class Viewport(NamedTuple):
    """The window of a prompt: lines [first, last) of a document, the cursor on *line*."""

    uri: str
    line: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The memory at one moment. *sources* by when they were looked at, the latest first."""

    n_events: int
    ring: Ring
    limits: Limits
    viewport: Viewport
    sources: tuple[Source, ...]
    edited: Mapping[str, Mapping[int, int]]  # uri → line → clock
    clock: int
    others: tuple[Piece, ...]  # yanks, what servers told, and pieces of files that are not open

    @property
    def here(self) -> Source | None:
        """The file that is worked on."""
        return next((s for s in self.sources if s.uri == self.viewport.uri), None)

    @property
    def near(self) -> frozenset[str]:
        """The words around the cursor."""
        line, lines = self.viewport.line, self.here.lines if self.here else ()
        return _words(lines[max(0, line - _NEAR_ABOVE) : line + _NEAR_BELOW])


@dataclass(frozen=True, slots=True)
class RingUpdate:
    """The next ring, and the moment it belongs to."""

    n_events: int
    ring: Ring


def update_ring(snapshot: Snapshot, read: Read = read) -> RingUpdate:
    """Choose again, as far as the account of the ring allows."""
    candidates = list(_within(_candidates(snapshot, read), _CANDIDATE_CHARS))
    interest = Interest(_surroundings(snapshot, read), candidates)
    bad = judge(snapshot.viewport, snapshot.here)
    ring = refill(snapshot.ring, candidates, interest, snapshot.limits, bad)
    return RingUpdate(snapshot.n_events, ring)


def judge(viewport: Viewport, here: Source | None) -> Bad:
    """Return a test for chunks that must not be shown: no longer true, or lines of it in the window."""
    window = _window_lines(viewport, here)

    def is_bad(chunk: ContextChunk) -> bool:
        return any(
            not piece.fresh
            or _in_window(piece, viewport)
            or (piece.home != viewport.uri and not window.isdisjoint(telling(piece.text)))
            for piece in chunk.pieces
        )

    return is_bad


def _window_lines(viewport: Viewport, here: Source | None) -> frozenset[str]:
    return telling_lines(here.lines[viewport.first : viewport.last]) if here else frozenset()


def _in_window(piece: Piece, viewport: Viewport) -> bool:
    return piece.uri == viewport.uri and piece.start < viewport.last and piece.end > viewport.first


def _within(pieces: Iterable[Piece], n_chars: int) -> Iterator[Piece]:
    """Yield the first of *pieces* that have so many characters together."""
    for piece in pieces:
        n_chars -= len(piece.text) + _PIECE_COST
        if n_chars < 0:
            return
        yield piece


def _candidates(snapshot: Snapshot, read: Read) -> Iterator[Piece]:
    """Yield all that could be shown: yanks and unopened files, then open ones; no lines twice."""
    viewport = snapshot.viewport
    taken: dict[str, list[Piece]] = {}
    cut = (piece for source in snapshot.sources for piece in read(source).pieces)
    for piece in itertools.chain(_others(snapshot), cut):
        if not _in_window(piece, viewport) and not overlaps(piece, taken):
            if piece.why in _AS_TAKEN:  # the others are cut from one text each
                taken.setdefault(piece.uri, []).append(piece)
            yield piece


def _others(snapshot: Snapshot) -> Iterator[Piece]:
    """
    Yield yanks where their lines stand now, in their file or pasted here; what servers told, as long
    as the file says so; pieces of other files.
    """
    sources = {source.uri: source for source in snapshot.sources}
    for piece in snapshot.others:
        if piece.why is Why.YANKED:
            homes = filter(None, (sources.get(piece.uri), snapshot.here))
            places = (locate(piece, home) for home in homes)
            yield next((place for place in places if place.fresh), replace(piece, start=0, end=0))
        elif piece.uri not in sources:
            yield piece
        elif piece.why is Why.SERVER:
            place = locate(piece, sources[piece.uri]) if piece.end else piece
            if place.fresh:
                yield place


def _surroundings(snapshot: Snapshot, read: Read) -> Surroundings:
    viewport, here = snapshot.viewport, snapshot.here
    window = here.lines[viewport.first : viewport.last] if here else ()
    return Surroundings(
        uri=viewport.uri,
        lines=_window_lines(viewport, here),
        seen=_words(window),
        near=snapshot.near,
        here=_count_words(here, read),
        ages=_ages(snapshot),
        files={source.uri: rank for rank, source in enumerate(snapshot.sources)},
    )


def _ages(snapshot: Snapshot) -> dict[str, int]:
    """Return each word of an edited line, with how many edited lines ago that was."""
    ages: dict[str, int] = {}
    for source in snapshot.sources:
        marks = snapshot.edited.get(source.uri, {})
        for line, clock in sorted(marks.items(), key=lambda mark: mark[1]):
            words = _words(source.lines[line : line + 1])
            ages.update(dict.fromkeys(words, snapshot.clock - clock))
    return ages


def _count_words(here: Source | None, read: Read) -> Counter[str]:
    """Count the pieces of the file in which each word stands: reads no text that was read before."""
    counts: Counter[str] = Counter()
    for piece in read(here).pieces if here else ():
        counts.update(piece.words)
    return counts


def _words(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(WORD.findall("".join(line for line in lines if len(line) <= LINE_CHARS)))

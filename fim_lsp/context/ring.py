"""
The ring: the chunks that stand in the prompt now, changed seldom and from the end. Pure.

Theory of operation.

The backend re-evaluates everything behind the first change, so the price of a change is the size of
what follows it. A change therefore cuts the ring somewhere, keeps what stands before the cut
untouched, and writes new chunks behind it: some pieces that were there (*carried*: evaluated again)
and some that were not (*admitted*).

The account. Admitting n characters earns a credit of n; carrying n costs n; the credit never falls
below zero. So over any history all evaluated characters are at most twice the admitted ones,
on backends that can reuse an exact prefix and nothing else. No other rule limits how chunks are
evicted; cutting at the front (a bulk change) is simply dear and happens when enough was earned.

The cut. Every few chunks a cut is tried, and the one with the greatest worth wins, less `PRICE` per
evaluated character. The order within the new chunks is from stable to volatile: files by
when they were looked at last, the latest at the end, where the next change will come.

The window. Chunks that hold lines of the window, and those whose lines are no longer true, must
not be shown. `visible` shows what stands before the first of these, which costs nothing at all;
the next `refill` cuts there and fills up again.

Update: the next state of the ring, from a snapshot of what is remembered.

The only part of `context` that takes longer than an event may, and therefore a function of plain
values: it runs in a worker thread on a `Snapshot`, which never changes. The first update after an
edit reads the syntax of that file (4 ms per 1,000 lines), the others are remembered by version.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from fim_lsp.context.chunks import (
    ContextChunk,
    Piece,
    Read,
    Source,
    Why,
    find_telling,
    group,
    locate,
    overlap,
    select_telling,
)
from fim_lsp.context.ranking import Age, Ranking, Room, ShownLines, choose, share_of

PRICE = 0.4
"""
Worth a character must add to be evaluated, where one of the newest adds 1: the dial between what is
new and upkeep. A quarter of it costs a third more tokens where many files are opened.
"""

_CUTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the ring, besides the last allowed one: each costs 10 ms


MORE = 1.15
"""Times the room, from where on it is used: how many characters a token has is known better with
every prompt."""


@dataclass(frozen=True, slots=True)
class RingLimits:
    """The size limits of a ring: chunks, lines per chunk, and characters in all."""

    n_chunks: int
    chunk_lines: int
    n_chars: int

    def grow(self, new: RingLimits) -> RingLimits:
        """
        Return *new*, or these where it only has a little more room: a further chunk has the window
        evaluated again.
        """
        room = range(self.n_chars, int(self.n_chars * MORE) + 1)
        return self if new == replace(self, n_chars=new.n_chars) and new.n_chars in room else new


@dataclass(frozen=True, slots=True)
class Ring:
    """One state of the ring; `refill` makes the next. *credit* counts characters."""

    chunks: tuple[ContextChunk, ...] = ()
    credit: int = 0
    evicted: int = 0  # chunks that left

    @property
    def size(self) -> int:
        """Characters in the prompt."""
        return sum(chunk.size for chunk in self.chunks)


Bad = Callable[[ContextChunk], bool]


def visible(ring: Ring, bad: Bad) -> tuple[ContextChunk, ...]:
    """
    Return the chunks before the first one that must not be shown: a prefix, so it is evaluated
    already.
    """
    return ring.chunks[: _first_bad(ring, bad)]


class RingScene(NamedTuple):
    """
    What a ring is chosen for: the *ranking* of all pieces that may be shown, in their current
    version, the telling *lines* of the window of *uri*, and the *files*, the one looked at last
    first.
    """

    ranking: Ranking
    uri: str
    lines: AbstractSet[str]
    files: Sequence[str]

    def order(self, piece: Piece) -> tuple[int, str, int]:
        """
        Return where *piece* stands, from stable to volatile: files by when they were looked at, the
        latest last.
        """
        rank = self.files.index(piece.uri) if piece.uri in self.files else len(self.files)
        return -rank, piece.name, piece.start


def refill(ring: Ring, scene: RingScene, limits: RingLimits, bad: Bad) -> Ring:
    """Return the ring after the best change the credit allows; the same one when none pays."""
    last = min(_first_bad(ring, bad), limits.n_chunks)
    cuts = sorted({int(last * share) for share in _CUTS}, reverse=True)
    changes = [_change(ring, scene, limits, cut) for cut in cuts]
    return max(changes, key=lambda change: change[1])[0]  # the latest cut where they are equal


def _change(ring: Ring, scene: RingScene, limits: RingLimits, cut: int) -> tuple[Ring, float]:
    """Return the ring cut before chunk *cut* and filled up again, and what that is worth."""
    kept = Ring(ring.chunks[:cut])
    old = ring.chunks[cut:]
    gone = {_key(piece) for chunk in old for piece in chunk.pieces}
    n_chars = limits.n_chars - kept.size
    share = share_of(limits.n_chars)
    room = Room(n_chars, limits.n_chunks - cut, limits.chunk_lines, ring.credit, share)
    pieces = (piece for chunk in kept.chunks for piece in chunk.pieces)
    shown = ShownLines(scene.uri, scene.lines)
    chosen, worth = choose(scene.ranking, shown, pieces, room, gone)
    written = group(sorted(chosen, key=scene.order), limits.chunk_lines)
    evaluated = sum(chunk.size for chunk in written)
    carried = sum(_count_carried(chunk, gone) for chunk in written)
    again = {_key(piece) for chunk in written for piece in chunk.pieces}
    left = sum(again.isdisjoint(map(_key, chunk.pieces)) for chunk in old)
    credit = ring.credit + evaluated - 2 * carried
    fresh = Ring(kept.chunks + written, credit, ring.evicted + left)
    return fresh, worth - PRICE * evaluated


def _key(piece: Piece) -> tuple[str, str]:
    return piece.uri, piece.text


def _count_carried(chunk: ContextChunk, gone: AbstractSet[tuple[str, str]]) -> int:
    """Return characters of *chunk* that were evaluated before; its heading when all else was."""
    sizes = [len(piece.text) + 1 for piece in chunk.pieces if _key(piece) in gone]
    return chunk.size if len(sizes) == len(chunk.pieces) else sum(sizes)


def _first_bad(ring: Ring, bad: Bad) -> int:
    return next((idx for idx, chunk in enumerate(ring.chunks) if bad(chunk)), len(ring.chunks))


_CANDIDATE_CHARS = 2_000_000
"""Characters of all candidates together, the files looked at last first: 3,000 pieces, chosen
from in 0.07 s. Twenty usual files have a fifth of that."""

_PIECE_COST = 200  # characters that a piece counts besides its own: the work that any piece makes


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
    limits: RingLimits
    viewport: Viewport
    sources: tuple[Source, ...]
    edited: Mapping[str, Mapping[int, int]]  # uri → line → clock
    looked: Mapping[str, int]  # uri → line of the last edit or cursor
    yanks: tuple[Piece, ...]

    @property
    def here(self) -> Source | None:
        """The file that is worked on."""
        return next((s for s in self.sources if s.uri == self.viewport.uri), None)


def update_ring(snapshot: Snapshot, read: Read) -> Ring:
    """Choose again, as far as the account of the ring allows."""
    files = [source.uri for source in snapshot.sources]
    candidates = _within(_candidates(snapshot, read), _CANDIDATE_CHARS)
    ranking = Ranking(candidates, partial(_age, snapshot, files), snapshot.limits.n_chars)
    lines = _window_lines(snapshot.viewport, snapshot.here)
    scene = RingScene(ranking, snapshot.viewport.uri, lines, files)
    return refill(snapshot.ring, scene, snapshot.limits, judge(snapshot.viewport, snapshot.here))


def judge(viewport: Viewport, here: Source | None) -> Bad:
    """
    Return a test for chunks that must not be shown: no longer true, or lines of it in the window.
    """
    window = _window_lines(viewport, here)

    def is_bad(chunk: ContextChunk) -> bool:
        return any(
            not piece.fresh
            or _in_window(piece, viewport)
            or (piece.home != viewport.uri and not window.isdisjoint(find_telling(piece.text)))
            for piece in chunk.pieces
        )

    return is_bad


def _window_lines(viewport: Viewport, here: Source | None) -> frozenset[str]:
    return select_telling(here.lines[viewport.first : viewport.last]) if here else frozenset()


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
    """Yield all that could be shown: yanks, then pieces of files; no lines twice."""
    viewport = snapshot.viewport
    taken: dict[str, list[Piece]] = {}
    cut = (piece for source in snapshot.sources for piece in read(source))
    for piece in itertools.chain(_locate_yanks(snapshot), cut):
        others = taken.get(piece.uri, ())  # none of a piece that is in no file any more
        if not _in_window(piece, viewport) and not any(overlap(piece, o) for o in others):
            if piece.why is Why.YANKED:  # the others are cut from one text each
                taken.setdefault(piece.uri, []).append(piece)
            yield piece


def _locate_yanks(snapshot: Snapshot) -> Iterator[Piece]:
    """Yield yanks where their lines stand now, in their file or pasted here."""
    sources = {source.uri: source for source in snapshot.sources}
    for piece in snapshot.yanks:
        homes = filter(None, (sources.get(piece.uri), snapshot.here))
        places = (locate(piece, home) for home in homes)
        yield next((place for place in places if place.fresh), replace(piece, start=0, end=0))


def _age(snapshot: Snapshot, files: Sequence[str], piece: Piece) -> Age:
    """
    Return where *piece* stands from new to old: by its last edit or copy, then by when its file was
    looked at, then by how far it is from the cursor there.
    """
    view = snapshot.viewport
    marks = snapshot.edited.get(piece.uri, {})
    edited = max((marks[n] for n in range(piece.start, piece.end) if n in marks), default=-1)
    rank = files.index(piece.uri) if piece.uri in files else len(files)
    line = view.line if piece.uri == view.uri else snapshot.looked.get(piece.uri, 0)
    return (
        -max(edited, piece.copied),
        rank,
        max(piece.start - line, line - piece.end, 0),
        piece.start,
    )

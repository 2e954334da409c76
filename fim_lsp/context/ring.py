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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from fim_lsp.context.chunks import ContextChunk, Piece, group
from fim_lsp.context.ranking import Interest, Room, Scored, choose

PRICE = 0.002
"""
Worth a character must add to be evaluated: the dial between recall and upkeep. httpx, 4,200 tokens:
0.0005 recalls 0.624 for 747 tokens per typed line, 0.001 0.627 for 464, 0.002 0.624 for 234,
0.004 0.550 for 121.
"""

_CUTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the ring, besides the last allowed one: each costs 5 ms


MORE = 1.15
"""Times the room, from where on it is used: how many characters a token has is known better with every prompt."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The size limits of a ring: chunks, lines per chunk, and characters in all."""

    n_chunks: int
    chunk_lines: int
    n_chars: int

    def grow(self, new: Limits) -> Limits:
        """
        Return *new*, or these where it only has a little more room: one more chunk has the window
        evaluated again.
        """
        room = range(self.n_chars, int(self.n_chars * MORE) + 1)
        return self if new == replace(self, n_chars=new.n_chars) and new.n_chars in room else new


@dataclass(frozen=True, slots=True)
class Ring:
    """One state of the ring; `refill` makes the next. Counts are characters but for *evicted*."""

    chunks: tuple[ContextChunk, ...] = ()
    credit: int = 0
    admitted: int = 0
    carried: int = 0
    evicted: int = 0  # chunks that left

    @property
    def size(self) -> int:
        """Characters in the prompt."""
        return sum(chunk.size for chunk in self.chunks)


Bad = Callable[[ContextChunk], bool]


def visible(ring: Ring, bad: Bad) -> tuple[ContextChunk, ...]:
    """Return the chunks before the first one that must not be shown: a prefix, so it is evaluated already."""
    return ring.chunks[: _first_bad(ring, bad)]


def refill(
    ring: Ring, candidates: Sequence[Piece], interest: Interest, limits: Limits, bad: Bad
) -> Ring:
    """
    Return the ring after the best change the credit allows; the same one when none pays.

    *candidates* hold the current version of every piece that may be shown.
    """
    last = _first_bad(ring, bad)
    cuts = sorted({int(last * share) for share in _CUTS}, reverse=True)
    scored = interest.best(candidates, limits.n_chars)
    changes = [_change(ring, scored, interest, limits, cut) for cut in cuts]
    return max(changes, key=lambda change: change[1])[0]  # the latest cut where they are equal


def _change(
    ring: Ring,
    scored: Sequence[Scored],
    interest: Interest,
    limits: Limits,
    cut: int,
) -> tuple[Ring, float]:
    """Return the ring cut before chunk *cut* and filled up again, and what that is worth."""
    kept = [piece for chunk in ring.chunks[:cut] for piece in chunk.pieces]
    gone = {_key(piece) for chunk in ring.chunks[cut:] for piece in chunk.pieces}
    room = Room(
        limits.n_chars - sum(chunk.size for chunk in ring.chunks[:cut]),
        limits.n_chunks - cut,
        limits.chunk_lines,
        ring.credit,
    )
    chosen = choose(scored, interest, kept, room, gone)
    written = group(interest.sort(chosen.pieces), limits.chunk_lines)
    evaluated = sum(chunk.size for chunk in written)
    carried = sum(_count_carried(chunk, gone) for chunk in written)
    shown = {_key(piece) for chunk in written for piece in chunk.pieces}
    left = sum(not any(_key(p) in shown for p in chunk.pieces) for chunk in ring.chunks[cut:])
    fresh = Ring(
        chunks=ring.chunks[:cut] + written,
        credit=ring.credit + evaluated - 2 * carried,
        admitted=ring.admitted + evaluated - carried,
        carried=ring.carried + carried,
        evicted=ring.evicted + left,
    )
    return fresh, chosen.worth - PRICE * evaluated


def _key(piece: Piece) -> tuple[str, str]:
    return piece.uri, piece.text


def _count_carried(chunk: ContextChunk, gone: AbstractSet[tuple[str, str]]) -> int:
    """Return characters of *chunk* that were evaluated before; its heading when all else was."""
    sizes = [len(piece.text) + 1 for piece in chunk.pieces if _key(piece) in gone]
    return chunk.size if len(sizes) == len(chunk.pieces) else sum(sizes)


def _first_bad(ring: Ring, bad: Bad) -> int:
    return next((idx for idx, chunk in enumerate(ring.chunks) if bad(chunk)), len(ring.chunks))

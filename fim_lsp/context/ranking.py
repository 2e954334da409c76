"""
A ranking of pieces from new to old, and a choice of the newest that fit. Pure and deterministic.

Theory of operation. The user goes on with what was worked on last: lines edited a moment ago, lines
copied, files looked at last, and there the lines near the cursor. So a character of the newest
piece is worth 1, and half as much behind each ring of newer ones: what a ring holds is worth less,
the more was written since, and at some time a change pays (`ring.PRICE`). No piece is chosen for
its words: a ranking by the names that it shares with the place of the cursor made what people wrote
next no likelier to a model (benchmarks/HISTORY.md).
"""

from __future__ import annotations

import itertools
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from fim_lsp.context.chunks import (
    HEADING,
    Piece,
    cut_out,
    find_telling,
    group,
    list_shapes,
    overlap,
)

_POOL = 5  # times the room: what so much newer text is behind is hardly ever chosen
_LEAST = 100  # characters of room that are worth a search: three lines
_SHARE = 1 / 3  # of the ring for one file, however much of it is new
_WHOLE = 1_200  # characters that any file may have: two usual pieces

Age = tuple[int, ...]  # smaller is newer


def share_of(n_chars: int) -> int:
    """Return how many of so many characters one file may have."""
    return max(_WHOLE, int(n_chars * _SHARE))


class Ranking:
    """The *candidates* from new to old, for a ring of *n_chars*."""

    def __init__(
        self, candidates: Iterable[Piece], age: Callable[[Piece], Age], n_chars: int
    ) -> None:
        self.pieces = sorted(candidates, key=age)
        self._age = age
        self._n_chars = max(1, n_chars)  # no room: nothing is worth a change
        self._ages = [*map(age, self.pieces)]
        self._n_newer = [*itertools.accumulate(self._sizes(), initial=0)]

    def worth(self, piece: Piece) -> float:
        """Return what its characters are worth together."""
        n_newer = self._n_newer[bisect_left(self._ages, self._age(piece))]
        return float(len(piece.text) * 0.5 ** (n_newer / self._n_chars))

    def _sizes(self) -> Iterator[int]:
        """Yield by how much each piece makes older ones older: of a file by what may be shown."""
        left = defaultdict[str, int](lambda: share_of(self._n_chars))
        for piece in self.pieces:
            size = min(len(piece.text), left[piece.uri])
            left[piece.uri] -= size
            yield size


@dataclass(slots=True)
class Room:
    """The room that is left; it shrinks as pieces are taken."""

    n_chars: int
    n_chunks: int
    chunk_lines: int
    credit: int  # characters that may be evaluated a second time
    file_chars: int = sys.maxsize  # of each file, in the whole ring
    _taken: defaultdict[str, list[Piece]] = field(default_factory=lambda: defaultdict(list))
    _used: Counter[str] = field(default_factory=Counter[str])

    def has_share(self, piece: Piece) -> bool:
        """Return whether the piece fits into the share of its file."""
        return self._used[piece.uri] + len(piece.text) <= self.file_chars

    def share(self, piece: Piece) -> bool:
        """Count the piece in the share of its file, if it fits there."""
        if has_share := self.has_share(piece):
            self._used[piece.uri] += len(piece.text)
        return has_share

    def take(self, piece: Piece, *, carried: bool) -> bool:
        """Take it if it fits. Sizes are bounds: headings count in full where that is stricter."""
        text = len(piece.text) + 1
        heading = len(piece.name) + HEADING
        mine = self._taken[piece.uri]
        together = sorted((*mine, piece), key=lambda taken: taken.start)
        n_fresh = len(group(together, self.chunk_lines)) - len(group(mine, self.chunk_lines))
        size = text + heading * n_fresh
        credit = self.credit + (-(text + heading) if carried else text)
        is_too_much = size > self.n_chars or n_fresh > self.n_chunks or (carried and credit < 0)
        if is_too_much or not self.share(piece):
            return False
        self._taken[piece.uri] = together
        self.n_chars -= size
        self.n_chunks -= n_fresh
        self.credit = credit
        return True


class ShownLines:
    """
    The contents of a prompt so far: the file of each telling line, at first of the *lines* in the
    window of *uri*; the shapes of lines.
    """

    def __init__(self, uri: str, lines: Iterable[str]) -> None:
        self._owners = dict.fromkeys(lines, uri)
        self._shapes: set[str] = set()
        self._pieces: defaultdict[str, list[Piece]] = defaultdict(list)

    def add(self, piece: Piece) -> None:
        """Show one more."""
        self._pieces[piece.uri].append(piece)
        self._owners.update(dict.fromkeys(find_telling(piece.text), piece.home))
        self._shapes |= _shapes_of(piece)

    def repeats(self, piece: Piece) -> bool:
        """
        Return whether its telling lines are shown, but for numbers, such as of generated code; or
        all of it, if it has none.
        """
        return _shapes_of(piece) <= self._shapes

    def parts(self, piece: Piece) -> list[Piece]:
        """Return the parts of *piece* that are not shown yet, here or from another file."""
        owners = self._owners
        home = piece.home
        doubled = {line for line in find_telling(piece.text) if owners.get(line, home) != home}
        same = self._pieces.get(piece.uri, ())
        others = [other for other in same if piece.end and overlap(piece, other)]
        return [*cut_out(piece, doubled, others)] if doubled or others else [piece]


def choose(
    ranking: Ranking,
    shown: ShownLines,
    kept: Iterable[Piece],
    room: Room,
    carried: AbstractSet[tuple[str, str]],
) -> tuple[list[Piece], float]:
    """
    Fill *room* with the newest pieces that are not *shown* yet, besides what is *kept*; return them
    in the order they were chosen, and what they and the kept ones are worth.

    *carried* are the (uri, text) of pieces whose evaluation would be lost by this change. A piece
    with lines that are shown already is taken without them.
    """
    worth = 0.0
    for piece in kept:
        if room.share(piece) and not shown.repeats(piece):
            worth += ranking.worth(piece)
        shown.add(piece)
    chosen: list[Piece] = []
    for piece in _pool(ranking.pieces, room):
        if shown.repeats(piece):
            continue
        for part in shown.parts(piece):
            if room.take(part, carried=(part.uri, part.text) in carried):
                chosen.append(part)
                worth += ranking.worth(part)
                shown.add(part)
    return chosen, worth


def _shapes_of(piece: Piece) -> AbstractSet[str]:
    return list_shapes(piece.text) or {piece.text}


def _pool(pieces: Sequence[Piece], room: Room) -> Iterator[Piece]:
    """Yield the pieces that may fit while there is *room*, without the old ones."""
    n_left = _POOL * room.n_chars
    for piece in pieces:
        if room.n_chars <= _LEAST or n_left < 0:
            return
        if len(piece.text) < room.n_chars and room.has_share(piece):
            n_left -= len(piece.text)
            yield piece

"""
A ranking of pieces by how likely they hold the names typed next. Pure and deterministic.

Theory of operation. The use of context can be counted: of the names in the next line that are
not in sight, how many does it hold? So each word out of sight has a chance to be needed soon
(`Interest.chances`), and a set of pieces is worth the sum over the words it holds, each counted
once. Taking the piece with the most new worth per character, again and again, is within 63 % of
the best possible set (Nemhauser et al. 1978); near-duplicates exclude themselves, since
their words are counted already. A piece that shares rare words with the surroundings of the cursor
(idf-weighted), or lies in a file looked at lately, counts for more.

The weights were fitted on the names needed in the histories of httpx, click and tornado and
are rounded: recall on click changes by 0.01 at most when any of them is halved or doubled.
"""

from __future__ import annotations

import heapq
import math
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from fim_lsp.context.chunks import (
    HEADING,
    Piece,
    Why,
    cut_out,
    find_telling,
    group,
    list_shapes,
    overlap,
)

_EDITED = 1.0  # the strongest signal: 0.45 of all names needed were typed in the last 600 lines
_EDITED_LINES = 300  # … and its chance fades to a third over this many edited lines
_SAME_FILE = 0.3  # a word of this file, more so when it is frequent here
_COMMON = 0.3  # a word of many pieces: the vocabulary of the project
_COMMON_PIECES = 8  # … counts in full from this many
_ANY = 0.02  # any other word
_NEAR_FLOOR = 0.5  # a piece without any word in common with the surroundings counts half of …
_NEAR = 2.0  # … this much more for one that holds all of them
_FILE_FADES = 0.93  # per file looked at since
_TELLS = 0.0005  # worth per character below which a piece is noise, however much room there is
_POOL = 8  # times the room: a piece that so many others beat by themselves is hardly ever chosen
_LEAST = 100  # characters of room that are worth a search: three lines
_SHARE = 1 / 3  # of the ring for one file, however many words it has
_WHOLE = 1_200  # characters that any file may have: two usual pieces
_ELSEWHERE = 0.5  # counts a piece far from all lines of its file that were looked at or edited
_AROUND = 100  # lines around those that are not far
_YANKED = 3.0  # counts a copy, which is often pasted


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The words around the place where the user works."""

    uri: str
    lines: AbstractSet[str]  # telling ones, in the window
    seen: AbstractSet[str]  # words in the window: shown anyway
    near: AbstractSet[str]  # around the cursor and in the imports
    here: Mapping[str, int]  # in this file, counted
    ages: Mapping[str, int]  # edited this many edited lines ago
    files: Mapping[str, int]  # files by uri, 0 for the one looked at last
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)  # lines looked at or edited


class Scored(NamedTuple):
    """A piece with what does not change while choosing; *density* is an upper bound of its own."""

    density: float  # worth per character when nothing else is shown
    piece: Piece
    factor: float  # what each chance in it counts, per character
    useful: frozenset[str]  # its words with a chance
    cost: int


def share_of(n_chars: int) -> int:
    """Return how many of so many characters one file may have."""
    return max(_WHOLE, int(n_chars * _SHARE))


class Interest:
    """The worth of words and pieces to a user who works in *surroundings*."""

    def __init__(self, surroundings: Surroundings, candidates: Sequence[Piece]) -> None:
        self._surroundings = surroundings
        self._n_with: Counter[str] = Counter()
        for piece in candidates:
            self._n_with.update(piece.words)
        n_pieces = len(candidates) + 1
        self._near_words = frozenset(surroundings.near & self._n_with.keys())
        self._near = {word: math.log(n_pieces / self._n_with[word]) for word in self._near_words}
        self._near_total = sum(self._near.values()) or 1.0
        self.chances = {w: self._chance(w) for w in self._n_with if w not in surroundings.seen}
        self._words = frozenset(self.chances)

    def window(self) -> ShownLines:
        """Return the lines that are shown before anything is chosen."""
        return ShownLines(self._surroundings.uri, self._surroundings.lines)

    def score(self, piece: Piece) -> Scored:
        """Return the piece with what does not change while choosing."""
        useful = piece.words & self._words
        cost = len(piece.text) + len(piece.name) // 2  # half a heading: most pieces share one
        factor = self._factor(piece) / cost
        worth = sum(map(self.chances.__getitem__, useful))
        return Scored(factor * worth, piece, factor, useful, cost)

    def density(self, scored: Scored, counted: AbstractSet[str]) -> float:
        """Return the chances of the words it adds to the *counted* ones, per character."""
        return scored.factor * sum(map(self.chances.__getitem__, scored.useful - counted))

    def _factor(self, piece: Piece) -> float:
        """Return how much more than another this piece is to the point."""
        shared = piece.words & self._near_words
        near = sum(map(self._near.__getitem__, shared)) / self._near_total
        rank = self._surroundings.files.get(piece.uri, len(self._surroundings.files))
        fade = _YANKED if piece.why is Why.YANKED else _FILE_FADES**rank
        visited = 1.0 if self._is_visited(piece) else _ELSEWHERE
        return (_NEAR_FLOOR + _NEAR * near) * fade * visited

    def _is_visited(self, piece: Piece) -> bool:
        """Return whether the user worked near *piece*, as far as known."""
        lines = self._surroundings.places.get(piece.uri, ())
        idx = bisect_left(lines, piece.start - _AROUND)
        return not lines or (idx < len(lines) and lines[idx] < piece.end + _AROUND)

    def best(self, candidates: Iterable[Piece], n_chars: int) -> list[Scored]:
        """Return the candidates that may be chosen for so much room, by falling density."""
        pool = []
        room = _POOL * n_chars
        used = Counter[str]()
        for scored in sorted(map(self.score, candidates), key=lambda scored: -scored.density):
            uri = scored.piece.uri
            if used[uri] + scored.cost <= share_of(_POOL * n_chars):
                used[uri] += scored.cost
                room -= scored.cost
                if room < 0:
                    break
                pool.append(scored)
        return pool

    def order(self, piece: Piece) -> tuple[int, str, int]:
        """
        Return where *piece* stands, from stable to volatile: files by when they were looked at, the
        latest last.
        """
        ranks = self._surroundings.files
        return -ranks.get(piece.uri, len(ranks)), piece.name, piece.start

    def _chance(self, word: str) -> float:
        place = self._surroundings
        chance = _ANY + _COMMON * min(1.0, self._n_with[word] / _COMMON_PIECES)
        if word in place.ages:
            chance += _EDITED * math.exp(-place.ages[word] / _EDITED_LINES)
        if word in place.here:
            chance += _SAME_FILE * (1 - 1 / (1 + place.here[word]))
        return chance


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

    def share(self, piece: Piece) -> bool:
        """Count the piece in the share of its file, if it fits there."""
        used = self._used[piece.uri] + len(piece.text)
        if used > self.file_chars:
            return False
        self._used[piece.uri] = used
        return True

    def take(self, piece: Piece, *, carried: bool) -> bool:
        """Take it if it fits. Sizes are bounds: headings count in full where that is stricter."""
        text = len(piece.text) + 1
        heading = len(piece.name) + HEADING
        mine = self._taken[piece.uri]
        together = sorted((*mine, piece), key=lambda taken: taken.start)
        n_fresh = len(group(together, self.chunk_lines)) - len(group(mine, self.chunk_lines))
        size = text + heading * n_fresh
        credit = self.credit + (-(text + heading) if carried else text)
        if size > self.n_chars or n_fresh > self.n_chunks or (carried and credit < 0):
            return False
        if not self.share(piece):
            return False
        self._taken[piece.uri] = together
        self.n_chars -= size
        self.n_chunks -= n_fresh
        self.credit = credit
        return True


class ShownLines:
    """The contents of the prompt so far: its words, the file of each telling line, their shapes."""

    def __init__(self, uri: str, lines: Iterable[str]) -> None:
        self.words: set[str] = set()
        self._owners = dict.fromkeys(lines, uri)
        self._shapes: set[str] = set()
        self._pieces: defaultdict[str, list[Piece]] = defaultdict(list)

    def add(self, scored: Scored) -> None:
        """Show one more."""
        self.words |= scored.useful
        self._pieces[scored.piece.uri].append(scored.piece)
        self._owners.update(dict.fromkeys(find_telling(scored.piece.text), scored.piece.home))
        self._shapes |= list_shapes(scored.piece.text)

    def repeats(self, piece: Piece) -> bool:
        """
        Return whether its telling lines are shown, but for numbers: such as of generated code.
        """
        lines = list_shapes(piece.text)
        return bool(lines) and lines <= self._shapes

    def parts(self, piece: Piece) -> list[Piece] | None:
        """
        Return the parts of *piece* that are not shown yet, here or from another file; None for all
        of it.
        """
        owners = self._owners
        home = piece.home
        doubled = {line for line in find_telling(piece.text) if owners.get(line, home) != home}
        same = self._pieces.get(piece.uri, ())
        others = [other for other in same if piece.end and overlap(piece, other)]
        return [*cut_out(piece, doubled, others)] if doubled or others else None


def choose(
    candidates: Sequence[Scored],
    interest: Interest,
    kept: Iterable[Piece],
    room: Room,
    carried: AbstractSet[tuple[str, str]],
) -> tuple[list[Piece], float]:
    """
    Fill *room* with the candidates that add most per character to what is *kept*; return them in
    the order they were chosen, and what they and the kept ones are worth.

    *candidates* come by falling density. *carried* are the (uri, text) of pieces whose evaluation
    would be lost by this change. Lazy greedy: worth only falls as words become known, so an
    outdated entry of the heap is an upper bound and only the top needs to be computed again. A
    piece with lines that are shown already is taken without them.
    """
    shown = interest.window()
    worth = 0.0
    for scored in map(interest.score, kept):
        if room.share(scored.piece) and not shown.repeats(scored.piece):
            worth += interest.density(scored, shown.words) * scored.cost
        shown.add(scored)
    pool = list(candidates)
    heap = [(-scored.density, idx) for idx, scored in enumerate(pool)]  # sorted: a heap
    chosen: list[Piece] = []
    while heap and room.n_chars > _LEAST:
        _, idx = heapq.heappop(heap)
        piece = pool[idx].piece
        if len(piece.text) >= room.n_chars or shown.repeats(piece):  # no heading fits
            continue
        density = interest.density(pool[idx], shown.words)
        if heap and -density > heap[0][0]:
            heapq.heappush(heap, (-density, idx))
        elif density <= _TELLS:
            break
        elif (parts := shown.parts(piece)) is not None:
            for part in map(interest.score, parts):
                heapq.heappush(heap, (-part.density, len(pool)))
                pool.append(part)
        elif room.take(piece, carried=(piece.uri, piece.text) in carried):
            chosen.append(piece)
            worth += density * pool[idx].cost
            shown.add(pool[idx])
    return chosen, worth

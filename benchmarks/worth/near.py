"""
A rule that was tried and is not in the product: what was edited a moment ago, and this file out of sight.

Half of the room is for the lines around the last edits, newest first, one piece for a stretch. The rest is for
pieces of the file at work beyond the window, by the words that they share with the lines around the cursor.
Chosen again at each place, they could stand behind the suffix, where they cost nothing of the window.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fim_lsp.context.chunks import HEADING, Piece, Source, Why, overlaps, read, words
from fim_lsp.context.ring import Snapshot

_ABOVE, _BELOW = 12, 4  # lines shown around an edited one
_LEAST = 80  # characters of room that are worth a piece: two lines


def choose_near(snapshot: Snapshot, n_chars: int, shown: Iterable[Piece]) -> tuple[Piece, ...]:
    """
    Return the pieces for so many characters, headings included, the most telling ones last.

    *shown* are the pieces of the ring in front: their lines are not shown again.
    """
    taken: defaultdict[str, list[Piece]] = defaultdict(list)
    for piece in shown:
        taken[piece.uri].append(piece)
    edited = [*_fill(_cut_edited(snapshot, taken), n_chars // 2)]
    for piece in edited:
        taken[piece.uri].append(piece)
    room = n_chars - sum(map(_cost, edited))
    far = [*_fill((p for p in _rank_far(snapshot) if not overlaps(p, taken)), room)]
    return (*reversed(far), *reversed(edited))


def _fill(pieces: Iterable[Piece], n_chars: int) -> Iterator[Piece]:
    """Yield those of *pieces* that fit, in their order."""
    for piece in pieces:
        if n_chars < _LEAST:
            break
        if _cost(piece) <= n_chars:
            n_chars -= _cost(piece)
            yield piece


def _cost(piece: Piece) -> int:
    return len(piece.text) + 1 + len(piece.name) + HEADING


def _cut_edited(snapshot: Snapshot, shown: Mapping[str, Sequence[Piece]]) -> Iterator[Piece]:
    """Yield the lines around each stretch of edited lines, the latest edit first."""
    sources = {source.uri: source for source in snapshot.sources}
    marks = (
        (clock, line, uri)
        for uri, lines in snapshot.edited.items()
        for line, clock in lines.items()
        if uri in sources
    )
    taken: defaultdict[str, set[int]] = defaultdict(set)
    for uri, pieces in shown.items():
        taken[uri].update(n for piece in pieces for n in range(piece.start, piece.end))
    taken[snapshot.viewport.uri].update(range(snapshot.viewport.first, snapshot.viewport.last))
    for _, line, uri in sorted(marks, reverse=True):
        if line not in taken[uri]:
            span = _around(line, len(sources[uri].lines), taken[uri])
            taken[uri].update(range(*span))
            yield _cut(sources[uri], *span)


def _cut(source: Source, start: int, end: int) -> Piece:
    text = "".join(source.lines[start:end]).rstrip("\n")
    version, why = source.version, Why.OPENED
    return Piece(source.uri, source.name, start, end, version, text, why, words(text))


def _around(line: int, n_lines: int, taken: set[int]) -> tuple[int, int]:
    """Return the lines around *line* up to those that are *taken*."""
    start, end = line, line + 1
    while start > max(0, line - _ABOVE) and start - 1 not in taken:
        start -= 1
    while end < min(n_lines, line + _BELOW + 1) and end not in taken:
        end += 1
    return start, end


def _rank_far(snapshot: Snapshot) -> Sequence[Piece]:
    """Return the pieces of the file at work beyond the window, the likest to the work first."""
    here, view = snapshot.here, snapshot.viewport
    pieces = read(here) if here else ()
    n_with = Counter(word for piece in pieces for word in piece.words)
    common = snapshot.near & n_with.keys()
    near = {word: math.log(1 + len(pieces) / n_with[word]) for word in common}
    beyond = (piece for piece in pieces if piece.end <= view.first or piece.start >= view.last)

    def likeness(piece: Piece) -> float:
        shared = sum(map(near.__getitem__, piece.words & near.keys()))
        return shared / math.sqrt(len(piece.text))

    return sorted(beyond, key=likeness, reverse=True)

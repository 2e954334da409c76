"""
The excerpt in a stateless request into the whole text seen so far. Pure.

Such requests carry some lines around the cursor, other ones each time the cursor moves; some cut
the first and the last of them anywhere. `place_excerpt` finds where they belong in a text kept from
earlier requests, and puts them there: lines that have left the window stay above and below it, so
that the prompt only grows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from fim_lsp.documents import Position, n_common, split

ALIKE = 0.5  # of the lines above or below the cursor: edits in between change few of them
SHORT = 2  # lines with text, at most, of an excerpt that has none to go by
COMMON = 16  # a line that stands at more places says nothing of where it belongs


class Excerpt(NamedTuple):
    """
    Text on both sides of a cursor; *path* and *language* as the client has them, "" where it does
    not say.
    """

    before: str
    after: str
    path: str = ""
    language: str = ""


class Placed(NamedTuple):
    """A text with an excerpt in its place, where the cursor is in it, and how many lines agreed."""

    lines: tuple[str, ...]
    cursor: Position
    n_alike: int


def alone(excerpt: Excerpt) -> Placed:
    """Return the excerpt as a text of its own."""
    before = split(excerpt.before)
    cursor = Position(len(before) - 1, len(before[-1]))
    return Placed(tuple(split(excerpt.before + excerpt.after)), cursor, 0)


def place_excerpt(lines: Sequence[str], excerpt: Excerpt) -> Placed | None:
    """Return the text *lines* with *excerpt* in its place, None where that cannot be told."""
    fresh, (row, column), _ = alone(excerpt)
    shown = [*fresh]
    places = _places(lines, {*shown})
    above = _shift(lines, places, shown, range(row))
    below = _shift(lines, places, shown, range(row + 1, len(shown)))
    if above is None and below is None:
        return _short(lines, fresh, Position(row, column))
    first = max(0, above.rows) if above else 0
    last = below.rows + len(shown) - 1 if below else len(lines) - 1
    if last < first - 1:
        return None
    if row and above and above.rows >= 0 and lines[first].endswith(shown[0]):
        shown[0] = lines[first]  # cut at the beginning
    if below and row < len(shown) - 1 and _at(lines, last).startswith(shown[-1]):
        shown[-1] = _at(lines, last)  # cut at the end
    elif last + 1 < len(lines) and not shown[-1].endswith("\n"):
        shown[-1] += "\n"
    whole = (*lines[:first], *shown, *lines[last + 1 :])
    n_alike = (above.n_alike if above else 0) + (below.n_alike if below else 0)
    return Placed(whole, Position(first + row, column), n_alike)


class _Shift(NamedTuple):
    """Row n of an excerpt is line n + *rows* of a text, for *n_alike* of its rows."""

    rows: int
    n_alike: int


def _places(lines: Sequence[str], shown: set[str]) -> dict[str, list[int]]:
    """Return the places of the lines that are *shown*."""
    places: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        if line in shown:
            places[line].append(at)
    return places


def _shift(
    lines: Sequence[str], places: dict[str, list[int]], shown: Sequence[str], rows: range
) -> _Shift | None:
    """Return how far down most of *rows* stand in *lines*; None where too few of them do."""
    telling = [row for row in rows if shown[row].strip()]
    votes: Counter[int] = Counter()
    for row in telling:
        if len(rows_like_it := places.get(shown[row], ())) <= COMMON:
            votes.update(at - row for at in rows_like_it)
    best: _Shift | None = None
    for rows_down, _ in votes.most_common(3):
        n_alike = sum(_at(lines, row + rows_down) == shown[row] for row in telling)
        if best is None or n_alike > best.n_alike:
            best = _Shift(rows_down, n_alike)
    return best if best and best.n_alike >= ALIKE * len(telling) else None


def _at(lines: Sequence[str], index: int) -> str:
    return lines[index] if 0 <= index < len(lines) else ""


def _short(lines: Sequence[str], shown: tuple[str, ...], cursor: Position) -> Placed | None:
    """
    Place an excerpt of hardly a line, which has no lines to go by: is the text as it was, but for a
    little?
    """
    old = "".join(lines)
    new = "".join(shown)
    if max(sum(map(bool, map(str.strip, text))) for text in (shown, lines)) > SHORT:
        return None
    alike = n_common(old, new)
    return Placed(shown, cursor, 0) if alike >= ALIKE * min(len(old), len(new)) else None

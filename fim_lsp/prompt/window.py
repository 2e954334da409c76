"""
The window: the text around the cursor as the model is shown it, frozen where it can be. Pure.

Operations: anchor a window at a cursor, ask whether it still serves another cursor or text, move
it along with edits above it.
Goal: while someone types, prefix and suffix stay the same strings, so the backend re-evaluates
only what was typed. Text slightly out of date far from the cursor costs nothing in a suggestion;
re-evaluating a thousand tokens costs a second.
Plan: the *anchor* is a line start. Above it is the prefix, from it to the cursor the middle, right
of and below the cursor the suffix. A window `fits` when what it froze still stands around the
cursor, is `stale` when only far text differs or the middle has outgrown its budget (usable now,
anchor again while idle), and is `lost` otherwise.

Closing brackets and quotes right of the cursor are left out of the suffix: editors insert and
remove them while one types, and the overlap of a suggestion with them is trimmed afterwards.
A new window keeps the first line of the old one where it can, so that the prefix only grows at its
end; a window never starts at a blank line, whose first token depends on what stands before
(measured: such a start loses the whole cache).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fim_lsp.context.secrets.scan import key_lines, n_begun_above
from fim_lsp.documents import (
    LINE_CHARS,
    Document,
    Edit,
    Position,
    body_length,
    closes_only,
    n_common,
    split,
    unix,
)

NEAR_PREFIX = 12  # lines next to the anchor that must be as frozen; farther ones may be stale
NEAR_SUFFIX = 4  # likewise below the cursor
# The first look at a place: it gets what is evaluated in `FIRST_S`, within these bounds. With less
# around the cursor fewer first lines are right, with more hardly any more (benchmarks/HISTORY.md).
FIRST_TOKENS = (96, 192)
FIRST_S = 1.0
# The same for a user who asked by hand and waits.
BY_HAND_TOKENS = (192, 768)
BY_HAND_S = 1.5
# lines above a window that may say that it begins inside a secret: a key of 8,192 bits has 100
ABOVE = 120
# How much larger each rung of the ladder above it is: a slow machine has three (0.1, 0.4, 1), and
# evaluates half as much as the whole window again for the smaller ones.
RUNG = 4

# Lines above the cursor with which a middle begins. A model goes on better when it has just read
# how the code goes, and they cost nothing, being evaluated behind the suffix instead of before.
# More than five gain only what as many more tokens of the window gain (benchmarks/HISTORY.md).
LEAD = 5


class Fit(enum.Enum):
    """The verdict on how well a window serves a cursor."""

    FITS = "fits"
    STALE = "stale"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Budget:
    """
    Sizes in characters.

    A prefix begins *prefix* long and grows at its end up to twice that before its start moves:
    each move costs the whole window, so it must be rare (hysteresis). *middle* is where a middle
    is folded into the prefix; it begins with at most *lead* lines above the cursor.
    """

    prefix: int
    suffix: int
    middle: int
    lead: int = LEAD


@dataclass(frozen=True, slots=True)
class Window:
    """
    Lines *first* to *anchor* are the prefix; *share* is the part of the budget that it was given.
    """

    first: int
    anchor: int
    prefix: str
    suffix: str
    share: float = 1.0


def fit(window: Window, document: Document, position: Position, budget: Budget) -> Fit:
    """Return whether *window* still serves a cursor at *position*."""
    if position.line < window.anchor or window.anchor > len(document.lines):
        return Fit.LOST
    if not _near(window, document, position):
        return Fit.LOST
    n_middle = len(document.before(position, window.anchor))
    if n_middle > 2 * budget.middle:
        return Fit.LOST
    same = unix(
        "".join(document.lines[window.first : window.anchor])
    ) == window.prefix and _begins_with(_after_cursor(document, position), window.suffix)
    return Fit.FITS if same and n_middle <= budget.middle else Fit.STALE


def place_window(
    document: Document, position: Position, budget: Budget, old: Window | None, share: float = 1.0
) -> Window:
    """
    Return a window for *position* that shares as much of its beginning with *old* as it can.

    It has *share* of the budget, more where the old prefix can serve again.
    """
    # The middle begins a few lines above the cursor, in half of its budget.
    highest = max(0, position.line - budget.lead)
    anchor = _first_fresh(document, position.line, budget.middle // 2, highest)
    n_prefix = int(budget.prefix * share)
    n_suffix = int(budget.suffix * share)
    first = _find_shared_first(document, anchor, budget, old, n_prefix)
    if first is None:
        first = _below_secret(document, _first_fresh(document, anchor, n_prefix), position.line)
        while first < anchor and not document.lines[first].strip():
            first += 1
        anchor = max(anchor, first)
    return Window(
        first=first,
        anchor=anchor,
        prefix=unix("".join(document.lines[first:anchor])),
        suffix=_suffix(document, position, n_suffix),
        share=share,
    )


def first_tokens(per_s: float, *, by_hand: bool = False) -> int:
    """
    Return how many tokens a first look at a place gets of a server that evaluates *per_s* in a
    second.
    """
    low, high = BY_HAND_TOKENS if by_hand else FIRST_TOKENS
    return max(low, min(high, int(per_s * (BY_HAND_S if by_hand else FIRST_S))))


def move(window: Window, edit: Edit) -> Window:
    """
    Return the window after an edit; only edits wholly above it move it, `fit` judges all others.
    """
    if edit.end.line > window.first or (edit.end.line == window.first and edit.end.column > 0):
        return window
    by = unix(edit.text).count("\n") - (edit.end.line - edit.start.line)
    return replace(window, first=window.first + by, anchor=window.anchor + by)


def right_of(document: Document, position: Position) -> str:
    """Return the text right of the cursor on its line, `LINE_CHARS` at most."""
    end = min(body_length(document.lines[position.line]), position.column + LINE_CHARS)
    return document.lines[position.line][position.column : end]


def _after_cursor(document: Document, position: Position) -> Iterator[str]:
    """Yield the text after the cursor, line by line, without closers right of it."""
    rest = right_of(document, position)
    last = position.line + 1 == len(document.lines)
    yield ("" if closes_only(rest) else rest) + ("" if last else "\n")
    for line in document.lines[position.line + 1 :]:
        yield unix(line) if "\r" in line else line


def _suffix(document: Document, position: Position, n_chars: int) -> str:
    """Return as many whole lines of what follows the cursor as fit, the first one in any case."""
    parts: list[str] = []
    size = 0
    for part in _after_cursor(document, position):
        size += len(part)
        if parts and size > n_chars:
            break
        parts.append(part)
    return "".join(parts)


def _begins_with(parts: Iterator[str], text: str) -> bool:
    """Return whether *parts* joined begin with *text*; reads no more of them than needed."""
    at = 0
    for part in parts:
        if at >= len(text):
            break
        if not text.startswith(part, at):
            return at + len(part) >= len(text) and part.startswith(text[at:])
        at += len(part)
    return at >= len(text)


def _near(window: Window, document: Document, position: Position) -> bool:
    """Return whether the frozen lines next to the anchor and the cursor are as they were."""
    above = split(window.prefix)[-NEAR_PREFIX - 1 : -1]
    here = document.lines[max(0, window.anchor - len(above)) : window.anchor]
    if unix("".join(here)) != "".join(above):
        return False
    below = "".join(split(window.suffix)[: NEAR_SUFFIX + 1])
    return _begins_with(_after_cursor(document, position), below)


def _find_shared_first(
    document: Document, anchor: int, budget: Budget, old: Window | None, n_fresh: int
) -> int | None:
    """
    Return the first line of *old* if its text still stands and is not too far above, nor too near.

    None also where going on from there would evaluate more than a fresh prefix of *n_fresh*.
    """
    if old is None or old.first > anchor:
        return None
    text = unix("".join(document.lines[old.first : anchor]))
    if len(text) < n_fresh // 2 and old.first > 0:
        return None
    half = len(old.prefix) // 2
    alike = text[:half] == old.prefix[:half]
    n_new = len(text) - n_common(text, old.prefix)
    return old.first if alike and len(text) <= 2 * budget.prefix and n_new <= n_fresh else None


def _first_fresh(document: Document, anchor: int, n_chars: int, top: int = 0) -> int:
    """Return the first of the lines from *top* to *anchor* that fit into *n_chars*."""
    first = anchor
    size = 0
    while first > top and size + len(document.lines[first - 1]) <= n_chars:
        first -= 1
        size += len(document.lines[first])
    return first


def _below_secret(document: Document, first: int, last: int) -> int:
    """
    Return the first of the lines [first, last] in which no secret goes on that begins above it:
    nothing would tell.
    """
    top = max(0, first - ABOVE)
    above = unix("".join(line[-LINE_CHARS:] for line in document.lines[top:first]))
    text = unix("".join(document.lines[first:last]))
    if n_chars := n_begun_above(above, text):
        first += text.count("\n", 0, n_chars) + (text[n_chars - 1] != "\n")
    keys = ((top + key.start, top + key.stop) for key in key_lines(above + text))
    return min(last, max((stop for start, stop in keys if start < first < stop), default=first))

"""
Where a suggestion may stand and how much it should be. Pure; asked before decoding and after each burst.

`extent` reads the cursor's line: text to the right, a comment or a body that is there already allow one
line, the start of a block its whole body, anything else the statement that is being written. `end` finds where the text
so far is whole. It never takes back what it said of a shorter text, so stopping early and cutting
afterwards give the same suggestion. `quiet` says when nobody should be disturbed.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from typing import NamedTuple

from fim_lsp.suggest import lines
from fim_lsp.suggest.place import Place
from fim_lsp.window import closes_only

# Past this a line is data or generated code: nobody types there, and every scan would cost (500 kB lines).
LINE_CHARS = 1000

# A block may hold single blank lines; two in a row end it in every style guide we know.
BLANK_LINES = 2


class Extent(enum.Enum):
    """How much a suggestion may be."""

    LINE = "line"  # the rest of the line
    STATEMENT = "statement"  # the rest of the statement, with the block that it opens
    LINES = "lines"  # statements of one level, up to a blank line
    BODY = "body"  # a block's whole body


class Line(NamedTuple):
    """A line of a draft: its offset, its text, and whether its end is there."""

    at: int
    text: str
    ended: bool


def extent(place: Place) -> Extent:
    """How much may be suggested at *place*."""
    before = place.before.rstrip()
    if not closes_only(place.after) or lines.is_comment(before, place.language):
        return Extent.LINE
    if place.after.strip():
        return Extent.BODY if before.endswith("{") else Extent.LINE
    if before and _has_body(place):
        return Extent.LINE  # what it begins is there already
    if before:
        return Extent.BODY if lines.opens_block(before, place.language) else Extent.STATEMENT
    return Extent.BODY if _in_empty_block(place) else Extent.LINES


def stops(place: Place) -> tuple[str, ...]:
    """The stop strings that spare the model from writing past what `extent` allows."""
    return ("\n",) if extent(place) is Extent.LINE else ()


def enough(text: str, place: Place) -> bool:
    """Whether *text* is whole, so that decoding can stop."""
    return end(text, place) is not None


def end(text: str, place: Place) -> int | None:
    """Where *text* is whole, as an offset; None while it is not. Stays the same when *text* grows."""
    allowed = extent(place)
    if allowed is Extent.LINE:
        newline = text.find("\n")
        return None if newline < 0 else newline
    if allowed is Extent.BODY:
        return _body_end(text, place, _header_width(place))
    if allowed is Extent.STATEMENT and (at := _statement_end(text, place)) != 0:
        return at
    if allowed is Extent.STATEMENT and not place.by_hand and _has_next(place):
        return 0  # the line is complete and the next one is there
    return _level_end(text, place)


def quiet(place: Place, *, deleted: bool, scope: str, excluded: Collection[str]) -> str:
    """
    Why an automatic request gets no answer here, "" when it should try.

    *deleted* says that the last edit only removed text; *scope* is what the cursor stands in
    (`comment`, `string`, …), silent when it is among *excluded*. `Invoked` does not ask this.
    """
    before, after, around = place.before, place.after, (*place.above, *place.below)
    opens = not after.strip() and lines.opens_block(before, place.language)
    reasons = {
        "after a deletion": deleted,
        f"in a {scope}": scope in excluded,
        "inside a word": _is_word(before[-1:]) and _is_word(after[:1]),
        "before other code": not closes_only(after) and not closes_only(after.lstrip()[:1]),
        "before the body of a block": opens and _has_body(place),
        "in an empty text": not before.strip() and not any(map(str.strip, around)),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def scope(place: Place) -> str:
    """What the cursor stands in: `comment`, `string`, or "" for code; as far as the line tells."""
    if lines.is_comment(place.before, place.language):
        return "comment"
    return "string" if lines.open_quote(place.before, place.language) else ""


def too_long(place: Place) -> bool:
    """Whether the line is beyond what anyone types; not even `Invoked` tries there."""
    return len(place.before) + len(place.after) > LINE_CHARS


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _in_empty_block(place: Place) -> bool:
    header = lines.first_visible(place.above[::-1])
    here, below = lines.width(place.before), lines.first_visible(place.below)
    opens = lines.opens_block(header, place.language) and lines.width(header) < here
    return opens and (not below or lines.width(below) <= lines.width(header))


def _has_next(place: Place) -> bool:
    """Whether the next line goes on with the cursor's block."""
    following = "".join(place.below[:1])
    return bool(following.strip()) and lines.width(following) >= lines.width(place.before)


def _has_body(place: Place) -> bool:
    return lines.width(lines.first_visible(place.below)) > lines.width(place.before)


def _header_width(place: Place) -> int:
    header = place.before if place.before.strip() else lines.first_visible(place.above[::-1])
    return lines.width(header)


def _split(text: str, first: str) -> Iterator[Line]:
    """The lines of *text*, the first of them as it reads behind *first*."""
    at = 0
    for part in text.split("\n"):
        whole = first + part if at == 0 else part
        yield Line(at, whole, at + len(part) < len(text))
        at += len(part) + 1


def _body_end(text: str, place: Place, base: int) -> int | None:
    """Before the first line that is not deeper than *base*, or after the one that closes the block."""
    n_blank, last = 0, 0
    for line in _split(text, place.before):
        if not line.text.strip():
            n_blank += line.ended and line.at > 0
            if n_blank >= BLANK_LINES:
                return last
            continue
        n_blank = 0
        here = lines.width(line.text)
        if line.at > 0 and here <= base:
            if here < base or _is_over(line):
                return last
            if not line.ended:
                return None
            if not lines.opens_block(line.text, place.language):  # `}`, not `} else {`
                return _end_of(line, text)
        last = _end_of(line, text)
    return None


def _statement_end(text: str, place: Place) -> int | None:
    """The end of the first line that leaves no bracket open; of its block if it opens one."""
    language = place.language
    for line in _split(text, place.before):
        if not line.ended:
            return None
        so_far = place.before + text[: _end_of(line, text)]
        if lines.opens_block(line.text, language):
            return _body_end(text, place, lines.width(place.before))
        if not lines.unclosed(so_far, language) and not line.text.endswith("\\"):
            return _end_of(line, text)
    return None


def _level_end(text: str, place: Place) -> int | None:
    """Before a blank line, a dedent, or what follows a compound statement."""
    base, last, compound = None, 0, False
    for line in _split(text, place.before):
        if not line.text.strip():
            if base is not None and line.ended:
                return last
            continue
        here = lines.width(line.text)
        if base is None:
            base = here
        elif here < base:
            if not _closes_more(line.text, place):
                return last
            return _end_of(line, text) if line.ended else None
        elif here == base and compound and _is_over(line):
            return last
        compound = compound or here > base or lines.opens_block(line.text, place.language)
        last = _end_of(line, text)
    return None


def _is_over(line: Line) -> bool:
    """Whether a line at the header's level cannot belong to the block above it, however it goes on."""
    return not (lines.goes_on if line.ended else lines.may_go_on)(line.text)


def _closes_more(line: str, place: Place) -> bool:
    """Whether a dedented line closes a bracket that the text below does not close at once."""
    sign = line.lstrip()[0]
    return sign in lines.CLOSERS and not lines.first_visible(place.below).lstrip().startswith(sign)


def _end_of(line: Line, text: str) -> int:
    newline = text.find("\n", line.at)
    return len(text) if newline < 0 else newline

"""
The place and the extent of a suggestion. Pure; asked before decoding and after each piece of text.

`extent` reads the cursor's line: text to the right, a comment or a body that is there already allow
one line, the start of a block its whole body, anything else the statement that is being written.
`end` finds where the text so far is whole. It never takes back what it said of a shorter text, so
stopping early and cutting afterwards give the same suggestion. `quiet` says where nothing should be
suggested.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

from fim_lsp.documents import LINE_CHARS, closes_only
from fim_lsp.suggest.cursor import Cursor
from fim_lsp.suggest.lines import (
    CLOSERS,
    find_unclosed,
    first_visible,
    goes_on,
    is_comment,
    is_word_sign,
    may_go_on,
    opens_block,
    width,
)
from fim_lsp.suggest.reasons import Outcome

# A block may hold single blank lines; two in a row end it in every style guide we know.
BLANK_LINES = 2
MOST_LINES = 60  # with a bracket open that are looked at: each costs a look at all those before it


class Extent(enum.Enum):
    """The extent of a suggestion."""

    LINE = "line"  # the rest of the line
    STATEMENT = "statement"  # the rest of the statement, with the block that it opens
    LINES = "lines"  # statements of one level, up to a blank line
    BODY = "body"  # a block's whole body


class Line(NamedTuple):
    """A line of a candidate: its offset, its text, and whether its end is there."""

    at: int
    text: str
    ended: bool


def extent(cursor: Cursor) -> Extent:
    """Return how much may be suggested at *cursor*."""
    before = cursor.before.rstrip()
    if cursor.one_line or not closes_only(cursor.after) or is_comment(before, cursor.language):
        return Extent.LINE
    if cursor.after.strip():
        return Extent.BODY if before.endswith("{") else Extent.LINE
    if before and _has_body(cursor):
        return Extent.LINE  # what it begins is there already
    if before:
        return Extent.BODY if opens_block(before, cursor.language) else Extent.STATEMENT
    return Extent.BODY if _in_empty_block(cursor) else Extent.LINES


def stops(cursor: Cursor) -> tuple[str, ...]:
    """Return the stop strings that spare the model from writing past what `extent` allows."""
    return ("\n",) if extent(cursor) is Extent.LINE else ()


def enough(text: str, cursor: Cursor) -> bool:
    """Return whether *text* is whole, so that decoding can stop."""
    return end(text, cursor) is not None


def end(text: str, cursor: Cursor) -> int | None:
    """
    Return the offset at which *text* is whole; None while it is not. Stays the same when *text*
    grows.
    """
    allowed = extent(cursor)
    if allowed is Extent.LINE:
        return text.find("\n") if "\n" in text else None
    if allowed is Extent.BODY:
        opening = cursor.before if cursor.before.strip() else first_visible(cursor.above[::-1])
        return _body_end(text, cursor, width(opening))
    if allowed is Extent.STATEMENT and (at := _statement_end(text, cursor)) != 0:
        return at
    if allowed is Extent.STATEMENT and not cursor.by_hand and _has_next(cursor):
        return 0  # the line is complete and the next one is there
    return _level_end(text, cursor)


def quiet(
    cursor: Cursor, *, deleted: bool, scope: str, excluded: Collection[str]
) -> Outcome | None:
    """
    Return how an automatic request ends here, None when it should try.

    *deleted* says that the last edit only removed text; *scope* is what the cursor stands in
    (`comment`, `string`, …), silent when it is among *excluded*. `Invoked` does not ask this.
    """
    before = cursor.before
    after = cursor.after
    around = (*cursor.above, *cursor.below)
    opens = not after.strip() and opens_block(before, cursor.language)
    silent = scope if scope in excluded else ""
    ends = {
        Outcome.AFTER_DELETION: deleted,
        Outcome.IN_COMMENT: silent == "comment",
        Outcome.IN_STRING: silent == "string",
        Outcome.INSIDE_WORD: is_word_sign(before[-1:]) and is_word_sign(after[:1]),
        Outcome.BEFORE_CODE: not closes_only(after) and not closes_only(after.lstrip()[:1]),
        Outcome.BEFORE_BODY: opens and _has_body(cursor),
        Outcome.EMPTY_TEXT: not before.strip() and not any(map(str.strip, around)),
    }
    return next((end for end, holds in ends.items() if holds), None)


def too_long(cursor: Cursor) -> bool:
    """Return whether the line is longer than one typed by hand; not even `Invoked` tries there."""
    return len(cursor.before) + len(cursor.after) > LINE_CHARS


def _in_empty_block(cursor: Cursor) -> bool:
    header = first_visible(cursor.above[::-1])
    here = width(cursor.before)
    below = first_visible(cursor.below)
    opens = opens_block(header, cursor.language) and width(header) < here
    return opens and (not below or width(below) <= width(header))


def _has_next(cursor: Cursor) -> bool:
    """Return whether the next line goes on with the cursor's block."""
    following = "".join(cursor.below[:1])
    return bool(following.strip()) and width(following) >= width(cursor.before)


def _has_body(cursor: Cursor) -> bool:
    return width(first_visible(cursor.below)) > width(cursor.before)


def _split(text: str, first: str) -> Iterator[Line]:
    """Yield the lines of *text*, the first of them as it reads behind *first*."""
    at = 0
    for part in text.split("\n"):
        yield Line(at, part if at else first + part, at + len(part) < len(text))
        at += len(part) + 1


def _body_end(text: str, cursor: Cursor, base: int) -> int | None:
    """
    Return the offset before the first line that is not deeper than *base*, or after the one that
    closes the block.
    """
    n_blank = 0
    last = 0
    for line in _split(text, cursor.before):
        if not line.text.strip():
            n_blank += line.ended and line.at > 0
            if n_blank >= BLANK_LINES:
                return last
            continue
        n_blank = 0
        here = width(line.text)
        if line.at > 0 and here <= base:
            if here < base or _is_over(line):
                return last
            if not line.ended:
                return None
            if not opens_block(line.text, cursor.language):  # `}`, not `} else {`
                return _end_of(line, text)
        last = _end_of(line, text)
    return None


def _statement_end(text: str, cursor: Cursor) -> int | None:
    """
    Return the end of the first line that leaves no bracket open; of its block if it opens one.
    """
    language = cursor.language
    for line in islice(_split(text, cursor.before), MOST_LINES):
        if not line.ended:
            return None
        so_far = cursor.before + text[: _end_of(line, text)]
        if opens_block(line.text, language):
            return _body_end(text, cursor, width(cursor.before))
        if not find_unclosed(so_far, language) and not line.text.endswith("\\"):
            return _end_of(line, text)
    return None


def _level_end(text: str, cursor: Cursor) -> int | None:
    """Return the offset before a blank line, a dedent, or what follows a compound statement."""
    base = None
    last = 0
    compound = False
    for line in _split(text, cursor.before):
        if not line.text.strip():
            if base is not None and line.ended:
                return last
            continue
        here = width(line.text)
        if base is None:
            base = here
        elif here < base:
            if not _closes_more(line.text, cursor):
                return last
            return _end_of(line, text) if line.ended else None
        elif here == base and compound and _is_over(line):
            return last
        compound = compound or here > base or opens_block(line.text, cursor.language)
        last = _end_of(line, text)
    return None


def _is_over(line: Line) -> bool:
    """
    Return whether a line at the header's level cannot belong to the block above it, however it goes
    on.
    """
    return not (goes_on if line.ended else may_go_on)(line.text)


def _closes_more(line: str, cursor: Cursor) -> bool:
    """
    Return whether a dedented line closes a bracket that the text below does not close at once.
    """
    sign = line.lstrip()[0]
    return sign in CLOSERS and not first_visible(cursor.below).lstrip().startswith(sign)


def _end_of(line: Line, text: str) -> int:
    newline = text.find("\n", line.at)
    return len(text) if newline < 0 else newline

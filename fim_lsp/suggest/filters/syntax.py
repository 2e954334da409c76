"""
A filter that asks tree-sitter: a suggestion must not add syntax errors to the lines around it.

Half-typed code is full of errors and a window begins anywhere, so errors are only compared, with
those of the text as it stands and as it were without the cursor's line. Where the errors are not
known (`syntax_errors`), the suggestion stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.lines import find_unclosed, open_quote
from fim_lsp.suggest.syntax_errors import SyntaxErrors

# Errors in the text as it stands. Half-typed code has 5 at most; more is another language, as CSS
# in a string.
CODE_ERRORS = 8
TRIES = 4  # texts to parse before giving up: a millisecond, ten where error recovery works hard

LINES_BACK = 20  # … and ends of lines that are looked at


def parses(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Cut the candidate back to where it adds no syntax errors: to a line's end, or before an open
    bracket. Where it breaks off, only its lines that leave nothing open are judged.
    """
    end = len(candidate.text) if candidate.whole else _find_last_closed(candidate, cursor)
    judged = _judge(replace(candidate, text=candidate.text[:end]), cursor)
    return candidate if len(judged.text) == end else judged


def _find_last_closed(candidate: Candidate, cursor: Cursor) -> int:
    """Return the last line end that no string or bracket reaches over; 0 for none."""
    ends = [at for at, sign in enumerate(candidate.text) if sign == "\n" and at]
    for end in reversed(ends[-LINES_BACK:]):
        so_far = cursor.before + candidate.text[:end]
        if not find_unclosed(so_far, cursor.language) and not open_quote(so_far, cursor.language):
            return end
    return 0


def _judge(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Return the candidate up to where it adds no errors."""
    errors = SyntaxErrors(cursor)
    for end in islice(_ends(candidate, cursor), TRIES):
        text = candidate.text[:end]
        n_found = errors.n(cursor.before + text + cursor.after[candidate.replaces :])
        n_allowed = _n_allowed(candidate, cursor, text, errors) if n_found else 0
        if not errors.is_known or errors.n(cursor.before + cursor.after) > CODE_ERRORS:
            return candidate
        if n_found <= n_allowed:
            whole = end == len(candidate.text)
            return candidate if whole else candidate.cut(end, "what follows does not parse")
    return candidate.cut(0, "does not parse")


def _n_allowed(candidate: Candidate, cursor: Cursor, text: str, errors: SyntaxErrors) -> int:
    """
    Return the errors as it stands; as it were without the line, if *text* is to be the end of what
    was begun.
    """
    now, without = errors.n(cursor.before + cursor.after), errors.n("")
    if not candidate.whole or find_unclosed(cursor.before + text, cursor.language):
        return now
    return min(now, without)


def _ends(candidate: Candidate, cursor: Cursor) -> Iterator[int]:
    """
    Yield the places where it may end, the latest first; not before a block's brace, which would
    change the meaning.
    """
    ends = {at for at, sign in find_unclosed(candidate.text, cursor.language) if sign != "{"}
    ends.update(at for at, sign in enumerate(candidate.text) if sign == "\n")
    yield len(candidate.text)
    yield from sorted(ends - {0}, reverse=True)

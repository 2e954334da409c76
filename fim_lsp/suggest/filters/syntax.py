"""
A filter that asks tree-sitter: a suggestion must not add syntax errors to the lines around it.

Half-typed code is full of errors and a window begins anywhere, so errors are only compared, with
those of the text as it stands and as it were without the cursor's line. Where the errors are not
known (`syntax_errors`), the suggestion stays as it is.

A file may be a template, and a grammar is older or narrower than its language. So what leaves
nothing open is shown by hand, and where the file has the same already, or it is a single error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.seam import n_without_partner
from fim_lsp.suggest.lines import find_unclosed, open_quote
from fim_lsp.suggest.syntax_errors import SyntaxErrors

# Errors in the text as it stands. Half-typed code has 5 at most; more is another language, as CSS
# in a string.
CODE_ERRORS = 8
TRIES = 4  # texts to parse before giving up: a millisecond, ten where error recovery works hard

BEGINNING = re.compile(r"\s*([^\w\s]{2,}|\w+[^\w\s]+)")
SHOWN = 40  # characters of a text that does not parse, in the reason

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
    """Return the candidate up to where it adds no errors, or what the grammar may not know."""
    errors = SyntaxErrors(cursor)
    n_more = 0  # that the whole text adds
    for end in islice(_ends(candidate, cursor), TRIES):
        text, is_whole = candidate.text[:end], end == len(candidate.text)
        n_found = errors.n(cursor.before + text + cursor.after[candidate.replaces :])
        n_allowed = _n_allowed(candidate, cursor, text, errors) if n_found else 0
        if not errors.is_known or errors.n(cursor.before + cursor.after) > CODE_ERRORS:
            return candidate
        if n_found <= n_allowed:
            return candidate if is_whole else candidate.cut(end, "what follows does not parse")
        n_more = n_found - n_allowed if is_whole else n_more
        if is_whole and _is_balanced(text, cursor) and (cursor.by_hand or _is_seen(text, cursor)):
            return candidate
    if not _is_balanced(candidate.text, cursor):
        return candidate.cut(0, "broke off inside a string or a bracket")
    if n_more == 1 and not cursor.before.strip():
        return candidate
    return candidate.cut(0, f"does not parse here: {' '.join(candidate.text.split())[:SHOWN]}")


def _is_balanced(text: str, cursor: Cursor) -> bool:
    """Return whether *text* leaves nothing open, and nothing that it stands in but blocks."""
    if n_without_partner(cursor.before + text, cursor.language):
        return False
    around = find_unclosed("\n".join((*cursor.above, cursor.before)), cursor.language)
    return all(sign == "{" for _, sign in around)


def _is_seen(text: str, cursor: Cursor) -> bool:
    """
    Return whether the file has a line that begins as the first of *text* does: with the same word
    and sign (`FOR_EACH(`), or with the same two signs or more (`{%`).
    """
    begins, lines = BEGINNING.match(cursor.before + text), (*cursor.above, *cursor.below)
    return begins is not None and any(line.lstrip().startswith(begins[1]) for line in lines)


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

"""
Filters for the seam: a suggestion and the text that stands right of the cursor and below must fit.

Editors close brackets and quotes as they are opened, so `print(▮)` is the normal case, and a model
that sees `print(` writes `x)`. Every way to join the two is tried: keep the text, trim what the
right side says too, replace what the editor inserted, end where the model closes what is closed
already. The one that leaves the fewest brackets and quotes without a partner wins.

Tree-sitter says whether a suggestion adds syntax errors to the lines around it (`parses`). Half-
typed code is full of errors and a window begins anywhere, so errors are only compared, with those
of the text as it stands and as it were without the cursor's line. Where the errors are not known
(`syntax_errors`), the suggestion stays as it is. A file may be a template, and a grammar is older
or narrower than its language. So what leaves nothing open is shown by hand, and where the file has
the same already, or it is a single error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, takewhile

from fim_lsp.documents import closes_only
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.lines import (
    CLOSER,
    CLOSERS,
    brackets,
    find_unclosed,
    first_visible,
    is_word_sign,
    open_quote,
    walk_brackets,
    width,
)
from fim_lsp.suggest.next_lines import add_next_lines
from fim_lsp.suggest.syntax_errors import SyntaxErrors

JOINTS = 30  # that are tried; a line that is typed has some five


def right_text(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Join the candidate to the text right of the cursor so that nothing is said or closed twice.
    """
    if not cursor.after.strip() or not candidate.text:
        return candidate

    def n_alone(joined: Candidate) -> int:
        block = "}" if joined.text.rstrip().endswith("{") else ""  # that it only begins
        line = cursor.before + joined.text.rstrip() + block + cursor.after[joined.replaces :]
        return n_without_partner(line, cursor.language)

    return min(islice(_joints(candidate, cursor), JOINTS), key=n_alone)  # the first of equals


def closed_below(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Cut before a bracket that closes nothing of the candidate while the next line closes the same.
    """
    following = first_visible(cursor.below)
    text = cursor.before + candidate.text
    n_before = len(cursor.before)
    for (at, sign), opened in walk_brackets(text, cursor.language):
        if sign in CLOSER or at < n_before:
            continue
        if opened:
            if CLOSER[opened[-1].sign] != sign:
                return candidate.cut(at - n_before, "closes another bracket than was opened")
        elif following.lstrip().startswith(sign):
            why = "closes what the line below closes"
            start = text.rfind("\n", 0, at) + 1
            if text[start:at].strip():
                return candidate.cut(at - n_before, why)
            if width(text[start : at + 1]) == width(following):
                return candidate.cut(max(0, start - 1 - n_before), why)
    return candidate


def opened_here(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut behind the bracket that holds the lines below, where the candidate closes it."""
    closer = _find_closer_at_end(cursor)
    language = cursor.language
    if not closer or find_unclosed(cursor.before + candidate.text, language):
        return candidate
    for at, sign in reversed([*brackets(candidate.text.partition("\n")[0], language)]):
        if CLOSER.get(sign) == closer:
            return candidate.cut(at + 1, "holds the lines below")
    return candidate


def n_without_partner(text: str, language: str) -> int:
    """
    Return how many brackets and quotes of *text* are opened and not closed, or the other way round.
    """
    signs = [sign for _, sign in brackets(text, language)]
    n_open = len(find_unclosed(text, language))
    n_openers = sum(sign in CLOSER for sign in signs)
    n_stray = len(signs) - n_openers - (n_openers - n_open)  # closing ones without a partner
    n_quotes = sum(bool(open_quote(line, language)) for line in text.split("\n"))
    n_blocks = 1 if text.rstrip().endswith("{") else 0  # that the text only begins
    return n_open + n_stray + n_quotes - n_blocks


def _find_closer_at_end(cursor: Cursor) -> str:
    """
    Return the bracket that closes the deeper lines below at the depth of the cursor's line, or "".
    """
    here = width(cursor.before)
    if width(first_visible(cursor.below)) <= here:
        return ""
    last = next((line for line in cursor.below if line.strip() and width(line) <= here), "")
    sign = last.lstrip()[:1]
    return sign if sign in CLOSERS and width(last) == here and sign != "}" else ""


def _joints(candidate: Candidate, cursor: Cursor) -> Iterator[Candidate]:
    """Yield every way to join candidate and right text, the most welcome first."""
    text = candidate.text.rstrip()
    after = cursor.after.rstrip()
    for n_chars in range(min(len(text), len(after)), 0, -1):
        if _meets(text, after, n_chars):
            yield candidate.change(text[:-n_chars], "ends with the text to the right")
    yield candidate
    for n_chars in range(1, 1 + sum(1 for _ in takewhile(closes_only, after))):
        yield candidate.change(candidate.text, "closes what the editor closed", n_chars)
    if not candidate.whole:
        return  # a bracket that it opens may be closed by what is not there yet
    for at, _ in reversed(list(brackets(text, cursor.language))):
        yield candidate.cut(at, "does not fit the brackets to the right")


def _meets(text: str, after: str, n_chars: int) -> bool:
    """
    Return whether the last characters of *text* are all of *after*, or the first ones and not half
    a word of either.
    """
    if text[-n_chars:] != after[:n_chars]:
        return False
    is_half = _inside_word(text, len(text) - n_chars) or _inside_word(after, n_chars)
    return n_chars == len(after) or not is_half


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(map(is_word_sign, text[at - 1 : at + 1]))


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
    if not candidate.whole:  # the lines below may fit to text that the model had not come to
        cursor = replace(cursor, below=())
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
        text = candidate.text[:end]
        is_whole = end == len(candidate.text)
        n_found = errors.n_begun(cursor.before + text, cursor.after[candidate.replaces :])
        n_allowed = _n_allowed(candidate, cursor, text, errors) if n_found else 0
        if not errors.is_known or errors.n_begun(cursor.before, cursor.after) > CODE_ERRORS:
            return candidate
        if n_found <= n_allowed:
            return candidate if is_whole else candidate.cut(end, "what follows does not parse")
        n_more = n_found - n_allowed if is_whole else n_more
        if is_whole and (_may_go_on(candidate, cursor, n_allowed) or _is_odd(text, cursor)):
            return candidate
    if not _is_balanced(candidate.text, cursor):
        return candidate.cut(0, "broke off inside a string or a bracket")
    if n_more == 1 and not cursor.before.strip():
        return candidate
    return candidate.cut(0, f"does not parse here: {' '.join(candidate.text.split())[:SHOWN]}")


def _is_odd(text: str, cursor: Cursor) -> bool:
    """Return whether *text* may be code all the same: a grammar is older or narrower than that."""
    return _is_balanced(text, cursor) and (cursor.by_hand or _is_seen(text, cursor))


def _may_go_on(candidate: Candidate, cursor: Cursor, n_allowed: int) -> bool:
    """Return whether the candidate has no more errors than *n_allowed* once a line follows it."""
    errors = SyntaxErrors(cursor)
    rest = cursor.after[candidate.replaces :]
    for here in add_next_lines(cursor, candidate.text, rest):
        n_found = errors.n(here)
        if not errors.is_known:
            return False
        if n_found <= n_allowed:
            return True
    return False


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
    begins = BEGINNING.match(cursor.before + text)
    lines = (*cursor.above, *cursor.below)
    return begins is not None and any(line.lstrip().startswith(begins[1]) for line in lines)


def _n_allowed(candidate: Candidate, cursor: Cursor, text: str, errors: SyntaxErrors) -> int:
    """
    Return the errors as it stands; as it were without the line, if *text* is to be the end of what
    was begun.
    """
    now = errors.n_begun(cursor.before, cursor.after)
    without = errors.n("")
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

"""
Filters for the seam: a suggestion and the text that stands right of the cursor and below must fit.

Editors close brackets and quotes as they are opened, so `print(▮)` is the normal case, and a model
that sees `print(` writes `x)`. Every way to join the two is tried: keep the text, trim what the
right side says too, replace what the editor inserted, end where the model closes what is closed
already. The one that leaves the fewest brackets and quotes without a partner wins.
"""

from __future__ import annotations

from collections.abc import Iterator
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

JOINTS = 30  # that are tried; a line that is typed has some five


def right_text(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Join the candidate to the text right of the cursor so that nothing is said or closed twice.
    """
    if not cursor.after.strip() or not candidate.text:
        return candidate

    def n_alone(joined: Candidate) -> int:
        line = cursor.before + joined.text + cursor.after[joined.replaces :]
        return n_without_partner(line, cursor.language)

    return min(islice(_joints(candidate, cursor), JOINTS), key=n_alone)  # the first of equals


def closed_below(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Cut before a bracket that closes nothing of the candidate while the next line closes the same.
    """
    following = first_visible(cursor.below)
    text, n_before = cursor.before + candidate.text, len(cursor.before)
    for (at, sign), opened in walk_brackets(text, cursor.language):
        if sign in CLOSER or at < n_before:
            continue
        if opened:
            if CLOSER[opened[-1].sign] != sign:
                return candidate.cut(at - n_before, "closes another bracket than was opened")
        elif following.lstrip().startswith(sign):
            why, start = "closes what the line below closes", text.rfind("\n", 0, at) + 1
            if text[start:at].strip():
                return candidate.cut(at - n_before, why)
            if width(text[start : at + 1]) == width(following):
                return candidate.cut(max(0, start - 1 - n_before), why)
    return candidate


def opened_here(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut behind the bracket that holds the lines below, where the candidate closes it."""
    closer, language = _find_closer_at_end(cursor), cursor.language
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
    n_open, n_openers = len(find_unclosed(text, language)), sum(sign in CLOSER for sign in signs)
    n_stray = len(signs) - n_openers - (n_openers - n_open)  # closing ones without a partner
    n_quotes = sum(bool(open_quote(line, language)) for line in text.split("\n"))
    return n_open + n_stray + n_quotes - text.rstrip().endswith("{")  # which begins a block


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
    text, after = candidate.text.rstrip(), cursor.after.rstrip()
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
    Return whether the last characters of *text* are the first of *after*, and not half a word of
    either.
    """
    if text[-n_chars:] != after[:n_chars]:
        return False
    return not _inside_word(text, len(text) - n_chars) and not _inside_word(after, n_chars)


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(map(is_word_sign, text[at - 1 : at + 1]))

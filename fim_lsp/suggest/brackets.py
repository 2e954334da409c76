"""
Filters for the seam: a suggestion and the text that stands right of the cursor and below must fit.

Editors close brackets and quotes as they are opened, so `print(▮)` is the normal case, and a model
that sees `print(` writes `x)`. Every way to join the two is tried: keep the text, trim what the right
side says too, replace what the editor inserted, end where the model closes what is closed already.
The one that leaves the fewest brackets and quotes without a partner wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from fim_lsp.suggest.lines import (
    CLOSER,
    CLOSERS,
    brackets,
    first_visible,
    open_quote,
    unclosed,
    width,
)
from fim_lsp.suggest.place import Draft, Place
from fim_lsp.window import closes_only


def right_text(draft: Draft, place: Place) -> Draft:
    """Join the draft to the text right of the cursor so that nothing is said or closed twice."""
    if not place.after.strip() or not draft.text:
        return draft
    language = place.language

    def n_alone(joined: Draft) -> int:
        line = place.before + joined.text + place.after[joined.replaces :]
        return n_without_partner(line, language)

    return min(_joints(draft, place), key=n_alone)  # the first of equals


def closed_below(draft: Draft, place: Place) -> Draft:
    """Cut before a bracket that closes nothing of the draft while the next line closes the same."""
    following = first_visible(place.below)
    text, n_before = place.before + draft.text, len(place.before)
    opened: list[str] = []
    for at, sign in brackets(text, place.language):
        if sign in CLOSER:
            opened.append(sign)
        elif opened:
            if CLOSER[opened.pop()] != sign and at >= n_before:
                return draft.cut(at - n_before, "closes another bracket than was opened")
        elif at >= n_before and following.lstrip().startswith(sign):
            start = text.rfind("\n", 0, at) + 1
            if text[start:at].strip():
                return draft.cut(at - n_before, "closes what the line below closes")
            if width(text[start : at + 1]) == width(following):
                return draft.cut(max(0, start - 1 - n_before), "closes what the line below closes")
    return draft


def opened_here(draft: Draft, place: Place) -> Draft:
    """Cut behind the bracket that holds the lines below, where the draft closes it."""
    closer, language = _closed_at_end(place), place.language
    if not closer or unclosed(place.before + draft.text, language):
        return draft
    for at, sign in reversed([*brackets(draft.text.partition("\n")[0], language)]):
        if CLOSER.get(sign) == closer:
            return draft.cut(at + 1, "holds the lines below")
    return draft


def n_without_partner(text: str, language: str) -> int:
    """How many brackets and quotes of *text* are opened and not closed, or the other way round."""
    n_stray, opened = -text.rstrip().endswith("{"), list[str]()  # a block may begin at the end
    for _, sign in brackets(text, language):
        if sign in CLOSER:
            opened.append(sign)
        elif opened and CLOSER[opened[-1]] == sign:
            opened.pop()
        else:
            n_stray += 1
    return (
        n_stray + len(opened) + sum(bool(open_quote(line, language)) for line in text.split("\n"))
    )


def _closed_at_end(place: Place) -> str:
    """The bracket that closes the deeper lines below at the depth of the cursor's line, or ""."""
    here = width(place.before)
    if width(first_visible(place.below)) <= here:
        return ""
    last = next((line for line in place.below if line.strip() and width(line) <= here), "")
    sign = last.lstrip()[:1]
    return sign if sign in CLOSERS and width(last) == here and sign != "}" else ""


def _joints(draft: Draft, place: Place) -> Iterator[Draft]:
    """Every way to join draft and right text, the most welcome first."""
    text, after = draft.text.rstrip(), place.after.rstrip()
    for n_chars in range(min(len(text), len(after)), 0, -1):
        if _meets(text, after, n_chars):
            yield draft.changed(text[:-n_chars], "ends with the text to the right")
    yield draft
    for n_chars in range(1, 1 + sum(1 for _ in takewhile(closes_only, after))):
        yield draft.changed(draft.text, "closes what the editor closed", n_chars)
    for at, _ in reversed(list(brackets(text, place.language))):
        yield draft.cut(at, "does not fit the brackets to the right")


def _meets(text: str, after: str, n_chars: int) -> bool:
    """Whether the last characters of *text* are the first of *after*, and not half a word of either."""
    if text[-n_chars:] != after[:n_chars]:
        return False
    return not _inside_word(text, len(text) - n_chars) and not _inside_word(after, n_chars)


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1 : at + 1].replace("_", "x").isalnum()

"""
What is on screen, and what is left of it while the user types along it. Pure.

While a suggestion's own characters are typed, or taken back again, it must stay as it is: no filter
runs again, no model is asked, and the text on screen does not flicker.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters import too_short


class Displayed(NamedTuple):
    """A filtered candidate and where it was first shown; *model* said it."""

    cursor: Cursor
    candidate: Candidate
    model: str


def left(displayed: Displayed, cursor: Cursor, model: str) -> Candidate | None:
    """What is to be shown at *cursor*, an empty candidate for nothing; None where *displayed* does not say."""
    first, text = displayed.cursor, displayed.candidate.text
    around = (first.after, first.above, first.below, first.language, displayed.model)
    if around != (cursor.after, cursor.above, cursor.below, cursor.language, model):
        return None
    typed = cursor.before[len(first.before) :]
    if not cursor.before.startswith(first.before) or not text.startswith(typed) or "\n" in typed:
        return None
    return too_short(replace(displayed.candidate, text=text[len(typed) :], cuts=()), cursor)

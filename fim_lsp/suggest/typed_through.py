"""
What is on screen, and what is left of it for somebody who types along. Pure.

While a suggestion's own characters are typed, or taken back again, it must stay as it is: no filter
looks at it anew, nobody is asked, and the text on screen does not flicker.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from fim_lsp.suggest.filters import too_short
from fim_lsp.suggest.place import Draft, Place


class Screen(NamedTuple):
    """A polished draft and where it was first shown; *model* said it."""

    place: Place
    draft: Draft
    model: str


def left(screen: Screen, place: Place, model: str) -> Draft | None:
    """What is to be shown at *place*, an empty draft for nothing; None where *screen* does not say."""
    first, text = screen.place, screen.draft.text
    around = (first.after, first.above, first.below, first.language, screen.model)
    if around != (place.after, place.above, place.below, place.language, model):
        return None
    typed = place.before[len(first.before) :]
    if not place.before.startswith(first.before) or not text.startswith(typed) or "\n" in typed:
        return None
    return too_short(replace(screen.draft, text=text[len(typed) :], cuts=()), place)

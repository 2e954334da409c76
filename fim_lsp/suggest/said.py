"""
A text that a model said at a place, the one rule for what is left of it elsewhere, and what is
known at a cursor by that. Pure.

The same holds for what is on screen, for what is kept, and for what is still being decoded.
"""

from __future__ import annotations

from typing import NamedTuple

from fim_lsp.suggest.boundary import may_follow
from fim_lsp.suggest.confidence import behind
from fim_lsp.suggest.cursor import Candidate, Cursor, Odds


class Said(NamedTuple):
    """
    *text* is what stood before a cursor, its first *start* characters, and what was said there,
    with the *odds* of that (ends count from the cursor). *whole*: no more comes.
    """

    text: str
    start: int
    whole: bool = False
    odds: tuple[Odds, ...] = ()

    def find_rest(self, typed: str) -> Candidate | None:
        """
        Return what is left of it behind *typed*, which may be less than stood before the cursor;
        None where it says something else.
        """
        if not self.text.startswith(typed):
            return None
        odds = behind(self.odds, len(typed) - self.start)
        return Candidate(self.text[len(typed) :], self.whole, odds)

    def is_typed(self, typed: str, cursor: Cursor) -> bool:
        """Return whether all of it was typed since, up to *cursor*, and more may follow there."""
        return len(typed) > self.start and may_follow(self.text[len(typed) :], cursor)


class Known(NamedTuple):
    """
    The *candidates* at a cursor, best first; none where the model is to be asked, an empty one
    where it is known that nothing comes. *is_on_screen*: they are filtered already.

    *is_over*: no more comes of what is decoded. *is_settled*: no more of it can be shown.
    *has_line*: one can be shown that is whole. *was_shown*: one was, and what there is by now is
    shown at once.
    """

    candidates: tuple[Candidate, ...] = ()
    is_on_screen: bool = False
    is_over: bool = True
    is_settled: bool = True
    has_line: bool = False
    was_shown: bool = False

"""
What is known at a cursor (`Known`), also of what stands on screen (`Displayed`), and whether a
request that waits is answered with it. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from fim_lsp.suggest.continuations import Said
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.spelling import too_short
from fim_lsp.suggest.request import CompletionRequest


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


class Displayed(NamedTuple):
    """A filtered candidate and where it was first shown; *model* said it."""

    cursor: Cursor
    candidate: Candidate
    model: str

    def at(self, request: CompletionRequest, model: str) -> Known | None:
        """Return what is left of it for *request*; None where nothing tells, or all is asked for."""
        if request.invoked or request.selected is not None:
            return None
        left = self.find_rest(request.cursor, model)
        return Known((left,), is_on_screen=True, has_line=True) if left else None

    def find_rest(self, cursor: Cursor, model: str) -> Candidate | None:
        """
        Return what is left of it while the user types along, or takes that back: it stays as it is,
        and no filter runs again. None where it does not tell: elsewhere, and where all is typed.
        """
        first = self.cursor
        around = (first.after, first.above, first.below, first.language, self.model)
        is_here = around == (cursor.after, cursor.above, cursor.below, cursor.language, model)
        if not is_here or not cursor.before.startswith(first.before):
            return None
        rest = Said(first.before + self.candidate.text, len(first.before), self.candidate.whole)
        left = rest.find_rest(cursor.before)
        if left is None or (not left.text and cursor.before != first.before):
            return None
        return too_short(replace(self.candidate, text=left.text, cuts=()), cursor)


class Wait(NamedTuple):
    """
    The deadlines of a request: *debounce_s* for the next key, until *early* for all of the text
    that may be shown, then for its first line, and never past *until*; times of the event loop.
    *grows*: where a line was shown already, what there is by now is shown at once. *lasts*: past
    the deadline, keep waiting for a first line while the backend is computing. *on_lines* gets the
    text so far, line by line.
    """

    debounce_s: float
    early: float
    until: float
    grows: bool
    lasts: bool = False
    on_lines: Callable[[Candidate], None] | None = None


def is_answered(known: Known, wait: Wait, now: float) -> bool:
    """
    Return whether a request that waits for a generation gets its answer now.

    what there is                            before early   until   after until
    ---------------------------------------  ------------  -------  ------------
    all of it, or the stream rests              answer      answer   answer
    no more that can be shown (unsure)          answer      answer   answer
    a whole line, and one was shown before      answer      answer   answer
    a whole line                                 wait       answer   answer
    less than a line                             wait        wait    answer, or wait on if it `lasts`
    """
    if known.is_over or known.is_settled:
        return True
    if known.has_line and ((known.was_shown and wait.grows) or now >= wait.early):
        return True
    return now >= wait.until and not wait.lasts

"""
What is known at a cursor (`Known`), and whether a request that waits is answered with it. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fim_lsp.suggest.cursor import Candidate


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

"""
The filters in order, each `(Candidate, Cursor) -> Candidate`: raw model text into a suggestion.

`polish` runs them and notes what each one changed and why; `fim/stats` counts the names. A filter
only takes away (`reindented` respells white space), so a suggestion is never anything the model did
not say. Those in `MEANT` judge the text as the model meant it; then it is cut where the model is
not sure, and those in `LEFT` see what is left, which may break off anywhere. To add one: a
function in this package, its place in a list, its words in `suggest/reasons`, a golden case, a row
in docs/suggestions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from fim_lsp.suggest.confidence import NOT_SURE, gain, respell
from fim_lsp.suggest.cursor import Candidate, Cursor, FilterCut
from fim_lsp.suggest.filters.ends import extent, not_sure, unfinished
from fim_lsp.suggest.filters.foreign import broken_character, invisible, other_text, special_tokens
from fim_lsp.suggest.filters.repeats import lines_below, looping_lines, stuttering, typed_again
from fim_lsp.suggest.filters.seam import closed_below, opened_here, parses, right_text
from fim_lsp.suggest.filters.spelling import reindented, too_short, trailing_space

Filter = Callable[[Candidate, Cursor], Candidate]

MEANT: tuple[Filter, ...] = (
    invisible, special_tokens, other_text, reindented, typed_again, stuttering, looping_lines,
    extent, lines_below, closed_below, opened_here, broken_character, right_text, parses,
)  # fmt: skip
LEFT: tuple[Filter, ...] = (unfinished, trailing_space, too_short)

# How much surer than the user wants the shorter texts are that are tried: they take away more of
# what is wrong than of what is right (benchmarks/HISTORY.md).
SURER = (1, 4 / 3, 2)


def polish(
    candidate: Candidate, cursor: Cursor, sure: float = 0.0, off: Collection[str] = ()
) -> Candidate:
    """
    Return the candidate as it should be shown, with its cuts; an empty text where nothing should.

    *sure* is how sure the model must be of it, see `likely`; where a reader has more of a surer
    text that ends before, that is shown (`gain`). *off* names filters to leave out, to measure
    what each one does.
    """
    meant = _apply(candidate, cursor, MEANT, off)
    cut = (_cut_unsure(meant, cursor, sure * surer) for surer in reversed(SURER))
    parts = {part.text: part for part in cut}  # most often all are one, and filtered once
    left = max((_apply(part, cursor, LEFT, off) for part in reversed(parts.values())), key=gain)
    is_nothing = not left.text and not left.cuts
    return replace(left, cuts=(FilterCut("model", "says nothing"),)) if is_nothing else left


def _cut_unsure(meant: Candidate, cursor: Cursor, sure: float) -> Candidate:
    """Return what is left of *meant* where the model must be so *sure*."""
    left = not_sure(meant, cursor, sure)
    cuts = (*meant.cuts, FilterCut(NOT_SURE, left.why))
    return meant if left is meant else replace(left, cuts=cuts)


def _apply(
    candidate: Candidate, cursor: Cursor, filters: Iterable[Filter], off: Collection[str]
) -> Candidate:
    for step in filters:
        if not candidate.text or step.__name__ in off:
            continue
        after = step(candidate, cursor)
        if (after.text, after.replaces) != (candidate.text, candidate.replaces):
            odds = respell(candidate.odds, candidate.text, after.text)
            cuts = (*candidate.cuts, FilterCut(step.__name__, after.why))
            after = replace(after, odds=odds, cuts=cuts)
        candidate = after
    return candidate

"""
A suggestion without a model: the line in sight that begins as the typed one does, if it is clear
which. Pure.

About half of those that are shown are right where the lines that begin alike must agree on how they
go on; all of the file and what else is open give more of them than the lines around the cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from fim_lsp.documents import LINE_CHARS, closes_only
from fim_lsp.suggest.cursor import ABOVE_LINES, BELOW_LINES, Candidate, Cursor

# From four typed characters on it pays to guess: fewer are hardly ever clear.
TYPED_CHARS = 4

# The share of the lines beginning alike that must go on alike: a smaller share is mostly wrong.
SHARE = 0.5

SIGHT_LINES = 8000  # looked through for one that begins as the typed one does: half a millisecond


def continue_line(cursor: Cursor, elsewhere: Iterable[str]) -> Candidate:
    """
    Return what the lines around and *elsewhere* (nearest first) have after the typed text; empty if
    unclear.

    Not the line right above: the same line is hardly written twice in a row (`looping_lines`).
    Costs one look at each line: 0.2 ms for a full ring.
    """
    typed = cursor.before.strip()
    if len(typed) < TYPED_CHARS or not closes_only(cursor.after):
        return Candidate("")
    rests = Counter(
        visible[len(typed) :]
        for line in chain(cursor.above[-2::-1], cursor.below, elsewhere)
        if len(line) <= LINE_CHARS
        and typed in line
        and (visible := line.strip()).startswith(typed)
        and visible != typed
    )
    if not rests:
        return Candidate("")
    rest, n_lines = rests.most_common(1)[0]  # of equals the nearest, which was counted first
    return Candidate(rest if n_lines >= SHARE * rests.total() else "")


def lines_in_sight(
    own: Sequence[str], line: int, others: Iterable[Sequence[str]], chunks: Iterable[str]
) -> Iterator[str]:
    """
    Return lines that may be said again, the likeliest first, at most `SIGHT_LINES`.

    Of the file itself (*own*, the cursor on *line*) those beyond what stands around the cursor,
    then those of *others* that are open, then of the texts of *chunks*.
    """
    above = reversed(own[: max(0, line - ABOVE_LINES)])
    below = own[line + 1 + BELOW_LINES :]
    rest = chain(others, (chunk.splitlines() for chunk in chunks))
    return islice(chain(above, below, chain.from_iterable(rest)), SIGHT_LINES)

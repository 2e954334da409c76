"""
A long text as it is written into what of it to insert: the filters of a suggestion, but those that
end it with a statement. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.foreign import other_text, special_tokens
from fim_lsp.suggest.filters.order import polish
from fim_lsp.suggest.filters.repeats import LOOP_LINES, looping_lines, stuttering
from fim_lsp.suggest.reasons import Outcome

# These would cut a long text to the statement at the cursor, or to what parses without the rest of
# it.
OFF = frozenset({"extent", "closed_below", "opened_here", "unfinished", "right_text", "parses"})
# From these on a model writes no more of what was asked for.
ENDS: tuple[Callable[[Candidate, Cursor], Candidate], ...] = (
    special_tokens, other_text, stuttering, looping_lines,
)  # fmt: skip
LOOKED_AT = 3 * LOOP_LINES  # the last lines, in which a loop is found


@dataclass(slots=True)
class LongText:
    """
    A text at *cursor* that may take *n_left* more tokens: what came so far, and whether it
    *goes_wrong*, or was ended by *go_on* (*is_cut*).
    """

    cursor: Cursor
    n_left: int
    go_on: Callable[[str], bool] = lambda _: True
    text: str = ""
    goes_wrong: bool = False
    is_cut: bool = False

    @property
    def is_over(self) -> bool:
        """Return whether no more is to be written."""
        return self.goes_wrong or self.is_cut or self.n_left <= 0

    def take(self, piece: str, n_tokens: int = 1) -> None:
        """Append what came, and look at it where a line is whole."""
        self.text += piece
        self.n_left -= n_tokens
        self.is_cut = not self.go_on(self.text)
        if "\n" in piece:
            self.goes_wrong = self._is_wrong()

    def finish(self, trouble: str = "") -> tuple[str, str]:
        """Return the text to insert, and why that is not all, "" where it is."""
        text = whole_lines(self.text) if trouble or self.is_over else self.text
        left = polish(Candidate(text), self.cursor, off=OFF)
        cut = next((cut for cut in left.cuts if cut.filter in _ENDS), None)
        if trouble or (cut is None and left.text):
            return left.text, trouble
        cut = cut or left.cuts[-1]
        return left.text, Outcome(cut.filter).words

    def _is_wrong(self) -> bool:
        """Return whether the last lines are such that what follows would be cut."""
        lines = self.text.split("\n")
        tail = "\n".join(lines[-LOOKED_AT:])
        is_all = len(lines) <= LOOKED_AT
        cursor = self.cursor if is_all else Cursor(self.cursor.language, self.cursor.path)
        candidate = Candidate(tail, whole=False)
        return any(step(candidate, cursor).text != tail for step in ENDS)


_ENDS = frozenset(step.__name__ for step in ENDS)


def whole_lines(text: str) -> str:
    """Return *text* without the line in which it was cut off, unless that is all there is."""
    return text.rpartition("\n")[0] or text

"""
The cursor and what stands around it, and candidates for a suggestion: the data of this folder.

A `Cursor` holds what filters and boundaries look at, a bounded window without line ends, so that no
cost grows with the file. A `Candidate` is what the model said so far and what has been done to it.
Text has `\n` line ends; the engine gives it the document's own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from fim_lsp.documents import LINE_CHARS, Document, Position, body
from fim_lsp.suggest.lines import indent, is_word_sign

# Enough to see what a block belongs to and the file's style; llama.vim compares with far fewer.
ABOVE_LINES = 60
BELOW_LINES = 40

DEFAULT_INDENT = "    "  # the most common style of the languages we know
UNITS = dict.fromkeys(("go", "makefile", "make"), "\t")  # what their own tools want


@dataclass(frozen=True, slots=True)
class Cursor:
    """
    A cursor: *before* and *after* are its line's two halves, *above* and *below* the lines around
    it, nearest last and first. *unit* is one level of indentation in this file. *by_hand* says that
    the user asked, and did not just type; *one_line* that no more than this line is wanted.
    """

    language: str = ""
    path: str = ""
    above: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    below: tuple[str, ...] = ()
    unit: str = DEFAULT_INDENT
    by_hand: bool = False
    one_line: bool = False

    @property
    def is_in_word(self) -> bool:
        """Return whether a word ends at the cursor, and may go on."""
        return is_word_sign(self.before[-1:])


class FilterCut(NamedTuple):
    """The action of a filter: its name, and why in a few words."""

    filter: str
    why: str


class Odds(NamedTuple):
    """
    The end of a token in a text, in characters, and its log-probability; None where that is not
    known.
    """

    end: int
    logprob: float | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    Text to insert at the cursor in place of the next *replaces* characters of its line.

    *whole* says that the text ends where it should; false while a budget or deadline ended it.
    *odds* are those of the model's own text, token by token, until a filter changes it; none of a
    line in sight. An empty text means nothing is to be shown, and the last of *cuts* says why.
    """

    text: str
    whole: bool = True
    odds: tuple[Odds, ...] = ()
    replaces: int = 0
    cuts: tuple[FilterCut, ...] = ()
    why: str = ""

    def cut(self, end: int, why: str) -> Candidate:
        """Return the candidate up to *end*: a chosen place, so what is left is whole."""
        return replace(self, text=self.text[:end], whole=True, why=why)

    def cut_lines(self, n_lines: int, why: str) -> Candidate:
        """Return the first *n_lines* of the candidate, without the last one's end."""
        return self.cut(len("\n".join(self.text.split("\n")[:n_lines])), why)

    def change(self, text: str, why: str, replaces: int = 0) -> Candidate:
        """Return the candidate with another text; as it is where that is the same."""
        if text == self.text and not replaces:
            return self
        return replace(self, text=text, why=why, replaces=self.replaces + replaces)


def cursor_at(document: Document, position: Position, path: str = "", **asked: bool) -> Cursor:
    """
    Return the place of *position*; *path* is how comments in the workspace would name the file,
    *asked* are `by_hand` and `one_line`.
    """
    lines = document.lines
    (line, column) = position
    above = tuple(map(_beginning, lines[max(0, line - ABOVE_LINES) : line]))
    below = tuple(map(_beginning, lines[line + 1 : line + 1 + BELOW_LINES]))
    here = body(lines[line])
    around = indent_unit((*above, *below))
    unit = _own_unit(above, here, around) or UNITS.get(document.language, DEFAULT_INDENT)
    before = here[:column]
    after = here[column:]
    return Cursor(document.language, path, above, before, after, below, unit, **asked)


def _own_unit(above: tuple[str, ...], here: str, around: str) -> str:
    """
    Return one level of indentation at a line, which may be blank but for it: a tab, or what the
    lines *around* have, or how much deeper it is than the one above; "" where nothing tells.
    """
    white = indent(here)
    if white.startswith("\t"):
        return "\t"
    last = next((line for line in reversed(above) if line.strip()), "")
    n_deeper = len(white) - len(indent(last))
    return around or (white[:n_deeper] if n_deeper > 1 else "")


def _beginning(line: str) -> str:
    """Return as much of a line as is looked at."""
    return body(line) if len(line) <= LINE_CHARS else line[:LINE_CHARS]


@lru_cache(maxsize=16)  # the lines around stay while a line is typed
def indent_unit(lines: tuple[str, ...]) -> str:
    """
    Return one level of indentation: a tab, or the step by which lines most often go deeper; "" if
    none does.
    """
    indents = [indent(line) for line in lines if line.strip()]
    n_tabs = sum(white.startswith("\t") for white in indents)
    n_spaces = sum(white.startswith(" ") for white in indents)
    if n_tabs > n_spaces:
        return "\t"
    steps = Counter(len(b) - len(a) for a, b in pairwise(indents) if len(b) - len(a) > 1)
    return " " * steps.most_common(1)[0][0] if steps else ""

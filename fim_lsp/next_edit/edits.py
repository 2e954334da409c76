"""
Finished edits: whole lines before and after, at one place; and the texts in which the same is
looked for. Pure.

An edit of several lines is read as changes of single lines where its lines can be told apart:
`changes` aligns them in order by how alike they are. A text is searched as one string: 10,000 lines
in less than a millisecond.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from typing import NamedTuple

from fim_lsp.documents import LINE_CHARS, Document, body
from fim_lsp.suggest.cursor import ABOVE_LINES, BELOW_LINES, Cursor
from fim_lsp.suggest.syntax_errors import SyntaxErrors

ALIKE = 0.5
"""Of two lines, the share of characters in common from which one is the other, changed. Renaming
one of three words leaves two thirds; two unrelated calls have about 0.4 in common."""

ALIGNED_LINES = 12
"""Lines before and after up to which they are aligned; a longer edit is a block that was rewritten,
and aligning it takes time with the product of both."""

HISTORY = 40
"""Changes that are looked back on."""

FRESH = 12
"""Changes after which one that was made once counts no more, and after which a renamed definition
that still has uses is left alone. An edit that was made twice counts for longer."""

Lines = tuple[str, ...]


class FinishedEdit(NamedTuple):
    """
    The lines *before* became *after*, which begin at *line* in the document as it is now.

    Lines have no ends. *above* and *below* are the lines around them. *at* is the time of the last
    keystroke, in seconds of the caller's clock.
    """

    uri: str
    line: int
    before: Lines
    after: Lines
    above: str = ""
    below: str = ""
    at: float = 0.0

    @property
    def end(self) -> int:
        """The line behind the last one."""
        return self.line + len(self.after)


class Change(NamedTuple):
    """
    A part of an edit: from line *offset* of `before`, *before* became *after*; either may be empty.
    """

    offset: int
    before: Lines
    after: Lines


class Example(NamedTuple):
    """
    A change as an example of what the user is doing: *line* is where it stands now.

    *alone* says that it was an edit of its own, and no part of a longer one.
    """

    uri: str
    line: int
    before: Lines
    after: Lines
    above: str
    below: str
    alone: bool

    @property
    def is_in_line(self) -> bool:
        """Return whether one line became one other line."""
        return len(self.before) == len(self.after) == 1


def examples(edits: Sequence[FinishedEdit], limit: int) -> list[Example]:
    """Return the changes of *edits*, newest first."""
    return [*islice((example for edit in reversed(edits) for example in _examples(edit)), limit)]


def _examples(edit: FinishedEdit) -> Iterator[Example]:
    parts = changes(edit.before, edit.after)
    shift = 0
    from_top = list[Example]()
    around = (edit.above, *edit.after, edit.below)
    for part in parts:
        first = part.offset + shift
        above = around[first]
        below = around[first + len(part.after) + 1]
        line = edit.line + first
        from_top.append(Example(edit.uri, line, *part[1:], above, below, alone=len(parts) == 1))
        shift += len(part.after) - len(part.before)
    return reversed(from_top)


@lru_cache(maxsize=256)
def changes(before: Lines, after: Lines) -> tuple[Change, ...]:
    """
    Return the parts of an edit, from the top: pairs of lines that are alike, and blocks between
    them.
    """
    is_long = max(len(before), len(after)) > ALIGNED_LINES
    if not before or not after or is_long or len(before) == len(after) == 1:
        return (Change(0, before, after),)
    parts: list[Change] = []
    i = j = 0
    for row, column in [*_pairs(before, after), (len(before), len(after))]:
        if row > i or column > j:
            parts.append(Change(i, before[i:row], after[j:column]))
        if row < len(before) and before[row] != after[column]:
            parts.append(Change(row, before[row : row + 1], after[column : column + 1]))
        i = row + 1
        j = column + 1
    return tuple(parts)


def _pairs(before: Lines, after: Lines) -> list[tuple[int, int]]:
    """
    Return which line became which, in order, so that the sum of the likenesses is the largest.
    """
    sums = [[0.0] * (len(after) + 1) for _ in range(len(before) + 1)]
    alike = [[_likeness(old, new) for new in after] for old in before]
    for i in reversed(range(len(before))):
        for j in reversed(range(len(after))):
            paired = sums[i + 1][j + 1] + alike[i][j] if alike[i][j] >= ALIKE else 0.0
            sums[i][j] = max(paired, sums[i + 1][j], sums[i][j + 1])
    pairs = []
    i = 0
    j = 0
    while i < len(before) and j < len(after):
        if alike[i][j] >= ALIKE and sums[i][j] == sums[i + 1][j + 1] + alike[i][j]:
            pairs.append((i, j))
            i += 1
            j += 1
        elif sums[i][j] == sums[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: str, new: str) -> float:
    """
    Return the share of characters that two lines have in common, in order, without their
    indentation.
    """
    old = old.strip()[:_COMPARED]
    new = new.strip()[:_COMPARED]
    if not old or not new:
        return 0.0
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= ALIKE else 0.0


_COMPARED = 200  # characters of a line: to compare two takes time with the product of their lengths


FOUND = 100
"""Lines per text and needle: a more frequent needle is not what the edit was about."""


class EditedText:
    """A version of a file: its *lines* without their ends."""

    def __init__(self, uri: str, language: str, lines: Lines) -> None:
        self.uri = uri
        self.language = language
        self.lines = lines

    def holding(self, needle: str) -> Iterator[int]:
        """Yield the lines with *needle*, from the top; not those that are data."""
        at = self._joined.find(needle)
        for _ in range(FOUND):
            if at < 0:
                return
            line = bisect_right(self._starts, at) - 1
            if len(self.lines[line]) <= LINE_CHARS:
                yield line
            at = self._joined.find(needle, self._starts[line + 1])

    @cached_property
    def _joined(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def _starts(self) -> list[int]:
        """The offset at which each line begins, and that of the end."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]


def text_of(document: Document) -> EditedText:
    """Return the text of an open document."""
    return EditedText(document.uri, document.language, tuple(map(body, document.lines)))


CountErrors = Callable[[EditedText], int | None]


def adds_errors(
    text: EditedText, line: int, before: Lines, after: Lines, count: CountErrors | None = None
) -> bool:
    """
    Return whether *after* in place of *before* has a syntax error more: in the whole text by
    *count*, or in the lines around it where that is not known; false where neither is.
    """
    end = line + len(before)
    made = EditedText(text.uri, text.language, (*text.lines[:line], *after, *text.lines[end:]))
    if count is not None and (n_made := count(made)) is not None:
        return n_made > 0 and n_made > (count(text) or 0)
    above = text.lines[max(0, line - ABOVE_LINES) : line]
    cursor = Cursor(text.language, above=above, below=text.lines[end : end + BELOW_LINES])
    errors = SyntaxErrors(cursor)
    n_before = errors.n("\n".join(before))
    n_after = errors.n("\n".join(after))
    return errors.is_known and n_after > n_before

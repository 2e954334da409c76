"""
Text as editors send it: documents, positions, edits. Pure.

Operations: open a text, apply edits, read lines around a position.
Goal: edits cost the lines they touch (plus two copies of the list of lines for all edits of one
message), never a pass over the characters of the file; a `Document` never changes.
Plan: a document is a tuple of lines with their line ends; an edit splits only its own lines again.

A line ends at `\\n`, `\\r\\n` or `\\r` and nowhere else (LSP 3.17, "Text Documents");
`str.splitlines` also splits at form feeds, U+2028 and more, and would corrupt every position below
one. Halves of characters, which an editor may send one after the other, are kept; a text for a
model is made `well_formed`. The last element has no line end and may be empty, so
`lines[position.line]` exists for every position a client may send. Columns count code points here;
`convert` knows the client's units.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from server_bridge.fim.tokens import n_common as n_common  # noqa: PLC0414 (for others)

DOCUMENT_CHARS = 10_000_000
"""Characters of a document that gets suggestions and informs others. sqlite3.c, the longest source
file that people are known to edit, has 9 million."""

STEP_CHARS = 100_000
"""Characters that are split into lines at once: 5 ms where a line has four characters."""

LINE_CHARS = 1000
"""Characters of a line that is looked at. A longer one is data or generated code, not typed by
hand: nothing is suggested in it and nothing is learned from it, and no scan reads past this."""

CLOSERS = frozenset(")]}>\"'`;:, \t")  # what editors close by themselves, and what follows it

HALF = re.compile("[\ud800-\udfff]")  # of a character, in UTF-16: a lone surrogate

# where `str.splitlines` breaks a line and LSP does not
_ODD_BREAKS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


class Position(NamedTuple):
    """Zero-based line and column; the column counts code points."""

    line: int
    column: int

    def down(self, n_lines: int) -> Position:
        """Return the same place, so many lines further down."""
        return self._replace(line=self.line + n_lines)


class Edit(NamedTuple):
    """Replace the text between two positions of the document as it stands."""

    start: Position
    end: Position
    text: str

    def carry(self, position: Position) -> Position:
        """
        Return the place of a cursor at *position* after this: behind the text, if that came where
        it stood.
        """
        if position < self.start:
            return position
        end = after(self.start, self.text)
        if position <= self.end:
            return end
        column = position.column
        if position.line == self.end.line:
            column += end.column - self.end.column
        return Position(position.line + end.line - self.end.line, column)


@dataclass(frozen=True, slots=True)
class Document:
    """One version of one open text."""

    uri: str
    language: str
    version: int
    lines: tuple[str, ...] = field(repr=False)

    @property
    def text(self) -> str:
        """The whole text. Costs a pass over it: do not ask per key."""
        return "".join(self.lines)

    @property
    def eol(self) -> str:
        """The line end to use for inserted text: the first line's, or `\\n`."""
        return line_end(self.lines[0]) or "\n"

    def clamp(self, position: Position) -> Position:
        """
        Return the nearest position that exists; a column past the end means the line's end (LSP).
        """
        return _clamp(self.lines, position)

    def end_of(self, line: int) -> Position:
        """Return the position at the end of a *line*."""
        return Position(line, body_length(self.lines[line]))

    def between(self, start: Position, end: Position) -> str:
        """Return the text from *start* to *end*."""
        if start.line == end.line:
            return self.lines[start.line][start.column : end.column]
        middle = self.lines[start.line + 1 : end.line]
        return "".join(
            (self.lines[start.line][start.column :], *middle, self.lines[end.line][: end.column])
        )

    def before(self, position: Position, line: int) -> str:
        """
        Return the text from the beginning of *line* to *position*, with `\\n` line ends; of its own
        line `LINE_CHARS` at most.
        """
        above = unix("".join(self.lines[line : position.line]))
        begin = max(0, position.column - LINE_CHARS)
        return above + self.lines[position.line][begin : position.column]


class TextPlace(NamedTuple):
    """
    A position, in the version of a text that it counts on: work that waits keeps both, or neither.
    """

    document: Document
    position: Position


def open_document(
    uri: str, language: str, version: int, text: str, lines: tuple[str, ...] | None = None
) -> Document:
    """
    Return a document as the client opened it; *lines* are those of *text*, if it is split already.
    """
    return Document(uri, language, version, tuple(split(text)) if lines is None else lines)


def apply_edits(document: Document, edits: Iterable[Edit], version: int) -> Document:
    """Return the document after *edits*, each applied to the result of the one before."""
    lines = list(document.lines)
    for edit in edits:
        apply(lines, edit)
    return replace(document, version=version, lines=tuple(lines))


def apply(lines: list[str], edit: Edit) -> None:
    """Change the *lines* of a document by one edit."""
    start = _clamp(lines, edit.start)
    end = _clamp(lines, edit.end)
    first = start.line
    last = end.line
    text = lines[first][: start.column] + edit.text + lines[last][end.column :]
    if "\n" not in edit.text and "\r" not in edit.text and not text.startswith("\n"):
        lines[first : last + 1] = [text]
        return
    if first > 0 and text.startswith("\n") and lines[first - 1].endswith("\r"):
        first -= 1
        text = lines[first] + text
    fresh = split(text)
    if last + 1 < len(lines):
        fresh.pop()  # the text ends with the line end of *last*, so this is the empty rest
    lines[first : last + 1] = fresh


def difference(old: Sequence[str], new: Sequence[str]) -> Edit:
    """
    Return the edit that makes the lines *new* of *old*: within a line if it is one line that
    changed.
    """
    above, below = alike(old, new)
    last = len(old) - below
    changed = old[above:last]
    text = new[above : len(new) - below]
    if len(changed) == len(text) == 1 and line_end(changed[0]) == line_end(text[0]):
        left, right = alike(changed[0], text[0])
        end = len(changed[0]) - right
        return Edit(
            Position(above, left), Position(above, end), text[0][left : len(text[0]) - right]
        )
    return Edit(_clamp(old, Position(above, 0)), _clamp(old, Position(last, 0)), "".join(text))


def after(position: Position, text: str) -> Position:
    """Return the end of *text* inserted at *position*."""
    *above, last = split(text)
    return Position(position.line + len(above), len(last) + (0 if above else position.column))


def minimal(document: Document, edit: Edit) -> Edit:
    """
    Return the smallest equal of *edit*: without the text at its beginning, then at its end, that it
    puts back.

    Editors say the same change in different ways; the result is to be compared, not applied: it may
    begin or end within a line end.
    """
    start = document.clamp(edit.start)
    old = document.between(start, document.clamp(edit.end))
    new = edit.text
    head, tail = alike(old, new)
    start = after(start, old[:head])
    return Edit(start, after(start, old[head : len(old) - tail]), new[head : len(new) - tail])


def alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """
    Return how many characters, or lines, two texts share at the beginning, and then at the end.
    """
    head = n_common(old, new)
    return head, n_common(old[head:][::-1], new[head:][::-1])


def split(text: str) -> list[str]:
    """Return the lines of *text* with their ends; the last one has none."""
    if any(sign in text for sign in _ODD_BREAKS):
        lines = list(io.StringIO(text, newline=""))
    else:
        lines = text.splitlines(keepends=True)  # twice as fast
    if not lines or lines[-1][-1] in "\r\n":
        lines.append("")
    return lines


def split_stepwise(text: str) -> Iterator[list[str]]:
    """Yield the lines of *text* in steps of `STEP_CHARS`, the last of which has all of them."""
    lines: list[str] = []
    start = 0
    while len(text) - start > STEP_CHARS:
        end = text.find("\n", start + STEP_CHARS) + 1
        if not end:
            break
        lines += split(text[start:end])[:-1]
        yield lines
        start = end
    lines += split(text[start:])
    yield lines


def body(line: str) -> str:
    """Return the line without its end."""
    return line[: body_length(line)]


def body_length(line: str) -> int:
    """Return how long the line is without its end; copies nothing."""
    return len(line) - (line[-2:] == "\r\n") - (line[-1:] in ("\n", "\r"))


def line_end(line: str) -> str:
    """Return the line's own end: `\\n`, `\\r\\n`, `\\r` or nothing."""
    return line[body_length(line) :]


def closes_only(text: str) -> bool:
    """Return whether *text* is nothing but what an editor closes by itself."""
    return all(char in CLOSERS for char in text)


def join_halves(text: str) -> str:
    """Return the text with each pair of UTF-16 surrogates as the character that it is."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def well_formed(text: str) -> str:
    """
    Return the text with U+FFFD for every lone surrogate, which an editor may have and UTF-8 cannot.
    """
    return text if text.isascii() else HALF.sub("\ufffd", text)


def unix(text: str) -> str:
    """Return the text with `\\n` line ends, as models are shown it."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _clamp(lines: Sequence[str], position: Position) -> Position:
    if position.line >= len(lines):
        return Position(len(lines) - 1, len(lines[-1]))
    return Position(position.line, min(position.column, body_length(lines[position.line])))

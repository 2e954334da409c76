"""
Text as editors send it: documents, positions, edits. Pure.

Operations: open a text, apply edits, read lines around a position.
Goal: an edit costs the lines it touches (plus one copy of a list of pointers), never a pass over
the characters of the file, and a reader that holds a `Document` never sees it change.
Plan: a document is a tuple of lines with their line ends; an edit re-splits only its own lines.

A line ends at `\\n`, `\\r\\n` or `\\r` and nowhere else (LSP 3.17, "Text Documents");
`str.splitlines` also splits at form feeds, U+2028 and more, and would corrupt every position
below one. The last element has no line end and may be empty, so `lines[position.line]` exists for
every position a client may send. Columns count code points here; `convert` knows the client's units.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple


class Position(NamedTuple):
    """Zero-based line and column; the column counts code points."""

    line: int
    column: int


class Edit(NamedTuple):
    """Replace the text between two positions of the document as it stands."""

    start: Position
    end: Position
    text: str


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
        """The nearest position that exists; a column past the end means the line's end (LSP)."""
        if position.line >= len(self.lines):
            last = len(self.lines) - 1
            return Position(last, len(self.lines[last]))
        return Position(position.line, min(position.column, len(body(self.lines[position.line]))))

    def between(self, start: Position, end: Position) -> str:
        """The text from *start* to *end*."""
        if start.line == end.line:
            return self.lines[start.line][start.column : end.column]
        middle = self.lines[start.line + 1 : end.line]
        return "".join(
            (self.lines[start.line][start.column :], *middle, self.lines[end.line][: end.column])
        )


def opened(uri: str, language: str, version: int, text: str) -> Document:
    """A document as the client opened it."""
    return Document(uri, language, version, tuple(split(text)))


def edited(document: Document, edits: Iterable[Edit | str], version: int) -> Document:
    """The document after *edits*, each applied to the result of the one before; a `str` replaces all."""
    for edit in edits:
        lines = tuple(split(edit)) if isinstance(edit, str) else _spliced(document, edit)
        document = replace(document, lines=lines)
    return replace(document, version=version)


def after(position: Position, text: str) -> Position:
    """Where *text* inserted at *position* ends."""
    *above, last = split(text)
    return Position(position.line + len(above), len(last) + (0 if above else position.column))


def carried(position: Position, edit: Edit) -> Position:
    """Where a cursor at *position* is after *edit*: behind the text, if that came where it stood."""
    if position < edit.start:
        return position
    end = after(edit.start, edit.text)
    if position <= edit.end:
        return end
    column = position.column
    if position.line == edit.end.line:
        column += end.column - edit.end.column
    return Position(position.line + end.line - edit.end.line, column)


def minimal(document: Document, edit: Edit) -> Edit:
    """
    What *edit* changes: without the text at its beginning, then at its end, that it puts back.

    Editors say the same change in different ways; the result is to be compared, not applied: it may
    begin or end within a line end.
    """
    start = document.clamp(edit.start)
    old, new = document.between(start, document.clamp(edit.end)), edit.text
    head, tail = alike(old, new)
    start = after(start, old[:head])
    end = after(start, old[head : len(old) - tail])
    return Edit(start, end, new[head : len(new) - tail])


def alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many characters, or lines, two texts share at the beginning, and then at the end."""
    head = _n_alike(old, new)
    return head, _n_alike(old[head:][::-1], new[head:][::-1])


def split(text: str) -> list[str]:
    """The lines of *text* with their ends; the last one has none."""
    lines = list(io.StringIO(text, newline=""))
    if not lines or lines[-1][-1] in "\r\n":
        lines.append("")
    return lines


def body(line: str) -> str:
    """The line without its end."""
    return line.rstrip("\r\n") if line.endswith(("\n", "\r")) else line


def line_end(line: str) -> str:
    """The line's own end: `\\n`, `\\r\\n`, `\\r` or nothing."""
    return line[len(body(line)) :]


def unix(text: str) -> str:
    """The text with `\\n` line ends, as models are shown it."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _n_alike(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((idx for idx, (a, b) in pairs if a != b), min(len(old), len(new)))


def _spliced(document: Document, edit: Edit) -> tuple[str, ...]:
    """Only the edit's own lines are split anew, and the one above where its `\\r` meets our `\\n`."""
    lines, start, end = document.lines, document.clamp(edit.start), document.clamp(edit.end)
    first, last = start.line, end.line
    text = lines[first][: start.column] + edit.text + lines[last][end.column :]
    if first > 0 and text.startswith("\n") and lines[first - 1].endswith("\r"):
        first -= 1
        text = lines[first] + text
    fresh = split(text)
    if last + 1 < len(lines):
        fresh.pop()  # the text ends with the line end of *last*, so this is the empty rest
    return (*lines[:first], *fresh, *lines[last + 1 :])

"""
Lines of a document and what takes their place into the fewest whole lines to change. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from fim_lsp.documents import Document, Edit, Position, line_end


def ended(document: Document, last: int, lines: Sequence[str]) -> list[str]:
    """*lines* with the line ends they get in place of those before the line *last* of *document*."""
    if not lines:
        return []
    last_end = line_end(document.lines[last - 1])
    return [line + document.eol for line in lines[:-1]] + [lines[-1] + last_end]


def edits(document: Document, first: int, last: int, lines: Sequence[str]) -> list[Edit]:
    """The edits, none overlapping, that put *lines* in place of the lines [first, last)."""
    old, new = document.lines[first:last], ended(document, last, lines)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        Edit(_start(document, first + a), _start(document, first + b), "".join(new[c:d]))
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]


def span(document: Document, first: int, last: int) -> tuple[Position, Position]:
    """Where the lines [first, last) begin and end, with the line end of the last one."""
    return _start(document, first), _start(document, last)


def _start(document: Document, line: int) -> Position:
    if line < len(document.lines):
        return Position(line, 0)
    return Position(len(document.lines) - 1, len(document.lines[-1]))

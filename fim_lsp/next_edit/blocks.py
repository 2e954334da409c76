"""
Whole lines that were replaced, removed or inserted, into the places where the same can be done. Pure.

A block counts as the same wherever it is indented; what replaces it is indented likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

from fim_lsp.next_edit.edits import Example, Lines
from fim_lsp.next_edit.rule import Kind
from fim_lsp.suggest.lines import indent

BLOCK_LINES = 12
"""Longer ones are moved or written once."""

BLOCK_CHARS = 8
"""Without white space. A shorter block (`}`, `else:`) is everywhere."""


@dataclass(frozen=True, slots=True)
class Block:
    """Below a line *above* or, if that is "", wherever they stand, the lines *before* become *after*."""

    kind: Kind
    above: str
    before: Lines
    after: Lines
    needle: str

    @property
    def key(self) -> object:
        """The same for blocks that do the same."""
        return self.kind, self.above, self.before, self.after

    @property
    def old(self) -> str:
        """The lines to look for."""
        return "\n".join(self.before)

    @property
    def new(self) -> str:
        """The lines that replace them."""
        return "\n".join(self.after)

    def at(self, lines: Lines, found: int) -> tuple[int, Lines, Lines] | None:
        """
        Return the change at *found*, a line with the needle: the first line that changes, the
        lines, the new ones.
        """
        if not self.before:
            if lines[found].strip() != self.above or self._is_there(lines, found + 1):
                return None
            return found + 1, (), _indent(self.after, indent(lines[found]))
        start = found - self.before.index(self.needle)
        old = lines[max(0, start) : start + len(self.before)]
        if start < 0 or _flush(old) != self.before:
            return None
        return start, old, _indent(self.after, _margin(old))

    def holds(self, example: Example) -> bool:
        """Return whether *example* is the same change."""
        other = block(example)
        return other is not None and other.key == self.key

    def is_missed(self, example: Example) -> bool:
        """Return whether it holds for what stood there, but something else was made of it."""
        return bool(self.before) and _flush(example.before) == self.before

    def _is_there(self, lines: Lines, start: int) -> bool:
        return _flush(lines[start : start + len(self.after)]) == _flush(self.after)


def block(example: Example) -> Block | None:
    """Return the block of an example; None where it is too short or too long to be one."""
    if max(len(example.before), len(example.after)) > BLOCK_LINES or example.is_in_line:
        return None
    before, above = _flush(example.before), "" if example.before else example.above.strip()
    needle = max(before, key=lambda line: len(line.strip())) if before else above
    n_chars = sum(len("".join(line.split())) for line in before or (above,))
    if n_chars < BLOCK_CHARS or not needle.strip():
        return None
    kind = Kind.REMOVED if not example.after else Kind.BLOCK if before else Kind.INSERTED
    margin = indent(example.above) if not before else _margin(example.before)
    after = tuple(line.removeprefix(margin) for line in example.after)
    return Block(kind, above, before, after, needle)


def _margin(lines: Lines) -> str:
    """Return the indentation that all lines but blank ones have."""
    return min((indent(line) for line in lines if line.strip()), key=len, default="")


def _flush(lines: Lines) -> Lines:
    margin = _margin(lines)
    return tuple(line.removeprefix(margin).rstrip() for line in lines)


def _indent(lines: Lines, margin: str) -> Lines:
    return tuple(margin + line if line.strip() else line for line in lines)

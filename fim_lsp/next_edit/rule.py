"""
A rule: a template and what comes in its place, applied to every place of a line at once. Pure.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from fim_lsp.next_edit.edits import Example, Lines
from fim_lsp.next_edit.template import Filling, Found, Part, fill, find


class Kind(enum.Enum):
    """The kind of text that a rule replaces."""

    RENAME = "rename"  # a name by a name
    REPLACE = "replace"  # other tokens by tokens
    INSERT = "insert"  # nothing by tokens, between two neighbours
    DELETE = "delete"
    ARGUMENT = "argument"  # nothing by an argument, at the end of a call
    PATTERN = "pattern"  # several changes, with whatever stands between them
    SHAPE = "shape"  # a whole line, with other names
    PAIR = "pair"  # a whole line, by what two examples have in common
    BLOCK = "block"  # lines by other lines
    REMOVED = "removed"  # lines by none
    INSERTED = "inserted"  # no lines by some, below a line that stands elsewhere, too


@dataclass(frozen=True, slots=True)
class Rule:
    """*parts* become *filling*; *needle* is in every line that the rule changes."""

    kind: Kind
    parts: tuple[Part, ...]
    filling: tuple[Filling, ...]
    needle: str
    old: str
    new: str

    def at(self, lines: Lines, found: int) -> tuple[int, Lines, Lines] | None:
        """Return the change at *found*, a line with the needle: the line that changes, it, and the new one."""
        old = lines[found]
        if self.kind in (Kind.INSERT, Kind.ARGUMENT) and self.new.strip() in old:
            return None  # it is done already
        new = self.apply(old)
        return (found, (old,), (new,)) if new != old else None

    def is_missed(self, example: Example) -> bool:
        """Return whether it holds for what stood there, but something else was made of it."""
        return example.is_in_line and self.apply(example.before[0]) != example.before[0]

    def apply(self, line: str) -> str:
        """Return the line with every place changed; the same line where there is none."""
        body, made, end = line.strip(), "", 0
        for found in self.places(body):
            made += body[end : found.start] + fill(self.filling, found.held)
            end = found.end
        if not end:
            return line
        start = len(line) - len(line.lstrip())
        return line[:start] + made + body[end:] + line[start + len(body) :]

    def places(self, line: str) -> list[Found]:
        """Return the places where it applies, in a line without indentation."""
        if self.needle not in line:
            return []
        return [*find(self.parts, line, whole=self.kind in (Kind.SHAPE, Kind.PAIR))]

    @property
    def key(self) -> object:
        """The same for rules that do the same."""
        return self.kind, self.parts, self.filling


def needle_of(parts: Iterable[Part]) -> str:
    """Return the longest literal, which is what to search for."""
    literals = [part.strip() for part in parts if isinstance(part, str)]
    return max(literals, key=len, default="")


def join_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Join neighbouring literals."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return tuple(found)

"""
Literal text and holes: a template is found in a line, and another is filled with what the holes held. Pure.

Matching never goes back: behind a hole the next literal counts where it stands first. So it takes time
linear in the line for each place where the first literal stands, whatever the template is.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fim_lsp.next_edit.tokens import is_word

_WORD = re.compile(r"\w+")
_BRACKET = re.compile(r"[()\[\]{}]")


class Hole(enum.Enum):
    """The text that a hole may hold; never nothing."""

    WORD = "word"  # one name or number
    ANY = "any"  # up to where the next literal stands first
    INSIDE = "inside"  # up to the bracket that closes


Part = str | Hole
Filling = str | int  # literal text, or the number of a hole


class Found(NamedTuple):
    """A template at [start, end) of a line, and what its holes held."""

    start: int
    end: int
    held: tuple[str, ...]


def find(parts: Sequence[Part], line: str, *, whole: bool = False) -> Iterator[Found]:
    """Yield the places of *parts* in a line, from the left, without overlaps; or only if they are the *whole* line."""
    if whole:
        found = _at(parts, line, 0)
        if found is not None and found.end == len(line):
            yield found
        return
    first = parts[0]
    assert isinstance(first, str)
    at = _find(first, line, 0)
    while at >= 0:
        found = _at(parts, line, at) if len(parts) > 1 else Found(at, at + len(first), ())
        if found is not None:
            yield found
        at = _find(first, line, found.end if found else at + 1)


def fill(filling: Sequence[Filling], held: Sequence[str]) -> str:
    """Return the text of a filled template."""
    return "".join(part if isinstance(part, str) else held[part] for part in filling)


def _at(parts: Sequence[Part], line: str, start: int) -> Found | None:
    at, held = start, list[str]()
    for n, part in enumerate(parts):
        if isinstance(part, str):
            if not _stands(part, line, at):
                return None
            at += len(part)
            continue
        end = _end(part, line, at, parts[n + 1 :])
        if end <= at:
            return None
        held.append(line[at:end])
        at = end
    return Found(start, at, tuple(held))


def _end(hole: Hole, line: str, at: int, rest: Sequence[Part]) -> int:
    """Return the end of the text in a hole at *at*, -1 if there is none."""
    if hole is Hole.WORD:
        word = _WORD.match(line, at)
        return word.end() if word else -1
    if hole is Hole.INSIDE:
        return _closing(line, at)
    if not rest:
        return len(line)
    assert isinstance(rest[0], str)
    if len(rest) == 1:
        end = len(line) - len(rest[0])
        return end if _stands(rest[0], line, end) else _find(rest[0], line, at + 1)
    return _find(rest[0], line, at + 1)


def _closing(line: str, at: int) -> int:
    depth = 0
    for bracket in _BRACKET.finditer(line, at):
        depth += 1 if bracket[0] in "([{" else -1
        if depth < 0:
            return bracket.start()
    return -1


def _find(text: str, line: str, start: int) -> int:
    at = line.find(text, start)
    while at >= 0 and not _stands(text, line, at):
        at = line.find(text, at + 1)
    return at


def _stands(text: str, line: str, at: int) -> bool:
    """Return whether *text* is there, and does not begin or end within a word."""
    if at < 0 or not line.startswith(text, at):
        return False
    end = at + len(text)
    if at and is_word(line[at - 1]) and is_word(text[0]):
        return False
    return end == len(line) or not (is_word(line[end]) and is_word(text[-1]))

"""
A rule: a template and what comes in its place, applied to every place of a line at once. Pure.

Tokens: a changed line into the tokens that changed, with the tokens around them.

White space between tokens is a token, too, so that a text can be put together again; the
indentation is not looked at.

Template: literal text and holes: a template is found in a line, and another is filled with what the
holes held.

Matching never goes back: behind a hole the next literal counts where it stands first. So it takes
time linear in the line for each place where the first literal stands, whatever the template is.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from fim_lsp.next_edit.edits import Example, Lines
from fim_lsp.suggest.lines import is_word_sign

TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|\s+|[^\w\s]")

TOKENS = 200
"""Of a line that is looked at: a longer one is data."""

_WEAK = 2  # tokens between two changes that do not keep them apart


class TokenChange(NamedTuple):
    """In a line, the tokens *old* at [start, end) became *new*."""

    start: int
    end: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@lru_cache(maxsize=4096)
def tokens(line: str) -> tuple[str, ...]:
    """Return the tokens of a line without its indentation and its trailing white space."""
    return tuple(TOKEN.findall(line.strip()))


def is_word(token: str) -> bool:
    """Return whether it is a name, a keyword or a number."""
    return is_word_sign(token[:1])


@lru_cache(maxsize=1024)
def token_changes(before: str, after: str) -> tuple[TokenChange, ...]:
    """
    Return the changes from one line to the other, from the left; empty where only white space did.

    Changes with nothing but white space or one sign between them are one change.
    """
    old = tokens(before)
    new = tokens(after)
    if max(len(old), len(new)) > TOKENS:
        return ()
    changes: list[TokenChange] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        is_joined = bool(changes) and _is_weak(old[changes[-1].end : start])
        last = changes.pop() if is_joined else TokenChange(start, start, (), ())
        n_before = start - last.end + len(last.new)
        tokens_after = new[new_start - n_before : new_end]
        changes.append(TokenChange(last.start, end, old[last.start : end], tokens_after))
    return tuple(changes)


def _is_weak(between: tuple[str, ...]) -> bool:
    return len(between) <= _WEAK and not any(is_word(token) for token in between)


_WORD = re.compile(r"\w+")
_BRACKET = re.compile(r"[()\[\]{}]")


class Hole(enum.Enum):
    """The text that a hole may hold; never nothing."""

    WORD = "word"  # one name or number
    ANY = "any"  # up to where the next literal stands first
    INSIDE = "inside"  # up to the bracket that closes


Part = str | Hole
Filling = str | int  # literal text, or the number of a hole


class TemplateMatch(NamedTuple):
    """A template at [start, end) of a line, and what its holes held."""

    start: int
    end: int
    held: tuple[str, ...]


def find(parts: Sequence[Part], line: str, *, whole: bool = False) -> Iterator[TemplateMatch]:
    """
    Yield the places of *parts* in a line, from the left, without overlaps; or only if they are the
    *whole* line.
    """
    if whole:
        match = _at(parts, line, 0)
        if match is not None and match.end == len(line):
            yield match
        return
    first = parts[0]
    assert isinstance(first, str)
    at = _find(first, line, 0)
    while at >= 0:
        match = _at(parts, line, at) if len(parts) > 1 else TemplateMatch(at, at + len(first), ())
        if match is not None:
            yield match
        at = _find(first, line, match.end if match else at + 1)


def fill(filling: Sequence[Filling], held: Sequence[str]) -> str:
    """Return the text of a filled template."""
    return "".join(part if isinstance(part, str) else held[part] for part in filling)


def _at(parts: Sequence[Part], line: str, start: int) -> TemplateMatch | None:
    at = start
    held = list[str]()
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
    return TemplateMatch(start, at, tuple(held))


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


class TokenKind(enum.Enum):
    """The kind of text that a rule replaces."""

    RENAME = "rename"  # a name by a name
    REPLACE = "replace"  # other tokens by tokens
    INSERT = "insert"  # nothing by tokens, between two neighbours
    DELETE = "delete"
    ARGUMENT = "argument"  # nothing by an argument, at the end of a call
    PAIR = "pair"  # a whole line, by what two examples have in common
    BLOCK = "block"  # lines by other lines
    REMOVED = "removed"  # lines by none
    DECLARED = "declared"  # no lines by the declaration of a function that was written
    INSERTED = "inserted"  # no lines by some, below a line that stands elsewhere, too


@dataclass(frozen=True, slots=True)
class Rule:
    """*parts* become *filling*; *needle* is in every line that the rule changes."""

    kind: TokenKind
    parts: tuple[Part, ...]
    filling: tuple[Filling, ...]
    needle: str
    old: str
    new: str

    def at(self, lines: Lines, line: int) -> tuple[int, Lines, Lines] | None:
        """
        Return the change at *line*, which has the needle: the line that changes, it, and the new
        one.
        """
        old = lines[line]
        if self.kind in (TokenKind.INSERT, TokenKind.ARGUMENT) and self.new.strip() in old:
            return None  # it is done already
        new = self.apply(old)
        return (line, (old,), (new,)) if new != old else None

    def is_contradicted_by(self, example: Example) -> bool:
        """Return whether the rule applies to the old text but gives another result."""
        return example.is_in_line and self.apply(example.before[0]) != example.before[0]

    def apply(self, line: str) -> str:
        """Return the line with every place changed; the same line where there is none."""
        body = line.strip()
        made = ""
        end = 0
        for match in self.find_places(body):
            made += body[end : match.start] + fill(self.filling, match.held)
            end = match.end
        if not end:
            return line
        start = len(line) - len(line.lstrip())
        return line[:start] + made + body[end:] + line[start + len(body) :]

    def find_places(self, line: str) -> list[TemplateMatch]:
        """Return the places where it applies, in a line without indentation."""
        if self.needle not in line:
            return []
        return [*find(self.parts, line, whole=self.kind is TokenKind.PAIR)]

    @property
    def key(self) -> object:
        """The same for rules that do the same."""
        return self.kind, self.parts, self.filling


def join_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Join neighbouring literals."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)

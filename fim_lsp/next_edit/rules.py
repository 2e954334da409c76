"""
One changed line into the rules that could have made the change. Pure.

Each change gives several, from general to special: `evidence` finds out which of them is meant.

Pairs: two changed lines into the rule that makes both changes, if there is one.

The text that the lines before have in common is literal, a difference is a hole; each place where
the lines after differ must be what one of the holes held, in both.

Blocks: whole lines that were replaced, removed or inserted, into the places where the same can be
done.

A block counts as the same wherever it is indented; what replaces it is indented likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain

from fim_lsp.next_edit.edits import Example, Lines
from fim_lsp.next_edit.rule import (
    TOKENS,
    Filling,
    Hole,
    Part,
    Rule,
    TokenChange,
    TokenKind,
    is_word,
    join_parts,
    token_changes,
    tokens,
)
from fim_lsp.suggest.lines import WORD, indent, margin

MAX_CHANGES = 8
"""Changes of one line; a line with more was rewritten."""

NEEDLE_CHARS = 3
"""A rule is searched for by a text of its own; shorter ones are everywhere."""


@lru_cache(maxsize=512)
def rules(before: str, after: str) -> tuple[Rule, ...]:
    """Return the rules that make *after* of *before*, or one of its changes."""
    changes = token_changes(before, after)
    if not changes or len(changes) > MAX_CHANGES:
        return ()
    old = tokens(before)
    by_key: dict[object, Rule] = {}
    for rule in chain.from_iterable(_of_change(old, change) for change in changes):
        if rule is not None and len(rule.needle) >= NEEDLE_CHARS:
            by_key.setdefault(rule.key, rule)
    return tuple(by_key.values())


def _of_change(old: Sequence[str], change: TokenChange) -> Iterator[Rule | None]:
    left = old[: change.start]
    right = old[change.end :]
    text = "".join(change.old)
    new = "".join(change.new)
    kind = TokenKind.REPLACE if change.new else TokenKind.DELETE
    if any(map(is_word, change.old)):
        is_renaming = len(change.old) == len(change.new) == 1 and is_word(new)
        yield _literal(TokenKind.RENAME if is_renaming else kind, "", text, "", new)
        return
    if not change.old:
        kind = TokenKind.INSERT
        yield _argument(left, right, new)
    head = _to_word(left[::-1])[::-1]
    tail = _to_word(right)
    for some_head, some_tail in ((head, ()), ((), tail), (head, tail)):
        if some_head or some_tail:
            yield _literal(kind, "".join(some_head), text, "".join(some_tail), new)


def _to_word(nearest: Sequence[str]) -> Sequence[str]:
    """Return the tokens beside a change up to the nearest word, if that is near."""
    for n, token in enumerate(nearest[:4]):
        if is_word(token):
            return nearest[: n + 1]
    return ()


def _literal(kind: TokenKind, head: str, old: str, tail: str, new: str) -> Rule:
    text = head + old + tail
    return Rule(kind, (text,), (head + new + tail,), text.strip(), old, new)


def _argument(left: Sequence[str], right: Sequence[str], new: str) -> Rule | None:
    """Return an argument at the end of a call that has others."""
    if not right or right[0] != ")" or not new.startswith(","):
        return None
    depth = 0
    for idx in reversed(range(len(left))):
        depth += (left[idx] in ")]}") - (left[idx] in "([{")
        if depth < 0:
            if not idx or not is_word(left[idx - 1]):
                return None
            opening = left[idx - 1] + left[idx]
            parts = (opening, Hole.INSIDE, ")")
            return Rule(TokenKind.ARGUMENT, parts, (opening, 0, new + ")"), opening, "", new)
    return None


MAX_HOLES = 4

Common = list[str | tuple[str, str]]


@lru_cache(maxsize=2048)
def pair_rule(before: str, after: str, other_before: str, other_after: str) -> Rule | None:
    """Return the rule of two examples; None where they have too little in common."""
    old = _common(tokens(before), tokens(other_before))
    new = _common(tokens(after), tokens(other_after))
    holes = [part for part in old if not isinstance(part, str)]
    if not 1 <= len(holes) <= MAX_HOLES or not all(all(hole) for hole in holes):
        return None
    parts = join_parts(part if isinstance(part, str) else _hole(part) for part in old)
    filling: list[Filling] = []
    for part in new:
        if isinstance(part, str):
            filling.append(part)
        elif part in holes:
            filling.append(holes.index(part))
        else:
            return None
    literals = [part.strip() for part in parts if isinstance(part, str)]
    needle = max(literals, key=len, default="")  # what to search for
    if len(needle) < NEEDLE_CHARS:
        return None
    rule = Rule(TokenKind.PAIR, parts, tuple(filling), needle, "", "")
    both = ((before, after), (other_before, other_after))
    return rule if all(rule.apply(b).strip() == a.strip() for b, a in both) else None


def _hole(held: tuple[str, str]) -> Part:
    return Hole.WORD if all(map(WORD.fullmatch, held)) else Hole.ANY


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> Common:
    if max(len(one), len(other)) > TOKENS:
        return []
    parts: Common = []
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    for tag, i, end, j, other_end in matcher.get_opcodes():
        here = "".join(one[i:end])
        there = "".join(other[j:other_end])
        if tag == "equal" and not (here.isspace() and parts):
            parts.append(here)
        elif parts and not isinstance(parts[-1], str):
            last = parts.pop()
            parts.append((last[0] + here, last[1] + there))
        else:
            parts.append((here, there))
    return parts


BLOCK_LINES = 12
"""Longer ones are moved or written once."""

BLOCK_CHARS = 8
"""Without white space. A shorter block (`}`, `else:`) is everywhere."""


@dataclass(frozen=True, slots=True)
class Block:
    """
    Below a line *above* or, if that is "", wherever they stand, the lines *before* become *after*.
    """

    kind: TokenKind
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

    def at(self, lines: Lines, line: int) -> tuple[int, Lines, Lines] | None:
        """
        Return the change at *line*, which has the needle: the first line that changes, the lines,
        the new ones.
        """
        if not self.before:
            below = lines[line + 1 : line + 1 + len(self.after)]
            if lines[line].strip() != self.above or _flush(below) == _flush(self.after):
                return None
            return line + 1, (), _indent(self.after, indent(lines[line]))
        start = line - self.before.index(self.needle)
        old = lines[max(0, start) : start + len(self.before)]
        if start < 0 or _flush(old) != self.before:
            return None
        return start, old, _indent(self.after, margin(old))

    def is_contradicted_by(self, example: Example) -> bool:
        """Return whether the rule applies to the old text but gives another result."""
        return bool(self.before) and _flush(example.before) == self.before


def block(example: Example) -> Block | None:
    """Return the block of an example; None where it is too short or too long to be one."""
    if max(len(example.before), len(example.after)) > BLOCK_LINES or example.is_in_line:
        return None
    before = _flush(example.before)
    above = "" if example.before else example.above.strip()
    needle = max(before, key=lambda line: len(line.strip())) if before else above
    n_chars = sum(len("".join(line.split())) for line in before or (above,))
    if n_chars < BLOCK_CHARS or not needle.strip():
        return None
    kind = TokenKind.BLOCK if before else TokenKind.INSERTED
    kind = kind if example.after else TokenKind.REMOVED
    shared = indent(example.above) if not before else margin(example.before)
    after = tuple(line.removeprefix(shared) for line in example.after)
    return Block(kind, above, before, after, needle)


def rules_of(example: Example) -> Sequence[Rule | Block]:
    """Return the rules that could have made the change of an example."""
    if example.is_in_line:
        return rules(example.before[0], example.after[0])
    made = block(example)
    return (made,) if made else ()


def holds(rule: Rule | Block, example: Example) -> bool:
    """Return whether *example* is what the rule does, or has it beside other changes."""
    if any(rule.key == other.key for other in rules_of(example)):
        return True
    return (
        isinstance(rule, Rule)
        and example.is_in_line
        and rule.apply(example.before[0]) == example.after[0]
    )


def _flush(lines: Lines) -> Lines:
    shared = margin(lines)
    return tuple(line.removeprefix(shared).rstrip() for line in lines)


def _indent(lines: Lines, shared: str) -> Lines:
    return tuple(shared + line if line.strip() else line for line in lines)

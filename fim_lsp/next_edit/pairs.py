"""
Two changed lines into the rule that makes both changes, if there is one. Pure.

What the lines before have in common is literal, what differs is a hole; each place where the lines
after differ must be what one of the holes held, in both.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

from fim_lsp.next_edit.rule import Kind, Rule, join_parts, needle_of
from fim_lsp.next_edit.rules import NEEDLE_CHARS
from fim_lsp.next_edit.template import Filling, Hole, Part
from fim_lsp.next_edit.tokens import TOKENS, is_word, tokens

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
    needle = needle_of(parts)
    if len(needle) < NEEDLE_CHARS:
        return None
    rule = Rule(Kind.PAIR, parts, tuple(filling), needle, "", "")
    both = ((before, after), (other_before, other_after))
    return rule if all(rule.apply(b).strip() == a.strip() for b, a in both) else None


def _hole(held: tuple[str, str]) -> Part:
    return (
        Hole.WORD
        if all(
            is_word(text) and text.isalnum() | ("_" in text and text.replace("_", "a").isalnum())
            for text in held
        )
        else Hole.ANY
    )


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> Common:
    if max(len(one), len(other)) > TOKENS:
        return []
    found: Common = []
    for tag, i, end, j, other_end in SequenceMatcher(
        None, one, other, autojunk=False
    ).get_opcodes():
        here, there = "".join(one[i:end]), "".join(other[j:other_end])
        if tag == "equal" and not (here.isspace() and found):
            found.append(here)
        elif found and not isinstance(found[-1], str):
            last = found.pop()
            found.append((last[0] + here, last[1] + there))
        elif tag == "equal":
            found.append(here)
        else:
            found.append((here, there))
    return found

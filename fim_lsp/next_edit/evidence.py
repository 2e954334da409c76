"""
The evidence for and against a change at a place: a few readable numbers. Pure.

Their names are the rows of weights.toml, which says what each means and what it weighs. Counts are
logarithms of one more; shares are from 0 to 1; all others are 0 or 1.

Confidence: evidence into how sure a proposal is: a logistic score, and the one table of its
weights.

A logistic regression fitted them to 600 commits of three histories (click, ripgrep, express), each
replayed from the top and from its middle. docs/next-edit.md has the figures on others.
"""

from __future__ import annotations

import pkgutil
import tomllib
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from math import exp, log1p
from typing import NamedTuple

from fim_lsp.next_edit.edits import EditedText, Example, Lines
from fim_lsp.next_edit.rule import Rule, TokenKind, token_changes, tokens
from fim_lsp.next_edit.rules import Block, holds
from fim_lsp.suggest.lines import is_comment

SURE = 0.3
"""A proposal is shown from here on; docs/next-edit.md has how many of those shown are right."""

SURE_UNOPENED = 0.5
"""The same for a place in a file that is not open, which cannot be seen at a glance, unless a name
becomes another there."""

ONCE = 1.5
"""Log-odds taken off where there is one example only: most edits are made once, and a commit
without a recurring change is to stay quiet."""

WEIGHTS: dict[str, list[float]] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "weights.toml") or b"").decode()
)


def confidence(evidence: Mapping[str, float], n_examples: int) -> float:
    """
    Return how sure a place with this *evidence* is, from 0 to 1; see `evidence` for what it holds.
    """
    column = int(n_examples > 1)
    odds = sum(WEIGHTS[name][column] * value for name, value in evidence.items())
    return 1 / (1 + exp(-(odds if column else odds - ONCE)))


NEAR = 3  # tokens on each side of a place that are compared
COMPARED = 4  # examples that a place is compared with, the newest
# of the old and the new text; to compare takes time with the product
_AKIN_CHARS = 60
_LONG = 20  # characters: a longer text is no surer to be the one that is meant
_CONTRADICTED = 2.0  # a third time tells nothing new


class RuleRecord(NamedTuple):
    """The evidence of a rule before a place is looked at."""

    rule: Rule | Block
    examples: tuple[Example, ...]  # newest first, at least one
    age: int  # changes since the newest of them
    contradicted: int  # changes it holds for, but which became something else


class RulePlace(NamedTuple):
    """The lines *before* at *line* of a text, which a rule makes *after* of."""

    text: EditedText
    line: int
    before: Lines
    after: Lines


def make_record(rule: Rule | Block, history: Sequence[Example]) -> RuleRecord:
    """Return what is known of *rule*; *history* has the newest change first."""
    made = [n for n, example in enumerate(history) if holds(rule, example)]
    missed = [
        n for n, example in enumerate(history) if n not in made and rule.is_contradicted_by(example)
    ]
    return RuleRecord(rule, tuple(history[n] for n in made), made[0] if made else 0, len(missed))


def of_rule(record: RuleRecord, n_between: int, n_here: int, n_all: int) -> dict[str, float]:
    """
    Return the evidence that is the same at all places, of which there are *n_all* in all texts,
    *n_here* in the file of the last edit, and *n_between* where the user went past them.
    """
    rule = record.rule
    n = len(record.examples)
    old = rule.old[:_AKIN_CHARS]
    new = rule.new[:_AKIN_CHARS]
    return {
        "bias": 1.0,
        "rename": float(rule.kind is TokenKind.RENAME),
        "replace": float(rule.kind is TokenKind.REPLACE),
        "delete": float(rule.kind is TokenKind.DELETE),
        "length": min(_LONG, len(rule.old)) / _LONG,
        "akin": SequenceMatcher(None, old, new, autojunk=False).ratio(),
        "alone": sum(example.alone for example in record.examples) / n,
        "changes": log1p(_n_changes(record.examples[0])),
        "contradicted": min(_CONTRADICTED, record.contradicted),
        "age": log1p(record.age),
        "done": n / (n + n_here),
        "between": log1p(n_between),
        "total": log1p(n_all),
    }


def of_place(record: RuleRecord, place: RulePlace, last: Example) -> dict[str, float]:
    """Return the evidence of one place; *last* is the newest change."""
    compared = record.examples[:COMPARED]
    old = place.before[0] if place.before else record.rule.needle
    left, right = max((_around(record.rule, example, place) for example in compared), key=sum)
    firsts = [example.before[0] for example in compared if example.before]
    is_here = place.text.uri == last.uri
    return {
        "left": left / NEAR,
        "right": right / NEAR,
        "same_text": float(any(line.strip() == old.strip() for line in firsts)),
        "same_line": float(old in firsts),
        "comment": float(is_comment(old, place.text.language)),
        "same_file": float(is_here),
        "is_below": float(is_here and place.line >= last.line),
    }


def of_result(after: Lines, others: Sequence[Lines]) -> dict[str, float]:
    """
    Return the evidence in what *others*, all results at one place, make of it; *after* is one of
    them.
    """
    return {"agree": log1p(others.count(after) - 1), "rivals": log1p(len(set(others)) - 1)}


def _n_changes(example: Example) -> int:
    if not example.is_in_line:
        return 1
    return len(token_changes(example.before[0], example.after[0]))


def _around(rule: Rule | Block, example: Example, place: RulePlace) -> tuple[int, int]:
    """
    Return how much before and after the place is as it was in the example, `NEAR` at most each.
    """
    if isinstance(rule, Block):
        lines = place.text.lines
        end = place.line + len(place.before)
        above = lines[place.line - 1].strip() if place.line else ""
        below = lines[end].strip() if end < len(lines) else ""
        return (
            NEAR if above == example.above.strip() else 0,
            NEAR if below == example.below.strip() else 0,
        )
    line = place.before[0].strip()
    other = example.before[0].strip()
    here = rule.find_places(line)
    there = rule.find_places(other)
    if not here or not there:
        return 0, 0
    before = _same(_solid(line[: here[0].start])[::-1], _solid(other[: there[0].start])[::-1])
    return before, _same(_solid(line[here[0].end :]), _solid(other[there[0].end :]))


def _solid(text: str) -> list[str]:
    return [token for token in tokens(text) if not token.isspace()]


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many tokens are the same from the beginning; all count where both end."""
    pairs = zip(one, other, strict=False)
    n = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return NEAR if n == len(one) == len(other) else min(n, NEAR)

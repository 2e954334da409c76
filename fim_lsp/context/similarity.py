"""
The similarity of two pieces of code: one symmetric number in [0, 1]. Pure.

The mean of two Dice coefficients over multisets, one of normalised lines and one of words. Lines
alone would call a renamed copy new; words alone would call two loops over other things the same.
Features are taken once per text (`features`), so one comparison is two intersections of sets
(about 5 µs); sizes that cannot reach a threshold are recognised without looking (`at_most`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

SAME = 0.9
"""The same piece, lightly edited: the newer one replaces the older. One changed line in twenty
costs about 0.05; llama.vim uses 0.9 for this, too, on a measure of its own."""

WORD = re.compile(r"[^\W\d]\w+")
"""A name of two characters or more: single letters are everywhere and tell nothing."""

_SPACE = re.compile(r"\s+")


Bag = AbstractSet[tuple[str, int]]
"""A multiset as a set of (item, how many times before): intersecting it runs in C."""


class Features(NamedTuple):
    """The features that two texts are compared by."""

    lines: Bag
    words: Bag


def features(text: str) -> Features:
    """Return non-blank lines without indent and extra spaces, and words, both counted."""
    lines = (_SPACE.sub(" ", line.strip()) for line in text.split("\n"))
    return Features(_bag(line for line in lines if line), _bag(WORD.findall(text)))


def similarity(a: Features, b: Features) -> float:
    """
    Return 1 for texts that differ in spacing only, 0 for texts with no line and no word in common.
    """
    return (_dice(a.lines, b.lines) + _dice(a.words, b.words)) / 2


def at_most(a: Features, b: Features) -> float:
    """Return a bound on `similarity` from the sizes alone: 40 lines are never like 10."""
    return (_ratio(a.lines, b.lines) + _ratio(a.words, b.words)) / 2


def like(fresh: Features, others: Iterable[Features], threshold: float = SAME) -> int | None:
    """Return the index of the first of *others* at least *threshold* like *fresh*."""
    for idx, other in enumerate(others):
        if at_most(fresh, other) >= threshold and similarity(fresh, other) >= threshold:
            return idx
    return None


def _bag(items: Iterable[str]) -> Bag:
    return frozenset((item, n) for item, count in Counter(items).items() for n in range(count))


def _dice(a: Bag, b: Bag) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def _ratio(a: Bag, b: Bag) -> float:
    return 2 * min(len(a), len(b)) / (len(a) + len(b)) if a or b else 1.0

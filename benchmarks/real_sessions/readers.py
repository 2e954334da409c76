"""
Who types and reads: how long a key takes, and how long a text must stand until it is read. Pure.

`QUICK` is a typist with a steady hand who reads everything in 0.4 s, `PEOPLE` what was recorded of others
(benchmarks/recorded/data): keys in bursts as in a session of 92 minutes, and acceptances as of 21 programmers, of whom
half had looked for more than 1.6 s. This reader never stops typing in order to read, so the figures of the two are bounds.
`GLANCE` types as people, and sees at a glance what a text is worth, whatever its length: a right one holds up the next
key by 10 ms, a wrong one by 50 (arXiv 2403.15502).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

KEY_S = 0.12
LINE_S = 1.0
THINK_S = 0.6
THINKS = 0.08  # of the keys
QUICK_S = 0.4
RIGHT_S = 0.01
WRONG_S = 0.05

LOOK_S, CHAR_S = 0.8, 0.02  # until a reader looks up; for each character of the first line
# of the logarithm: a tenth is below a quarter of the usual time, and a tenth above four times
DEVIATION = math.log(4) / 1.2816

# Shares of the changes of one character, and the seconds until the next one, at most.
KEYS_S = ((0, 0.03), (0.1, 0.04), (0.25, 0.07), (0.5, 0.09), (0.75, 0.16), (0.9, 0.29), (0.95, 0.5),
          (0.99, 3.6), (1, 3.6))  # fmt: skip
BREAKS_S = ((0, 0.05), (0.5, 0.13), (0.75, 0.23), (0.9, 0.77), (0.95, 1.4), (1, 1.4))


class Reader(NamedTuple):
    """
    *key_s* is the time before a character of a text; *read_s* how long a text must stand, by what a seeded
    generator says, and by whether it is right. *holds*: the next key comes so much later.
    """

    name: str
    key_s: Callable[[random.Random, str], float]
    read_s: Callable[[random.Random, str, bool], float]
    holds: bool = False


def usual_read_s(text: str) -> float:
    """Return how long half of the people need at most until they have read the first line."""
    return LOOK_S + CHAR_S * len(text.strip().partition("\n")[0])


def share_of_readers(text: str, seconds: float) -> float:
    """Return which share of the people has read a text that stands for so long."""
    if seconds <= 0:
        return 0.0
    return (1 + math.erf(math.log(seconds / usual_read_s(text)) / DEVIATION / math.sqrt(2))) / 2


def _quick_key_s(rng: random.Random, char: str) -> float:
    usual = THINK_S if rng.random() < THINKS else KEY_S
    return LINE_S if char == "\n" else usual


def _key_s(rng: random.Random, char: str) -> float:
    return _draw(BREAKS_S if char == "\n" else KEYS_S, rng.random())


def _read_s(rng: random.Random, text: str, _is_right: bool) -> float:
    return usual_read_s(text) * rng.lognormvariate(0, DEVIATION)


def glance_s(is_right: bool) -> float:
    """Return how long a glance at a text takes."""
    return RIGHT_S if is_right else WRONG_S


def _draw(shares: Sequence[tuple[float, float]], share: float) -> float:
    """Return the value below which a share lies, between two that are known."""
    n = next(n for n in range(1, len(shares)) if share <= shares[n][0])
    (low, first) = shares[n - 1]
    (high, last) = shares[n]
    return first + (last - first) * (share - low) / (high - low)


QUICK = Reader("quick", _quick_key_s, lambda *_: QUICK_S)
PEOPLE = Reader("people", _key_s, _read_s)
GLANCE = Reader("glance", _key_s, lambda _rng, _text, is_right: glance_s(is_right), holds=True)
READERS = {reader.name: reader for reader in (QUICK, PEOPLE, GLANCE)}

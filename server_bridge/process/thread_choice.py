"""
Cores, and what a model takes with so many threads, into the numbers of threads for it. Pure.

Writing a token is bound by the memory, reading a prompt by computing, and llama.cpp has a number of threads for
each. Half of the logical cores is right where each has two threads; where each has one, it gives away half of the
speed of reading, and where some are efficiency cores, the slowest thread holds up the others.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

FEWEST_ROUNDS = 2  # one may have met other work
SAME = 1.05  # so much slower is as fast: other work on the machine makes as much of a difference


class Threads(NamedTuple):
    """The numbers of threads that *write* tokens and *read* prompts."""

    write: int
    read: int


class Cost(NamedTuple):
    """Milliseconds to write a token, and to read one of a prompt."""

    write_ms: float
    read_ms: float


Round = Mapping[int, Cost]
"""What was measured one after the other, by the number of threads."""


def usual(cores: int) -> int:
    """
    Return half of the *cores*; two at least, if there are two.

    Two threads on two cores are 1.2 to 1.9 times as fast as one, on idle cores and on busy ones (`supervisor.SPINS`).
    """
    return max(cores // 2, min(2, cores))


def candidates(cores: int) -> list[int]:
    """
    Return the numbers of threads that may be best on so many *cores*, the usual one first.

    All cores, three quarters (where a quarter are efficiency cores), half, and on large machines a quarter: where two
    channels of memory are busy with few threads.
    """
    few = [cores // 4] if cores >= 16 else []  # noqa: PLR2004 (else it is less than four)
    return [*dict.fromkeys([usual(cores), cores, cores - cores // 4, *few])]


def choose(cores: int, rounds: Sequence[Round]) -> Threads | None:
    """Return the fastest numbers of threads, or the usual ones where those are as fast; None where too little was measured."""
    if len(rounds) < FEWEST_ROUNDS:
        return None
    first = usual(cores)
    write = [{n: cost.write_ms for n, cost in each.items()} for each in rounds]
    read = [{n: cost.read_ms for n, cost in each.items()} for each in rounds]
    return Threads(_fastest(first, write), _fastest(first, read))


def _fastest(first: int, rounds: Sequence[Mapping[int, float]]) -> int:
    """
    Return the number of threads that took least, beside *first* in the same round; *first* where that is as fast, else
    the smallest that is: it leaves cores to other programs.
    """
    beside = {n: statistics.median(one[n] / one[first] for one in rounds) for n in rounds[0]}
    fast = [n for n, ratio in beside.items() if ratio <= min(beside.values()) * SAME]
    return first if first in fast else min(fast)

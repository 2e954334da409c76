"""Answers with one thing wrong in them: every value in every place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.fuzz import FUZZ

MISSING = object()
ODD: tuple[Any, ...] = (
    MISSING, None, True, -1, 0, 7, 2**31, 2**80, 0.5, -1e300, 1e300, "", "x", "\ufffd", [], [[]],
    {},
    {"a": {}}, [None], [-1], ["x"],
)  # fmt: skip

SHARE = len(ODD)

Place = tuple[Any, ...]


def some(n: int) -> tuple[Any, ...]:
    """Return values for the *n*-th place: one in `SHARE`, another in the next place; all with FIM_FUZZ, see scripts/test-security."""
    return ODD if FUZZ > 1 else ODD[n % SHARE :: SHARE]


def places(value: Any, depth: int = 6) -> Iterator[Place]:
    """Yield where something stands in *value*: keys and indices from the outside in, the first two of a list."""
    inner: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(value, dict):
        inner = iter(value.items())
    elif isinstance(value, list):
        inner = iter(list(enumerate(value))[:2])
    yield ()
    for key, each in inner if depth else ():
        for place in places(each, depth - 1):
            yield (key, *place)


def with_odd(value: Any, place: Place, odd: Any) -> Any:
    """Return a copy of *value* with *odd* at *place*."""
    if not place:
        return {} if odd is MISSING else odd
    found = copy.deepcopy(value)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    if odd is MISSING:
        del inner[place[-1]]
    else:
        inner[place[-1]] = odd
    return found

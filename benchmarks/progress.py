"""How far a long benchmark is: lines on stderr, so that stdout stays what it measured."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

EVERY_S = 5.0  # between two lines at least
N_LATEST = 20  # steps whose pace is that of the rest: others may be shorter
MINUTE_S = 60
HOUR_S = 3600

Step = TypeVar("Step")


def tell(
    steps: Iterable[Step],
    n: int,
    name: Callable[[Step], object] = lambda _: "",
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Step]:
    """Yield *steps*, *n* at most; before some of them, say which it is and how long the rest takes at the pace so far."""
    began = deque([clock()], N_LATEST + 1)
    told = float("-inf")
    for number, step in enumerate(steps, 1):
        now = began[-1]
        if now - told >= EVERY_S:
            told = now
            words = [f"{number} of {n}", str(name(step))]
            if number > 1:
                pace = (now - began[0]) / (len(began) - 1)
                words.append(f"({duration(pace * (n - number + 1))} left)")
            print(*filter(None, words), file=sys.stderr, flush=True)
        yield step
        began.append(clock())


def duration(seconds: float) -> str:
    """Return *seconds* in words, as exact as a guess is."""
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.1f} h"

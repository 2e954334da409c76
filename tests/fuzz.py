"""
How many random inputs a property is tested with.

`scripts/test` takes few of them, to be run after each change; `scripts/test-security` sets FIM_FUZZ: so many times as many.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any

EXAMPLES = 20  # of each property
FUZZ = int(os.environ.get("FIM_FUZZ", "1"))


def in_turn(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return rows in which each value of each axis is tried; with `FUZZ` each with each."""
    values = [[*axis] for axis in axes]
    if FUZZ > 1:
        return [*itertools.product(*values)]
    n_rows = max(map(len, values))
    return [tuple(axis[row % len(axis)] for axis in values) for row in range(n_rows)]

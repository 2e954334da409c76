"""
Synthetic rows that teach copying: without them a small model on a short run learns none.

What the codes mean stands in `rows`.
"""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from training.tokens import END, MIDDLE, PREFIX, SUFFIX

Ids = NDArray[np.uint16]
Row = tuple[Ids, NDArray[np.uint8]]


def noise(rng: random.Random, n: int) -> list[int]:
    """Any text tokens."""
    return [rng.randrange(END) for _ in range(n)]


def real(rng: random.Random, rows: Ids, n: int) -> list[int]:
    """Return a run of real code without specials."""
    for _ in range(8):
        row = rng.randrange(len(rows))
        at = rng.randrange(rows.shape[1] - n)
        run = rows[row, at : at + n]
        if run.max() < END:
            return list(run)
    return noise(rng, n)


def copies(width: int, rng: random.Random, rows: Ids) -> Row:
    """Runs shown two to four times with junk between them: induction heads form in a minute."""
    ids: list[int] = []
    codes: list[int] = []
    while len(ids) < width:
        n = int(2 ** rng.uniform(3, 7.5))
        if rng.random() < 0.6:
            run = noise(rng, n)
        else:
            row = rng.randrange(len(rows))
            at = rng.randrange(width - n)
            run = list(rows[row, at : at + n])
        for k in range(rng.randint(2, 4)):
            ids += run
            codes += [2] * n if k == 0 else [2] * 2 + [3] * (n - 2)
            if rng.random() < 0.7:
                junk = noise(rng, rng.randint(1, 24))
                ids += junk
                codes += [2] * len(junk)
    return np.array(ids[:width], np.uint16), np.array(codes[:width], np.uint8)


def middles(width: int, rng: random.Random, rows: Ids) -> Row:
    """
    Short fill-in-the-middle documents, half of them copies: the prefix shows a run, junk, then the
    beginning of the run again; the suffix starts with the run's end; the middle is what is missing.
    That needs a look at the end of the prefix *across* the suffix.
    """
    ids: list[int] = []
    codes: list[int] = []
    while len(ids) < width:
        is_copy = rng.random() < 0.5
        prefix, middle, suffix = copied(rng, rows) if is_copy else plain(rng, rows)
        ids += [PREFIX, *prefix, SUFFIX, *suffix, MIDDLE, *middle, END]
        codes += [2 if is_copy else 0] * (len(prefix) + len(suffix) + 3)
        codes += [4 if is_copy else 1] * (len(middle) + 1)
    return np.array(ids[:width], np.uint16), np.array(codes[:width], np.uint8)


def copied(rng: random.Random, rows: Ids) -> tuple[list[int], list[int], list[int]]:
    from_noise = rng.random() < 0.5
    n = int(2 ** rng.uniform(3, 6.3))

    def some(n: int) -> list[int]:
        return [] if n == 0 else noise(rng, n) if from_noise else real(rng, rows, n)

    run = some(n)
    begun = rng.randint(2, n - 3)
    end = min(n, begun + rng.randint(1, 12))
    before, between, after = (some(rng.randint(0, 24)) for _ in range(3))
    return before + run + between + run[:begun], run[begun:end], run[end:] + after


def plain(rng: random.Random, rows: Ids) -> tuple[list[int], list[int], list[int]]:
    run = real(rng, rows, int(2 ** rng.uniform(4.5, 8)))
    start = rng.randrange(2, len(run) - 4)
    end = min(len(run), start + rng.randint(1, 20))
    return run[:start], run[start:end], run[end:]

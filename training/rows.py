"""
Examples into rows of a fixed length, packed so that nothing is padded; and what each token is.

Codes beside the ids: 0 code, 1 the answer of an example and its end, 2 no loss (cannot be known), 3 the
repeated part of a synthetic copy, 4 the middle of one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from training.examples import Encode, stream
from training.neighbourhood import Neighbourhood
from training.synthetic import copies, middles

POOL = 48  # examples to choose from: a row's rest is a few dozen tokens, filled with a beginning
ANSWER = 1

Row = tuple[NDArray[np.uint16], NDArray[np.uint8]]  # ids and codes, one more than it has tokens


def packed(examples: Iterator[tuple[list[int], int]], row_tokens: int) -> Iterator[Row]:
    """Rows of whole examples, the longest that fits first; their rest is the beginning of another."""
    width = row_tokens + 1
    pool = sorted((next(examples) for _ in range(POOL)), key=_size)
    while True:
        ids = np.zeros(width, np.uint16)
        codes = np.zeros(width, np.uint8)
        at = 0
        while at < width:
            fitting = sum(len(doc) <= width - at for doc, _ in pool)
            doc, n_answer = pool.pop(max(0, fitting - 1))
            pool.append(next(examples))
            pool.sort(key=_size)
            end = min(width, at + len(doc))
            ids[at:end] = doc[: end - at]
            codes[max(at, at + len(doc) - n_answer) : end] = ANSWER
            at = end
        yield ids, codes


def rows(
    rng: random.Random, places: Sequence[Neighbourhood], encode: Encode, row_tokens: int,
    synthetic: float,
) -> Iterator[Row]:  # fmt: skip
    """Rows for ever; a share *synthetic* of them teaches copying."""
    recent: list[NDArray[np.uint16]] = []
    for ids, codes in packed(stream(rng, places, encode, row_tokens), row_tokens):
        recent = [*recent[-7:], ids]
        if rng.random() < synthetic:
            make = copies if rng.random() < 0.3 else middles
            yield make(row_tokens + 1, rng, np.stack(recent))
        yield ids, codes


def _size(example: tuple[list[int], int]) -> int:
    return len(example[0])

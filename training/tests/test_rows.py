"""Rows are full, and have a code for each token."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest

from tests.real_code import SMALL, read_code
from training import rows, synthetic
from training.corpus import Entry
from training.neighbourhood import neighbourhoods
from training.tokens import MIDDLE

TEXT = read_code(SMALL)
WIDTH = 257


def documents(seed: int) -> Iterator[tuple[list[int], int]]:
    """Numbered documents of 5 to 200 tokens, their last three the answer."""
    rng = random.Random(seed)
    for n in itertools.count(1):
        yield [n] * rng.randint(5, 200), 3


def test_a_row_is_full_of_whole_documents_but_its_last() -> None:
    """Nothing is padded, and an answer that is cut off is cut off at its end."""
    seen: set[int] = set()
    for ids, codes in itertools.islice(rows.packed(documents(0), WIDTH - 1), 50):
        assert ids.shape == codes.shape == (WIDTH,)
        runs = [len(list(run)) for _, run in itertools.groupby(ids)]
        assert ids.all()
        assert sum(codes) >= 3 * (len(runs) - 1)
        assert runs[-1] <= 200
        assert seen.isdisjoint(ids[:-1].tolist()[:1])
        seen |= set(ids.tolist())


def test_the_same_seed_gives_the_same_rows() -> None:
    """With synthetic rows among them."""
    entry = Entry("thing", "python", "textwrap.py", TEXT, [0, 16, 20, 36, 40, 50])
    places = neighbourhoods([entry])

    def some() -> list[rows.Row]:
        made = rows.rows(random.Random(1), places, lambda text: list(text.encode()), 1024, 0.5)
        return list(itertools.islice(made, 12))

    first = some()
    np.testing.assert_equal(first, some())
    assert {int(code) for _, codes in first for code in codes} >= {0, 1, 2}


@pytest.mark.parametrize("make", [synthetic.copies, synthetic.middles])
def test_what_is_to_be_copied_can_be_known(make) -> None:
    """Every token with a copy's code stood in the row before, and specials stand where they belong."""
    real = np.arange(8 * WIDTH, dtype=np.uint16).reshape(8, WIDTH)
    for seed in range(20):
        ids, codes = make(WIDTH, random.Random(seed), real)
        assert len(ids) == len(codes) == WIDTH
        for at in np.flatnonzero(codes == 3):
            assert ids[at] in ids[:at]
        if MIDDLE in ids:
            assert codes.max() >= 1

"""Rows are full, and have a code for each token."""

from __future__ import annotations

import inspect
import itertools
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from training import rows, synthetic
from training.neighbourhood import neighbourhoods
from training.shards import Entry
from training.tokens import END, MIDDLE

TEXT = inspect.getsource(textwrap)
WIDTH = 257
ROOT = Path(__file__).parents[2]


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


def test_what_does_not_fit_a_row_at_all_is_begun() -> None:
    """A row is made even where every document is longer than it."""
    long = (([n] * 900, 3) for n in itertools.count(1))
    ids, codes = next(rows.packed(long, WIDTH - 1))
    assert len(set(ids.tolist())) == 1
    assert not codes.any()


def test_the_same_seed_gives_the_same_rows() -> None:
    """With synthetic rows among them."""
    entry = Entry("thing", "python", "textwrap.py", TEXT, [0, 16, 20, 36, 40, 50])
    places = neighbourhoods([entry])

    def some() -> list[rows.Row]:
        made = rows.rows(random.Random(1), places, lambda text: list(text.encode()), 1024, 0.5)
        return list(itertools.islice(made, 12))

    first, again = some(), some()
    assert all(
        np.array_equal(ids, same_ids) and np.array_equal(codes, same_codes)
        for (ids, codes), (same_ids, same_codes) in zip(first, again, strict=True)
    )
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
        assert all(ids[at] < END or ids[at] >= END for at in range(WIDTH))
        if MIDDLE in ids:
            assert codes.max() >= 1


def test_where_it_is_trained_little_is_installed() -> None:
    """Rows are made without syntax trees, a network or an editor: those were needed before."""
    absent = ("tree_sitter", "httpx", "pygls", "lsprotocol", "xllamacpp", "gguf")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({absent}))"
    code = f"{blocked}; import training.rows, training.parts, training.shapes, training.shards"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)

"""What a key costs the model server is no more, and no less, than what is committed."""

from __future__ import annotations

import json

import pytest

from benchmarks import tokens_per_key
from benchmarks.tokens_per_key import COMMITTED, figures

TOLERANCE = 0.05
COMMIT = "python -m benchmarks.tokens_per_key --write, if that is meant"


def test_a_key_costs_what_is_committed() -> None:
    """By kind of editing: while a request waits, at its 95th percentile, and in the background."""
    committed = json.loads(COMMITTED.read_text("utf-8"))
    for name, found in figures().items():
        assert found == pytest.approx(committed[name], rel=TOLERANCE), f"{name}: {COMMIT}"


def test_the_promise_of_the_first_page_is_in_the_figures() -> None:
    """While lines are typed, all but one key in twenty cost at most eight tokens."""
    committed = json.loads(COMMITTED.read_text("utf-8"))
    assert committed.keys() == {*tokens_per_key.TRACES}
    assert committed["lines"]["95th percentile"] <= 8

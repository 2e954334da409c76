"""Which suggestions are worth it, by this user's own record."""

from __future__ import annotations

import contextlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.suggest.worth import (
    EARLY,
    FARTHEST,
    MOST_RECORD,
    N_LANGUAGES,
    START,
    Prospect,
    Record,
    describe_record,
    expect,
    is_worth,
    learn,
    restore,
)

HERE = Prospect("python", 0.5, 12, 1, "    return ", 0.3)
places = st.builds(
    Prospect,
    st.text(max_size=4), st.floats(0, 1), st.integers(1, 5000), st.integers(1, 50),
    st.text(max_size=8),
    st.floats(0, 1e6),
)  # fmt: skip


def after(n: int, place: Prospect, *, taken: bool, record: Record | None = None) -> Record:
    """Return the record after *n* suggestions at a place."""
    record = record or Record()
    for _ in range(n):
        record = learn(record, place, taken=taken)
    return record


@given(places)
def test_without_a_record_everything_is_shown(place: Prospect) -> None:
    """It begins as it was before there was a record."""
    assert is_worth(Record(), place)


@given(st.lists(st.tuples(places, st.booleans()), max_size=60), places)
def test_a_record_has_bounds(history: list[tuple[Prospect, bool]], place: Prospect) -> None:
    """Whatever happened: weights near the beginning, few languages, a probability; it survives JSON."""
    record = Record()
    for each, taken in history:
        record = learn(record, each, taken=taken)
    assert all(abs(w - s) <= FARTHEST for w, s in zip(record.weights, START, strict=True))
    assert len(record.languages) <= N_LANGUAGES
    assert 0 < expect(record, place) < 1
    assert restore(msgspec.json.encode(record)) == record


def test_what_is_never_taken_is_hidden_and_comes_back() -> None:
    """A bar for this user: it moves both ways."""
    record = after(100, HERE, taken=False)
    assert not is_worth(record, HERE)
    assert is_worth(after(100, HERE, taken=True, record=record), HERE)


@pytest.mark.parametrize(("accepted", "n"), [(False, EARLY), (True, 1)])
def test_nothing_is_hidden_before_something_is_known(*, accepted: bool, n: int) -> None:
    """
    Until the first suggestion was accepted or some could be read, however many were not wanted
    lately.
    """
    long = HERE._replace(n_chars=2, probability=0.31)
    record = after(n - 1, long, taken=False)
    assert is_worth(record, long, strong=6.0)
    record = learn(record, long, taken=accepted, accepted=accepted)
    assert not is_worth(after(8 * accepted, long, taken=False, record=record), long, strong=6.0)


def test_languages_are_told_apart() -> None:
    """What is not taken in one is less missed in another."""
    record = Record()
    for _ in range(100):
        record = learn(record, HERE, taken=True)
        record = learn(record, HERE._replace(language="markdown"), taken=False)
    assert is_worth(record, HERE)
    assert expect(record, HERE) > expect(record, HERE._replace(language="markdown")) + 0.2
    assert (
        describe_record(record)
        == "from 200 suggestions; more are shown in python; fewer in markdown"
    )


def test_dismissals_raise_the_bar() -> None:
    """For a while, what is doubtful is not shown."""
    doubtful = HERE._replace(probability=0.36, n_chars=3)
    record = Record(accepted=True)
    assert is_worth(record, doubtful, 1.0)
    assert not is_worth(record, doubtful, 3.0)


@pytest.mark.parametrize(
    "said",
    [
        None, [], {"n": "x", "start": START, "weights": START, "languages": {}},
        {"n": 1, "start": [9.0], "weights": [9.0], "languages": {}},
        {"n": 1, "start": list(START), "weights": [float("nan"), *START[1:]], "languages": {}},
        {"n": 1, "start": list(START), "weights": [True, *START[1:]], "languages": {"x": "y"}},
    ],
)  # fmt: skip
def test_a_record_that_makes_no_sense_is_begun_again(said: object) -> None:
    """The file may be anything, and the weights of another version say nothing."""
    with contextlib.suppress(msgspec.DecodeError):
        assert restore(json.dumps(said).encode()) == Record()


def test_a_record_beyond_the_bounds_is_cut() -> None:
    """Nothing in the file makes a suggestion impossible."""
    far = {"n": 1e9, "start": list(START), "weights": [-1e9, *START[1:]], "languages": {"c": -1e9}}
    record = restore(json.dumps(far).encode())
    assert record.n == MOST_RECORD
    assert record.weights[0] == START[0] - FARTHEST
    assert record.languages["c"] == -FARTHEST

"""When a request is answered and when a stream goes on: the two tables, row by row."""

from __future__ import annotations

import pytest

from fim_lsp.session.generation import Heard, Stream, Times, goes_on, is_answered

TIMES = Times(early=1.0, until=2.0, lasts=True)
NOTHING = Heard(is_over=False, is_settled=False, has_line=False, was_shown=False)
LINE = NOTHING._replace(has_line=True)
STREAM = Stream(n_waiting=0, is_newest=False, is_paused=False, is_unsure=False, until=2.0)
WAITED_FOR = STREAM._replace(n_waiting=1)


@pytest.mark.parametrize(
    ("heard", "early", "between", "late"),
    [
        (NOTHING._replace(is_over=True), True, True, True),
        (NOTHING._replace(is_settled=True), True, True, True),
        (LINE._replace(was_shown=True), True, True, True),
        (LINE, False, True, True),
        (NOTHING, False, False, False),
    ],
)
def test_a_request_is_answered(heard: Heard, early: bool, between: bool, late: bool) -> None:
    """As soon as there is what the time asks for, and never with less."""
    assert [is_answered(heard, TIMES, now) for now in (0.5, 1.5, 2.5)] == [early, between, late]


def test_a_menu_does_not_wait_for_a_first_text() -> None:
    """It opens with what there is."""
    assert is_answered(NOTHING, TIMES._replace(lasts=False), 2.0)


@pytest.mark.parametrize(
    ("stream", "alone", "wanted"),
    [
        (WAITED_FOR._replace(is_newest=True), True, True),
        (WAITED_FOR, True, False),
        (STREAM, True, False),
        (STREAM._replace(is_unsure=True), False, False),
        (STREAM._replace(is_paused=True), False, False),
        (WAITED_FOR._replace(is_newest=True, is_paused=True), False, False),
    ],
)
def test_a_stream_goes_on(stream: Stream, alone: bool, wanted: bool) -> None:
    """For whom it is of use, and for a moment for the next key; never in the way of a newer request."""
    assert goes_on(stream, 1.0, is_wire_wanted=False) is alone
    assert goes_on(stream, 1.0, is_wire_wanted=True) is wanted


def test_a_stream_without_a_request_ends_after_a_moment() -> None:
    """The key that would have joined it did not come."""
    assert not goes_on(STREAM, 2.0, is_wire_wanted=False)

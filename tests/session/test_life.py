"""The life of a stream: what its docstring prints is what the code does."""

from __future__ import annotations

import pytest

from fim_lsp.session.answering import life
from fim_lsp.session.answering.life import ENDED, NEXT, StreamEvent, StreamState
from tests.session.test_known_text import decoding


def printed() -> list[tuple[str, ...]]:
    """Return state, event and next state of each row in the docstring."""
    assert life.__doc__ is not None
    rows = (line.split() for line in life.__doc__.splitlines() if line.startswith("    "))
    return [tuple(row[:3]) for row in rows][1:]


def test_the_table_is_the_docstring() -> None:
    """Row by row, in its order."""
    pairs = ((state, *pair) for state, events in NEXT.items() for pair in events.items())
    assert printed() == [tuple(each.name for each in row) for row in pairs]
    assert [*NEXT] == [*StreamState]


@pytest.mark.parametrize("event", StreamEvent)
@pytest.mark.parametrize("state", StreamState)
def test_a_stream_lives_by_the_table(state: StreamState, event: StreamEvent) -> None:
    """Each event in each state; what has ended stays, and each event wakes those that wait."""
    generation = decoding("    ret", "urn", state)
    after = NEXT[state].get(event, state)
    assert generation.happen(event) is (after is not state)
    assert generation.completion.state is after
    assert generation.completion.is_over is (after in ENDED)
    assert generation.news.is_set()


def test_each_state_is_reached_and_ends() -> None:
    """From the first one; and from each that has not ended a way leads to each end."""
    reached = set[StreamState]()
    left = [StreamState.GENERATING]
    while left:
        state = left.pop()
        if state not in reached:
            reached.add(state)
            left += NEXT[state].values()
    assert reached == {*StreamState}
    assert {StreamState.WHOLE, StreamState.SHORT, StreamState.FAILED} == ENDED
    for state in reached - ENDED:
        assert {*NEXT[state].values()} > ENDED

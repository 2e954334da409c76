"""When a request is answered, when a stream goes on, how much is asked of the backend at a time."""

from __future__ import annotations

import pytest

from fim_lsp.documents import Position, open_document
from fim_lsp.session.answering.completion import enough
from fim_lsp.session.answering.life import StreamEvent
from fim_lsp.session.lane import step_tokens
from fim_lsp.suggest.cursor import cursor_at
from fim_lsp.suggest.known import Known, Wait, is_answered
from fim_lsp.tasks import Newest
from server_bridge.protocol import Health, State
from tests.session.test_known_text import decoding

WAIT = Wait(0.0, early=1.0, until=2.0, grows=True, lasts=True)
NOTHING = Known(is_over=False, is_settled=False, has_line=False, was_shown=False)
LINE = NOTHING._replace(has_line=True)


@pytest.mark.parametrize(
    ("text", "early", "between", "late"),
    [
        (NOTHING._replace(is_over=True), True, True, True),
        (NOTHING._replace(is_settled=True), True, True, True),
        (LINE._replace(was_shown=True), True, True, True),
        (LINE, False, True, True),
        (NOTHING, False, False, False),
    ],
)
def test_a_request_is_answered(text: Known, early: bool, between: bool, late: bool) -> None:
    """As soon as there is what the time asks for, and never with less."""
    assert [is_answered(text, WAIT, now) for now in (0.5, 1.5, 2.5)] == [early, between, late]


def test_a_menu_does_not_wait_for_a_first_text() -> None:
    """It opens with what there is."""
    assert is_answered(NOTHING, WAIT._replace(lasts=False), 2.0)


@pytest.mark.parametrize(
    ("n_waiting", "lingers", "is_newest", "is_paused", "alone", "wanted"),
    [
        (1, True, True, False, True, True),
        (1, True, False, False, True, False),
        (1, False, True, False, True, True),
        (0, True, False, False, True, False),
        (0, False, False, False, False, False),
        (0, True, False, True, False, False),
        (1, True, True, True, False, False),
    ],
)
def test_a_stream_goes_on(
    n_waiting: int, lingers: bool, is_newest: bool, is_paused: bool, alone: bool, wanted: bool
) -> None:
    """For whom it is of use, and for a moment for the next key; never in the way of a newer request."""
    newest = Newest[str]()
    generation = decoding("    ret", "urn")
    generation.join(newest.claim(""))
    if not is_newest:
        newest.claim("")
    generation.leave(1.0 if lingers else 0.0, shown=False)
    generation.waiting = n_waiting
    if is_paused:
        generation.happen(StreamEvent.KEY)
    assert generation.goes_on(0.5, is_wire_wanted=False) is alone
    assert generation.goes_on(0.5, is_wire_wanted=True) is wanted


@pytest.mark.parametrize(("per_s", "tokens"), [(10.0, 16), (1000.0, 250), (1e6, 4096)])
def test_a_step_of_prefill_takes_a_quarter_of_a_second(per_s: float, tokens: int) -> None:
    """Within bounds, it follows the measured speed."""
    assert step_tokens(State(Health.READY, "llama-server", prefill_per_s=per_s)) == tokens


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("sum(ite", False),
        ("x\nx\nx\nx\nx\nx\n", True),  # a loop, which would be cut anyway
        ("aaaaaaaa " * 40, True),
    ],
)
def test_decoding_ends_where_the_text_is_whole_or_loops(text: str, done: bool) -> None:
    """Tokens past that point would be waited for and thrown away."""
    document = open_document("file:///a.py", "python", 1, "def total(items):\n    return ")
    cursor = cursor_at(document, Position(1, 11), "a.py")
    assert enough(text, cursor) is done

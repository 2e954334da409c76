"""How much is asked of the backend at a time, and when a text is whole."""

from __future__ import annotations

import pytest

from fim_lsp.documents import Position, open_document
from fim_lsp.session.generation import enough
from fim_lsp.session.lane import step_tokens
from fim_lsp.suggest.cursor import cursor_at
from server_bridge.protocol import Health, State


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

"""The tape follows what is typed, accepted and taken back."""

from __future__ import annotations

import pytest

from fim_lsp.prompt.tape import spelled
from server_bridge.protocol import Token

TAPE = tuple(Token(n, text.encode()) for n, text in enumerate(["def", " f", "(x", "):\n", "    "]))


@pytest.mark.parametrize(
    ("middle", "n_tokens"),
    [
        ("", 0),
        ("de", 0),
        ("def", 1),
        ("def f", 2),
        ("def f(", 2),
        ("def f(x):\n    ", 5),
        ("def f(y", 2),
        ("def f(x):\n    return", 5),
    ],
)
def test_the_longest_beginning_is_kept(middle: str, n_tokens: int) -> None:
    """Typing along keeps tokens, other text leaves them from where it differs."""
    assert spelled(TAPE, middle) == TAPE[:n_tokens]


def test_a_token_may_end_inside_a_character() -> None:
    """Half a character spells no text; both halves do."""
    whole = "é".encode()
    tape = (Token(1, whole[:1]), Token(2, whole[1:]))
    assert spelled(tape, "é") == tape
    assert spelled(tape, "e") == ()

"""What llama.cpp tells of a token into how likely the model says it."""

from __future__ import annotations

import math

import pytest

from server_bridge.llama.answers import CandidateToken, Entry
from server_bridge.llama.completion import rate_tokens
from server_bridge.protocol import Token

ODDS = {b";": 0.5, b";\n": 0.25, b";\n\n": 0.125, b",": 0.0625, b"\n": 0.5, b"\n\n": 0.25}


@pytest.mark.parametrize(
    ("said", "others", "likely"),
    [
        (b";", (b";\n", b";\n\n"), 0.875),
        (b";\n", (b";", b","), 0.75),
        (b";", (b",",), 0.5),
        (b",", (b";", b";\n"), 0.0625),
        (b"\n", (b"\n\n",), 0.5),  # a blank line is another text
        (b";", (), 0.5),
    ],
)
def test_line_ends_behind_it_make_a_token_no_less_likely(
    said: bytes, others: tuple[bytes, ...], likely: float
) -> None:
    """Where a line ends the model has a token for its last sign alone, and some with line ends."""
    numbers = {text: number for number, text in enumerate(ODDS)}
    told = [
        CandidateToken(numbers[text], [*text], math.log(ODDS[text])) for text in (said, *others)
    ]
    entry = Entry(numbers[said], math.log(ODDS[said]), told)
    [token] = rate_tokens((Token(numbers[said], said),), [entry])
    assert token.logprob is not None
    assert math.exp(token.logprob) == pytest.approx(likely)


def test_odds_of_any_size_are_read() -> None:
    """A server may tell any number."""
    told = [CandidateToken(1, [*b";\n"], 1e9), CandidateToken(2, [*b";"], -1e9)]
    for logprob in (-1e9, 0.0, 1e9):
        [token] = rate_tokens((Token(2, b";"),), [Entry(2, logprob, told)])
        assert token.logprob == 0.0

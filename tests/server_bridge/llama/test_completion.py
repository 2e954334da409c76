"""What llama.cpp is asked, and what it tells of a token into how likely the model says it."""

from __future__ import annotations

import math
import re

import pytest

from server_bridge.llama.answers import CandidateToken, Entry
from server_bridge.llama.completion import grammar, rate_tokens
from server_bridge.llama.tokenizer import Lru
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


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ([(1, -0.5), (2, -0.25), (3, -1.0)], [-0.5, -0.25, -1.0]),
        ([(1, -0.5), (2, 0.0), (3, -1.0)], [-0.5, None, -1.0]),  # as it answers in one piece
        ([(1, -0.5), (3, -1.0)], [-0.5, None, -1.0]),  # as it streams: the entry is missing
        ([(3, -1.0)], [None, None, -1.0]),
        ([], [None, None, None]),
    ],
)
def test_of_a_drafted_token_nothing_is_known(
    told: list[tuple[int, float]], known: list[float | None]
) -> None:
    """Whether its entry is 0 or missing, the others keep theirs."""
    tokens = tuple(Token(number, b"x") for number in (1, 2, 3))
    entries = [Entry(number, logprob, []) for number, logprob in told]
    assert [token.logprob for token in rate_tokens(tokens, entries, drafted=True)] == known


@pytest.mark.parametrize("forced", ["x", '"\\', "\n\t\0\x7f", "é\u2028🎉"])
def test_grammars_are_one_line_of_safe_characters(forced: str) -> None:
    """Whatever is forced, the grammar stays one well-formed line."""
    assert re.fullmatch(r'root ::= "(\\U[0-9A-F]{8}|\\["\\]|[^"\\\n])+" \.\*', grammar(forced))


def test_the_longest_unused_value_is_forgotten() -> None:
    """A full cache drops the value unused for longest."""
    cache: Lru[int] = Lru(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [cache.get(text) for text in "abc"] == [1, None, 3]

"""How sure the model was."""

from __future__ import annotations

import math

import pytest

from fim_lsp.suggest.confidence import SURE, confidence, preferred
from fim_lsp.suggest.cursor import Candidate
from server_bridge.protocol import Token


def tokens(*pairs: tuple[str, float | None]) -> list[Token]:
    """Tokens by text and probability."""
    return [Token(n, text.encode(), p and math.log(p)) for n, (text, p) in enumerate(pairs)]


SAID = tokens((" ret", 0.01), ("urn", 0.9), (" é", 0.4), ("\n", 0.1))


@pytest.mark.parametrize(
    ("skipped", "text", "expected"),
    [
        (" ret", "urn é", math.sqrt(0.9 * 0.4)),
        (" ret", "urn", 0.9),
        (" retu", "rn", 1.0),
        (" retu", "rn é", 0.4),
        (" return", " é", 0.4),
        ("", " ret", 0.01),
        (" ret", "urn é\n", (0.9 * 0.4 * 0.1) ** (1 / 3)),
        (" ret", "", 1.0),
        ("longer than all of it", "x", 1.0),
    ],
)
def test_only_the_tokens_of_what_is_shown_count(skipped: str, text: str, expected: float) -> None:
    """Forced and typed tokens do not count, nor partly typed ones, nor what a filter cut away."""
    assert confidence(SAID, skipped, text) == pytest.approx(expected)


def test_without_probabilities_nobody_doubts() -> None:
    """Text backends tell none; their suggestions are shown."""
    assert confidence(tokens(("a", None), ("b", None)), "", "ab") == 1.0
    assert confidence([], "", "ab") == 1.0


def test_a_clear_line_in_sight_beats_an_unsure_model() -> None:
    """The model's text is shown where it is sure, and where there is nothing else."""
    model, line, nothing = Candidate("model"), Candidate("line"), Candidate("")
    assert preferred(model, SURE - 0.01, line) is line
    assert preferred(model, SURE, line) is model
    assert preferred(model, 0.01, nothing) is model


def test_where_both_say_the_same_line_the_model_may_go_on() -> None:
    """Its text is longer, and the line in sight is a reason to trust it."""
    model, line = (
        Candidate("weight in weights:\n        total += weight", sure=0.2),
        Candidate("weight in weights:"),
    )
    shown = preferred(model, 0.2, line)
    assert (shown.text, shown.sure) == (model.text, SURE)

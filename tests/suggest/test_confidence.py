"""How sure the model was, and how much of a text that is enough for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fim_lsp.suggest.confidence import behind, gain, likelihood, likely, odds
from fim_lsp.suggest.cursor import Candidate, Cursor, Odds
from fim_lsp.suggest.filters.order import polish
from server_bridge.protocol import Token


def tokens(*pairs: tuple[str, float | None]) -> list[Token]:
    return [Token(n, text.encode(), p and math.log(p)) for n, (text, p) in enumerate(pairs)]


def said(*pairs: tuple[str, float | None]) -> Candidate:
    text = "".join(text for text, _ in pairs)
    return Candidate(text, odds=odds(tokens(*pairs), "", text))


SAID = tokens((" ret", 0.01), ("urn", 0.9), (" é", 0.4), ("\n", 0.1))


@pytest.mark.parametrize(
    ("skipped", "text", "expected"),
    [
        (" ret", "urn é", 0.9 * 0.4), (" retu", "rn", 1.0), (" retu", "rn é", 0.4),
        ("", " ret", 0.01), (" ret", "urn é\n", 0.9 * 0.4 * 0.1), (" ret", "", 1.0),
        ("longer than all of it", "x", 1.0),
    ],
)  # fmt: skip
def test_only_the_tokens_of_what_is_shown_count(skipped: str, text: str, expected: float) -> None:
    """Forced and typed tokens do not count, nor partly typed ones, nor what a filter cut away."""
    assert likelihood(Candidate(text, odds=odds(SAID, skipped, text))) == pytest.approx(expected)


def test_without_probabilities_all_is_shown() -> None:
    """Text backends tell none."""
    unknown = said(("a", None), (" b", None))
    assert likelihood(unknown) == 1.0
    assert likely(unknown, 0.9) == unknown
    assert likely(Candidate("a line in sight"), 0.9).text == "a line in sight"


def test_a_token_may_end_inside_a_character() -> None:
    """It ends where its last whole character does."""
    halves = [Token(0, "é".encode()[:1], -0.1), Token(1, "é".encode()[1:] + b"x", -0.2)]
    assert [end for end, _ in odds(halves, "", "éx")] == [1, 2]


def test_a_line_end_of_two_characters_is_one() -> None:
    """Text has `\\n` where the model wrote `\\r\\n`, in one token or in two."""
    spelled = tokens(("a\r\nb", 0.9), ("\r", 0.8), ("\n", 0.7), ("\r", 0.6), ("c", 0.5))
    ends = [end for end, _ in odds(spelled, "", "a\nb\n\nc")]
    assert ends == [3, 4, 4, 5, 6]


@pytest.mark.parametrize(
    ("least", "shown"),
    [
        (0.2, "self.width * rate + tax"), (0.3, "self.width * rate"), (0.85, "self."),
        (0.95, ""),
    ],
)  # fmt: skip
def test_what_is_shown_is_likely_in_all(least: float, shown: str) -> None:
    """The product of all probabilities up to the cut is high enough, and no word is cut in two."""
    text = said(
        ("self", 0.9), (".", 1.0), ("wi", 0.9), ("dth", 0.9), (" *", 0.6), (" rate", 0.9),
        (" +", 0.7), (" ta", 0.9), ("x", 0.9),
    )  # fmt: skip
    assert likely(text, least).text == shown


@pytest.mark.parametrize(
    ("least", "end", "shown"),
    [
        (0.3, 0.5, "width * rate"),  # 18 characters right in a quarter of the cases, 11 in most
        (0.3, 0.9, "width * rate + tax"),
        (0.001, 0.5, "width * rate + tax"),  # the user wants long ones
    ],
)
def test_of_the_likely_beginnings_a_reader_gets_most_of_one(least: float, end: float, shown: str):
    """An end that is likely enough is left out, where the text before it is a third surer."""
    text = said(("width", 0.95), (" *", 0.98), (" rate", 0.98), (" + tax", end), ("\n", 0.9))
    assert polish(text, Cursor("python", before="    return "), least).text == shown


def test_a_text_that_grows_by_lines_is_never_worth_less() -> None:
    """Or it would become shorter on screen; all is shown of one that begins below."""
    lines = said(("if tax:", 0.7), ("\n    rate += tax", 0.5), ("\n    width = 0", 0.9))
    texts = ["if tax:", "if tax:\n    rate += tax", lines.text]
    assert len({gain(replace(lines, text=text)) for text in texts}) == 1
    below = said(("\n", 0.9), ("        rate", 0.9), (" += tax", 0.4))
    assert polish(below, Cursor("python", before="    if tax:"), 0.3).text == below.text


def test_what_was_typed_is_certain() -> None:
    """Behind an unlikely word that the user typed, the rest is as likely as it is."""
    text = said(("ta", 0.1), ("x", 0.5), (" *", 0.9), (" rate", 0.9))
    assert likely(text, 0.3).text == ""
    left = Candidate("x * rate", odds=behind(text.odds, 2))
    assert likely(left, 0.3).text == "x * rate"
    inside = Candidate(" rate"[2:], odds=behind(text.odds, len("tax * ra")))
    assert inside.odds == (Odds(2, None),)
    before = behind(text.odds, -3)
    assert (before[0], before[1].end) == (Odds(3, None), 5)


def test_an_unknown_token_is_not_certain() -> None:
    """Servers that speculate tell the odds of some tokens only; the others count less than those do in the mean."""
    known = said(("a", 0.5), (" b", 0.5), (" c", 0.5), (" d", 0.5))
    some = said(("a", 0.5), (" b", None), (" c", None), (" d", 0.5))
    for least in (0.05, 0.1, 0.2, 0.3, 0.6):
        assert likely(some, least).text == likely(known, least).text
    surer = said(("a", 0.9), (" b", None), (" c", None), (" d", 0.9))  # 0.6 each
    assert likely(surer, 0.3).text == "a b c"
    assert likely(surer, 0.5).text == "a b"

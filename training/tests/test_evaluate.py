"""Answers are judged by the line that was there."""

from __future__ import annotations

from typing import cast

import pytest

from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Prompt, Reply, Request, Stop, Timings, Warmed
from training import asking, evaluate
from training.shards import Entry

FILE = "def f(a):\n    # a comment of some length\n    return a + 1\n\nx = f(1) + f(2)\n"
HOLE = asking.Hole("thing", "python", "a.py", 2, "    return a + 1")


class Scripted:
    """Gives these texts one after another and ends with the last."""

    def __init__(self, texts: list[str]) -> None:
        self.texts, self.left = texts, 2

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        self.left -= 1
        return Warmed(step, self.left)

    async def complete(self, request: Request) -> Reply:
        assert not self.left
        text, *self.texts = self.texts
        return Reply(text, (), (), Stop.LIMIT if self.texts else Stop.END, Timings())


def judged(text: str, typed: float = 0.0) -> evaluate.Answer:
    return evaluate.judged(HOLE, "as it is", typed, FILE, (text, True))


@pytest.mark.parametrize(
    ("text", "exact", "broke"),
    [
        ("return a + 1", True, False),
        ("return a + 1\n    more()", True, False),
        ("return a", False, False),
        ("return (", False, True),
    ],
)
def test_the_first_line_is_compared_and_the_whole_is_parsed(
    text: str, exact: bool, broke: bool
) -> None:
    """Text after the first line is not wrong by itself."""
    answer = judged(text)
    assert (answer.exact, answer.broke) == (exact, broke)
    assert answer.stopped


async def test_an_answer_is_put_together_without_the_half_word(monkeypatch) -> None:
    """Evaluated in steps, said in bursts, until it ends or is long enough; the half word is the user's."""
    monkeypatch.setattr(asking, "N_PREDICT", 3 * asking.BURST)
    prompt = Prompt("", (), "", "", "", "re", forced="tu")
    for texts, expected in (
        (["turn", " a", ""], ("rn a", True)),
        (["turn"], ("rn", True)),
        (["t", "urn", " a", " b"], ("rn a", False)),
    ):
        assert (
            await asking.complete_by_model(cast(LlamaServer, Scripted(texts)), prompt) == expected
        )


def test_holes_are_lines_of_code_spread_over_packages_and_the_same_every_time() -> None:
    """No comment, nothing short, as many of each package."""
    entries = [Entry(name, "python", "a.py", FILE * 9, []) for name in ("a", "b")]
    chosen = asking.holes(entries, 10)
    assert chosen == asking.holes(entries, 10)
    assert [hole.package for hole in chosen] == ["a"] * 5 + ["b"] * 5
    assert {hole.text.strip() for hole in chosen} <= {
        "def f(a):",
        "return a + 1",
        "x = f(1) + f(2)",
    }


def test_the_table_has_a_row_for_each_language_and_prompt() -> None:
    """Shares of the holes asked with nothing and with a part typed."""
    answers = [judged("return a + 1"), judged("%", typed=0.4)]
    rows = evaluate.table(answers, {"as it is": asking.Setting()}).split("\n")
    assert rows[2] == "| python | as it is | 1 | 100.0% | 0.0% | 50.0% | 100.0% | 50.0% |"
    assert rows[3].startswith("| all ")

"""Answers are judged by what stood there."""

from __future__ import annotations

import dataclasses

import pytest

from server_bridge.protocol import Reply, Stop, Timings
from training import evaluate
from training.shards import Entry

FILE = "def f(a):\n    # a comment of some length\n    return a + 1\n\nx = f(1) + f(2)\n"
HOLE = evaluate.Hole("thing", "python", "a.py", 2, "    return a + 1")
REPLY = Reply("", (), (), Stop.END, Timings())


def judged(said: str, typed: float = 0.0, n_forced: int = 0) -> evaluate.Answer:
    reply = dataclasses.replace(REPLY, text=said)
    return evaluate.judged(HOLE, "as it is", typed, FILE, reply, n_forced)


@pytest.mark.parametrize(
    ("said", "exact", "broke"),
    [
        ("return a + 1", True, False),
        ("return a + 1\n    more()", True, False),
        ("return a", False, False),
        ("return (", False, True),
    ],
)
def test_the_first_line_is_compared_and_the_whole_is_parsed(
    said: str, exact: bool, broke: bool
) -> None:
    """What comes after it is not wrong by itself."""
    answer = judged(said)
    assert (answer.exact, answer.broke) == (exact, broke)
    assert answer.stopped


def test_what_the_output_had_to_begin_with_is_no_merit() -> None:
    """The half word is the user's."""
    answer = judged("turn a + 1", typed=0.4, n_forced=2)
    assert (answer.said, answer.truth) == ("rn a + 1", "n a + 1")


def test_holes_are_lines_of_code_spread_over_packages_and_the_same_every_time() -> None:
    """No comment, nothing short, as many of each package."""
    entries = [Entry(name, "python", "a.py", FILE * 9, []) for name in ("a", "b")]
    found = evaluate.holes(entries, 10)
    assert found == evaluate.holes(entries, 10)
    assert [hole.package for hole in found] == ["a"] * 5 + ["b"] * 5
    assert {hole.text.strip() for hole in found} <= {"def f(a):", "return a + 1", "x = f(1) + f(2)"}


def test_the_table_has_a_row_for_each_language_and_prompt() -> None:
    """Shares of the holes asked with nothing and with a part typed."""
    answers = [judged("return a + 1"), judged("%", typed=0.4)]
    rows = evaluate.table(answers, {"as it is": evaluate.Setting()}).split("\n")
    assert rows[2] == "| python | as it is | 1 | 100.0% | 0.0% | 50.0% | 100.0% | 50.0% |"
    assert rows[3].startswith("| all ")

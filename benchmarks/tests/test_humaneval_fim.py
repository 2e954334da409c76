"""HumanEval-FIM: what is right, and the counts of the arms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.humaneval_fim import Place, is_right, known_answers, table

LONG = Place("a", "py", "def f():\n", "    return 1", "\n")
SHORT = Place("b", "js", "f(\n", "  )", "\n")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("    return 1", True),
        ("return 1 \n    return 2", True),
        ("\n    return 1", True),
        ("return 10", False),
        ("", False),
    ],
)
def test_a_first_line_is_right_or_not(answer: str, right: bool) -> None:
    """Whatever follows it, with or without the indentation."""
    assert is_right(answer, LONG) == right


def test_answers_of_earlier_runs_are_known(tmp_path: Path) -> None:
    """Places of two languages may have one name."""
    file = tmp_path / "answers.jsonl"
    rows = [
        {"language": language, "name": "a", "arm": "raw", "verdict": "wrong", "text": text}
        for language, text in [("py", "return 1"), ("js", "return 1;")]
    ]
    assert known_answers(file) == {}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert known_answers(file)["py", "a", "raw"] == "return 1"
    assert known_answers(file)["js", "a", "raw"] == "return 1;"


def test_arms_are_compared_place_by_place() -> None:
    """Short lines apart."""
    answers = {
        "raw": {LONG: "return 1", SHORT: "x"},
        "hand": {LONG: "", SHORT: ")"},
    }
    of_long = table(answers, short=False)
    assert "| raw | 1 | 1 (100.0%) | 0 | 0 |" in of_long
    assert "| hand | 1 | 0 (0.0%) | 1 | 0 |" in of_long
    assert "hand against raw: 0 gained, 1 lost." in of_long
    assert "hand against raw: 1 gained, 0 lost." in table(answers, short=True)

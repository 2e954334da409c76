"""Suggestions without a model."""

from __future__ import annotations

import time

import pytest

from fim_lsp.suggest.line_match import continued
from tests.suggest.golden_cases import parsed


@pytest.mark.parametrize(
    ("text", "elsewhere", "rest"),
    [
        ("return value\n\nretu▮", [], "rn value"),
        ("return value\nretu▮", [], ""),
        ("    return value\n\nretu▮\n", [], "rn value"),
        ("retu▮\nreturn value", [], "rn value"),
        ("retu▮\n", ["  return value"], "rn value"),
        ("return value\n\nret▮", [], ""),
        ("return value\n\nreturn value▮", [], ""),
        ("return a\nreturn b\n\nretu▮", [], "rn b"),
        ("return a\nreturn b\nreturn c\n\nretu▮", [], ""),
        ("return a\n\nretu▮\nreturn b", ["return a", "return c"], "rn a"),
        ("print(a)\n\nprint(▮)", [], "a)"),
        ("print(a)\n\nprint▮(b)", [], ""),
        ("x = 1\n▮", [], ""),
    ],
)
def test_continued(text: str, elsewhere: list[str], rest: str) -> None:
    """The rest of the line that most lines beginning alike have, of equals the nearest; else nothing."""
    assert continued(parsed(text)[0], elsewhere).text == rest


def test_it_takes_less_than_a_millisecond() -> None:
    """With a ring full of lines that all begin alike."""
    cursor, _ = parsed("    self.value▮\n")
    lines = [f"        self.value{n} = value{n}" for n in range(16 * 64)]
    times = []
    for _ in range(20):
        start = time.perf_counter()
        continued(cursor, lines)
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-2  # ten times what is measured

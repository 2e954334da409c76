"""Suggestions without a model."""

from __future__ import annotations

import pytest

from fim_lsp.suggest.lines_in_sight import continue_line
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
    assert continue_line(parsed(text)[0], elsewhere).text == rest

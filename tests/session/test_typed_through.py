"""What stays on screen while it is typed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fim_lsp.session.state.known_text import Displayed
from fim_lsp.suggest.cursor import Candidate, Cursor

PLACE = Cursor(
    language="python", above=("def f():",), before="    ret", after="", below=("", "x = 1")
)
SCREEN = Displayed(PLACE, Candidate("urn total(1)\n    y = 2"), "qwen")


@pytest.mark.parametrize(
    ("typed", "rest"),
    [
        ("", "urn total(1)\n    y = 2"),
        ("u", "rn total(1)\n    y = 2"),
        ("urn total", "(1)\n    y = 2"),
    ],
)
def test_who_types_along_sees_the_rest(typed: str, rest: str) -> None:
    """The same text, less what was typed, however it got there."""
    found = SCREEN.find_rest(replace(PLACE, before=PLACE.before + typed), "qwen")
    assert found is not None
    assert found.text == rest


@pytest.mark.parametrize(
    "change",
    [
        {"before": "    rex"},
        {"before": "    re"},
        {"after": ")"},
        {"above": ("def g():",)},
        {"below": ()},
        {"language": "lua"},
    ],
)
def test_anything_else_is_looked_at_again(change: dict) -> None:
    """Other text, text elsewhere, another line: the screen does not say."""
    assert SCREEN.find_rest(replace(PLACE, **change), "qwen") is None
    assert SCREEN.find_rest(PLACE, "another model") is None


def test_what_is_typed_to_its_end_says_nothing_more() -> None:
    """What follows is looked for."""
    end = replace(PLACE, before="    return total(1)")
    assert Displayed(PLACE, Candidate("urn total(1)"), "qwen").find_rest(end, "qwen") is None


def test_the_last_character_is_not_worth_a_key() -> None:
    """When next to nothing is left, nothing is shown."""
    one = Displayed(PLACE, Candidate("urn"), "qwen")
    found = one.find_rest(replace(PLACE, before="    retur"), "qwen")
    assert found is not None
    assert found.text == ""

"""Where a suggestion may stand and how much it should be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.suggest.boundary import Extent, end, enough, extent, quiet, stops, too_long
from tests.suggest.golden_cases import parsed


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("x = ▮\n", "python", Extent.STATEMENT),
        ("x = ▮ + b\n", "python", Extent.LINE),
        ("print(▮)\n", "python", Extent.LINE),
        ("# the ▮\n", "python", Extent.LINE),
        ("/*\n * the ▮\n */", "c", Extent.LINE),
        ("def f():▮\n", "python", Extent.BODY),
        ("if x: ▮\n", "python", Extent.BODY),
        ("x = a[1:▮]\n", "python", Extent.LINE),
        ("def f():\n    ▮\n", "python", Extent.BODY),
        ("def f():\n    ▮\n    return 1\n", "python", Extent.LINES),
        ("def f():\n    ▮\n\ng()\n", "python", Extent.BODY),
        ("def f():\n    x = 1\n    ▮\n", "python", Extent.LINES),
        ("▮\n", "python", Extent.LINES),
        ("f(() => {▮})\n", "javascript", Extent.BODY),
        ("fn f() {\n    ▮\n}\n", "rust", Extent.BODY),
        ("local function f(a)▮\n", "lua", Extent.BODY),
        ("items.each do |x|▮\n", "ruby", Extent.BODY),
        ("for x in *; do▮\n", "shellscript", Extent.BODY),
        ("x = {'a': '{'▮\n", "python", Extent.STATEMENT),
    ],
)
def test_extent(text: str, language: str, expected: Extent) -> None:
    """The cursor's line and what stands around say how much may come."""
    cursor, _ = parsed(text, language)
    assert extent(cursor) is expected
    assert stops(cursor) == (("\n",) if expected is Extent.LINE else ())


@pytest.mark.parametrize(
    ("text", "language", "whole"),
    [
        ("x = ▮⟦1⟧", "python", False),
        ("x = ▮⟦1\n⟧", "python", True),
        ("x = ▮⟦f(\n⟧", "python", False),
        ("x = ▮⟦f(\n    1)\n⟧", "python", True),
        ("def f():▮⟦\n    return 1\n⟧", "python", False),
        ("def f():▮⟦\n    return 1\n\n\n⟧", "python", True),
        ("def f():▮⟦\n    return 1\ne⟧", "python", False),
        ("def f():▮⟦\n    return 1\nx⟧", "python", True),
        ("if a:▮⟦\n    b()\nelse⟧", "python", False),
        ("if a:▮⟦\n    b()\nelsewhere = 1\n⟧", "python", True),
        ("if a:▮⟦\n    b()\nelse:\n    c()\n⟧", "python", False),
        ("if (a) {▮⟦\n    b();\n}\n⟧", "c", True),
        ("    ▮⟦x = 1\n\n⟧", "python", True),
        ("    ▮⟦x = 1\ny⟧", "python", True),
        ("    ▮⟦for x in y:\n        z()\n    q⟧", "python", True),
    ],
)
def test_enough(text: str, language: str, whole: bool) -> None:
    """Decoding stops at the first moment at which the text is known to be whole, not before."""
    cursor, raw = parsed(text, language)
    assert enough(raw, cursor) is whole


PLACES = [
    ("x = ▮", "python"), ("def f():▮", "python"), ("    ▮", "python"), ("foo(▮)", "c"),
    ("if (a) {▮", "c"),
    ("while x do▮", "lua"), ("class A {\n  ▮\n}", "java"), ("a = [▮", "python"),
]  # fmt: skip
PIECES = [
    "\n", "\n\n", "    ", "  ", "x", "else", ":", "(", ")", "{", "}", "end", "# c", '"', "\\",
    "if a",
]  # fmt: skip


def test_one_line_is_enough_where_no_more_is_wanted() -> None:
    """Whatever the place allows, and whatever the model goes on to say."""
    cursor, _ = parsed("def f():▮\n", "python")
    wanted = replace(cursor, one_line=True)
    assert extent(wanted) is Extent.LINE
    assert stops(wanted) == ("\n",)
    assert end(" return 1\n    return 2", wanted) == len(" return 1")


@given(st.sampled_from(PLACES), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_a_boundary_stays_where_it_is(place_text: tuple[str, str], text: str) -> None:
    """What follows never moves a boundary, so the size of a burst cannot change a suggestion."""
    cursor, _ = parsed(*place_text)
    ends = [end(text[:n], cursor) for n in range(len(text) + 1)]
    first = next((each for each in ends if each is not None), None)
    since = ends.index(first)
    assert set(ends[since:]) == {first}
    assert first is None or 0 <= first <= since


@pytest.mark.parametrize(
    ("text", "keywords", "outcome"),
    [
        ("x = fo▮\n", {}, None),
        ("x = fo▮o\n", {}, "inside a word"),
        ("x = ▮foo\n", {}, "before other code"),
        ("foo(▮, b)\n", {}, None),
        ("foo(▮) + b\n", {}, None),
        ("x = f▮\n", {"deleted": True}, "after a deletion"),
        ("# f▮\n", {"scope": "comment"}, "in a comment"),
        ("'f▮'\n", {"scope": "string"}, None),
        ("▮\n\n", {}, "in an empty text"),
        ("import os\n▮\n\n", {}, None),
        ("if x:▮\n    y()\n", {}, "before the body of a block"),
        ("if x:▮\ny()\n", {}, None),
    ],
)
def test_quiet(text: str, keywords: dict[str, Any], outcome: str | None) -> None:
    """An automatic request shows nothing while a word is edited, text deleted, or a comment written."""
    cursor, _ = parsed(text)
    assert (
        quiet(cursor, **{"deleted": False, "scope": "", "excluded": {"comment"}, **keywords})
        == outcome
    )


def test_who_asks_by_hand_gets_the_next_line() -> None:
    """Behind a complete line in the middle of a block only who asks is told more."""
    cursor, _ = parsed("a = 1▮\nc = 3\n")
    assert end("\nb = 2\n\n", cursor) == 0
    assert end("\nb = 2\n\n", replace(cursor, by_hand=True)) == len("\nb = 2")


def test_a_line_of_data_is_too_long() -> None:
    """Minified code and data are left alone at once."""
    assert too_long(parsed("x" * 500_000 + "▮")[0])
    assert not too_long(parsed("x" * 120 + "▮")[0])

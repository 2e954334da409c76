"""A proposal in words: the edit that it repeats, or the model that makes it."""

from __future__ import annotations

import pytest

from fim_lsp.next_edit.answers import LINE_CHARS, why
from fim_lsp.next_edit.edits import Example
from fim_lsp.next_edit.engine import Proposal

PROPOSAL = Proposal("file:///shop/a.py", 7, ("hight",), ("height",))
LONG = "x" * 2 * LINE_CHARS


def words(before: tuple[str, ...], after: tuple[str, ...], n_examples: int = 1, **more: str) -> str:
    """Return the one caller of `why` for a rule with these examples."""
    example = Example("file:///shop/b.py", 4, before, after, "", "", alone=True)
    return why(PROPOSAL._replace(example=example, n_examples=n_examples), "b.py", **more)


@pytest.mark.parametrize(
    ("before", "after", "made"),
    [
        (("  a = hight",), ("  a = height",), "`hight` became `height`"),
        (("f(hight)", "g(hight)"), ("f(height)", "g(height)"), "`hight` became `height`"),
        (("x" * 80 + "1",), ("y",), f"`{'x' * 59}…` became `y`"),
        (("a = hight + b",), ("a = height + c",), "`a = hight + b` became `a = height + c`"),
        (("a = hight",), ("a = box.height",), "`a = hight` became `a = box.height`"),
        (("f(hight)", "g()"), ("f(height)",), "`f(hight)` … became `f(height)`"),
        (("old()",), (), "`old()` went"),
        ((), ("", "new()"), "`new()` … came"),
        (("a", "b"), ("c",), "`a` … became `c`"),
    ],
)
def test_the_edit_that_is_repeated(before: tuple[str, ...], after: tuple[str, ...], made: str):
    """By the first line that says something; lines count from 1."""
    assert words(before, after) == f"It repeats your edit in b.py, line 5: {made}."


@pytest.mark.parametrize(
    ("n", "more"), [(1, ""), (2, ", as 1 earlier edit did"), (3, ", as 2 earlier edits did")]
)
def test_how_many_edits_did_the_same(n: int, more: str) -> None:
    """The one that is named is not counted."""
    assert words(("a",), ("b",), n).endswith(f"`a` became `b`{more}.")


def test_a_file_that_is_not_open_is_named() -> None:
    """The user is to know where the change is made."""
    assert words(("a",), ("b",), unopened="c.py").endswith(
        ". c.py is not open, and has the same text."
    )


def test_a_long_line_is_cut() -> None:
    """It is read in a message."""
    assert LONG not in words((LONG,), ("b",))
    assert len(words((LONG,), ("b",))) < 2 * LINE_CHARS + 40


def test_a_model_is_named() -> None:
    """It repeats nothing."""
    assert why(PROPOSAL, "sweep.gguf") == "The model sweep.gguf proposes it, after your last edits."

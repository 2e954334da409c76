"""What of a long text is inserted: no loops, no other file, the file's indentation, whole lines."""

from __future__ import annotations

import pytest

from fim_lsp.session.edits.long_text import LongText
from fim_lsp.suggest.cursor import Cursor

CURSOR = Cursor("python", "shop/cart.py", ("def total(prices):", '    """All prices."""'), "    ")
BULLETS = "".join(f"- {word} the prices\n" for word in ("add", "count", "list"))
FIRST = "total = 0\n    for price in prices:\n        total += price\n"


def written(text: str, cursor: Cursor = CURSOR, n_tokens: int = 1000) -> LongText:
    """Return *text* as it comes, a word at a time, until it goes wrong."""
    writing = LongText(cursor, n_tokens)
    for piece in text.replace(" ", "\0 ").replace("\n", "\n\0").split("\0"):
        if writing.goes_wrong:
            break
        writing.take(piece)
    return writing


@pytest.mark.parametrize(
    ("text", "shown", "why"),
    [
        (f"{FIRST}    return total", f"{FIRST}    return total", ""),
        (f"{FIRST}```\nshop/__init__.py\nHello", FIRST.rstrip(), "another file"),
        (f"{FIRST}# shop/till.py\nimport os\n", FIRST.rstrip(), "another file"),
        (
            "x = 1\n    y = 2\n" + "    z = 3\n" * 60,
            "x = 1\n    y = 2\n    z = 3",
            "repeated the line",
        ),
        ("```\nimport os\n", "", "another file"),
        ("", "", "wrote nothing"),
        (" \n ", "", "white space"),
    ],
)
def test_a_text_ends_where_it_goes_wrong(text: str, shown: str, why: str) -> None:
    """And says why, in a user's words; a text that the model ended is whole."""
    found, note = written(text).finish()
    assert found == shown
    assert why in note
    assert bool(why) == bool(note)


def test_writing_stops_in_a_loop() -> None:
    """After two rounds, not after the last token."""
    cursor = Cursor("markdown", "README.md", ("# Cart",), "")
    writing = written(BULLETS * 40, cursor)
    assert writing.goes_wrong
    assert writing.text.count("\n") <= 8
    assert writing.finish()[0] == BULLETS.rstrip("\n")


@pytest.mark.parametrize(("n_tokens", "is_cut"), [(12, False), (1000, True)])
def test_what_was_cut_ends_with_a_whole_line(n_tokens: int, *, is_cut: bool) -> None:
    """By a budget, or by the user's button: the last line is not finished."""
    writing = written(f"{FIRST}    return to", n_tokens=n_tokens)
    writing.is_cut = is_cut
    assert writing.finish() == (FIRST.rstrip(), "")


def test_indentation_is_the_file_s() -> None:
    """Spaces become the tabs that stand above."""
    cursor = Cursor("go", "a.go", ("func f() {", "\tx := 1"), "\t", unit="\t")
    found, _ = written("if x > 1 {\n        return\n    }\n", cursor).finish()
    assert found == "if x > 1 {\n\t\treturn\n\t}"


def test_trouble_is_named_with_what_came() -> None:
    """The backend's words, and the lines that are whole."""
    assert written(f"{FIRST}    ret").finish("it ended") == (FIRST.rstrip(), "it ended")

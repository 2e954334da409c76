"""Excerpts that slide over a text, put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.documents import Position
from fim_lsp.http_server.excerpt import Excerpt, alone, place_excerpt

FILE = [f"def f{n}(x):\n    return x + {n}\n\n" for n in range(60)]
LINES = "".join(FILE).splitlines(keepends=True)


def lines_around(lines: list[str], row: int, column: int, above: int, below: int) -> Excerpt:
    """As llama.vim and llama.vscode cut: whole lines."""
    here = lines[row]
    before = "".join(lines[max(0, row - above) : row]) + here[:column]
    return Excerpt(before, here[column:] + "".join(lines[row + 1 : row + 1 + below]))


def chars_around(text: str, at: int, n_chars: int) -> Excerpt:
    """As minuet cuts: anywhere."""
    return Excerpt(text[max(0, at - n_chars * 3) : at], text[at : at + n_chars])


@given(st.integers(5, 100), st.integers(1, 60), st.integers(0, 30))
def test_typed_lines_grow_one_text(row: int, above: int, below: int) -> None:
    """Every key is one more character at the cursor, and what left the window is still there."""
    lines = [*LINES[:row], "\n", *LINES[row:]]
    kept = alone(lines_around(lines, row, 0, above, below)).lines
    first = kept[0]
    for typed in ("total = sum(x)\n", "if total > 3:\n", "    return total\n"):
        for column in range(len(typed)):
            lines[row] = typed[:column] + "\n"
            found = place_excerpt(kept, lines_around(lines, row, column, above, below))
            kept = found.lines
            at = found.cursor
            assert kept[at.line][: at.column] == typed[:column]
        lines.insert(row + 1, "\n")
        row += 1
    lines.pop(row)  # which no excerpt has shown
    assert kept[0] == first
    assert "".join(kept) in "".join(lines) + "\n"


@given(st.integers(300, 900), st.integers(100, 200))
def test_a_window_cut_in_the_middle_of_lines(start: int, n_chars: int) -> None:
    """Half lines at its ends are known as such."""
    text = "".join(LINES)
    kept = alone(chars_around(text, start, n_chars)).lines
    for at in range(start, start + 400, 7):
        found = place_excerpt(kept, chars_around(text, at, n_chars))
        kept = found.lines
        assert "".join(kept) in text
        line, column = found.cursor
        assert text[:at].endswith(kept[line][:column])


def test_a_jump_and_a_change_below_the_cursor() -> None:
    """The text stays whole when the cursor goes up again; lines that were removed below are removed."""
    found = place_excerpt(LINES, lines_around(LINES, 10, 3, 5, 5))
    assert (found.lines, found.cursor) == (tuple(LINES), Position(10, 3))
    changed = [*LINES[:50], *LINES[56:]]
    assert place_excerpt(LINES, lines_around(changed, 40, 0, 20, 30)).lines == tuple(changed)


def test_another_text_is_not_taken_for_it() -> None:
    """Common lines alone are no reason."""
    other = "".join(f"class C{n}:\n    pass\n\n" for n in range(40)).splitlines(keepends=True)
    assert place_excerpt(LINES, lines_around(other, 30, 0, 20, 20)) is None


@given(st.text("ab \n", max_size=30), st.text("ab \n", max_size=30), st.text("ab \n", max_size=60))
def test_nothing_makes_it_fail(before: str, after: str, text: str) -> None:
    """Whatever is kept and shown, the text has the excerpt at the cursor."""
    found = place_excerpt(alone(Excerpt(text, "")).lines, Excerpt(before, after))
    if found is not None:
        line, column = found.cursor
        assert found.lines[line][:column].endswith(before.rpartition("\n")[2])


def test_a_file_of_one_line_that_is_typed() -> None:
    """It has no other lines to be known by."""
    kept = alone(Excerpt("de", "\n")).lines
    for before in ("def", "def add", "def add(a, b):", "def add(a, b):\n"):
        found = place_excerpt(kept, Excerpt(before, "\n"))
        kept = found.lines
    assert "".join(kept) == "def add(a, b):\n\n"

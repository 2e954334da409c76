"""Borders of sixteen languages, and what holds for any text at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.grammars import EXTENSIONS, GRAMMARS, find_borders, language_of

CASES = sorted((Path(__file__).parent / "units").iterdir())  # named by file extension
WORDS = ["def", "f():", "class", "A:", "{", "}", "(", "\n", "\t", "#", "'", "x", "=", "1", ""]
TEXTS = st.text() | st.lists(st.sampled_from(WORDS)).map("\n".join)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_texts_are_cut_at_whole_definitions(path: Path) -> None:
    """A case has a text, and where it may be cut."""
    text, _, expected = path.read_text("utf-8").partition("====\n")
    borders = find_borders(language_of(path.stem), text)
    assert [" ".join(map(str, borders)) or "-"] == expected.splitlines()


def test_every_grammar_has_a_case() -> None:
    """A language in the table is a language that was tried."""
    tried = {language_of(path.stem) for path in CASES}
    assert set(EXTENSIONS.values()) - tried == {"javascriptreact"}
    assert set(EXTENSIONS.values()) == set(GRAMMARS)


@given(st.sampled_from(["python", "rust", "cpp", "html", "klingon"]), TEXTS)
def test_any_text_is_cut_inside_it(language: str, text: str) -> None:
    """Borders are ordered lines of the text, or its end."""
    borders = find_borders(language, text)
    n_lines = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert all(0 <= border <= n_lines for border in borders)
    assert list(borders) == sorted(set(borders))

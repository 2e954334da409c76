"""Borders and imports of sixteen languages, and what holds for any text at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.grammars import EXTENSIONS, GRAMMARS, language_of

CASES = sorted((Path(__file__).parent / "units").iterdir())  # named by file extension
WORDS = ["def", "f():", "class", "A:", "{", "}", "(", "\n", "\t", "#", "'", "x", "=", "1", ""]
TEXTS = st.text() | st.lists(st.sampled_from(WORDS)).map("\n".join)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_texts_are_cut_at_whole_definitions(path: Path) -> None:
    """A case has a text, the names that it imports, and where it may be cut."""
    text, _, expected = path.read_text("utf-8").partition("====\n")
    borders, imported, _ = read_syntax(language_of(path.stem), text)
    lines = ["+".join(imported) or "-", " ".join(map(str, borders)) or "-"]
    assert lines == expected.splitlines()


def test_every_grammar_has_a_case() -> None:
    """A language in the table is a language that was tried."""
    tried = {language_of(path.stem) for path in CASES}
    assert set(EXTENSIONS.values()) - tried == {"javascriptreact"}
    assert set(EXTENSIONS.values()) == set(GRAMMARS)


@given(st.sampled_from(["python", "rust", "cpp", "html", "klingon"]), TEXTS)
def test_any_text_is_cut_inside_it(language: str, text: str) -> None:
    """Borders are ordered lines of the text, or its end."""
    borders = read_syntax(language, text).borders
    n_lines = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert all(0 <= border <= n_lines for border in borders)
    assert list(borders) == sorted(set(borders))


@pytest.mark.parametrize(
    ("language", "line", "names"),
    [
        ("javascript", "const a = require('b').c\n", ("a", "b", "c")),
        ("javascript", "exports.a = require('./b')\n", ("exports", "a", "b")),
        ("javascript", "app.add(require('./b'))\n", ("app", "add", "b")),
        ("typescript", "const a = require('b').c\n", ("a", "b", "c")),
        ("lua", "local a = require('b').c\n", ("a", "b", "c")),
        ("javascript", "const a = wrap(require('b'))\n", ("a", "wrap", "b")),
        ("lua", "a = require 'b'\n", ("a", "b")),
        ("lua", "local a, b = pcall(require, 'c')\n", ("a", "b", "pcall", "c")),
        ("lua", "require('a').setup{}\n", ("a", "setup")),
    ],
)
def test_what_is_required_is_imported(language: str, line: str, names: tuple[str, ...]) -> None:
    """Also a member of it, and what is handed on; such a call is no statement of its own."""
    assert read_syntax(language, line).imported == names

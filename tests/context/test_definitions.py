"""Definitions of sixteen languages, and their owners."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.definitions import DEFINITIONS, Definition, read_syntax
from fim_lsp.context.grammars import EXTENSIONS, GRAMMARS, language_of

CASES = sorted((Path(__file__).parent / "definitions").iterdir())  # named by file extension
WORDS = ["def", "f():", "class", "A:", "{", "}", "(", "\n", "\t", '"""', "'", "x", "=", "y()", ""]
TEXTS = st.text() | st.lists(st.sampled_from(WORDS)).map("\n".join)


def shown(found: Definition) -> str:
    """Return a definition as the case files spell it: its name, first line and end."""
    name = f"{found.owner}.{found.name}" if found.owner else found.name
    return f"{name} {found.start}-{found.end}"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_definitions_with_their_owners(path: Path) -> None:
    """Classes, members, enums, functions and variables of a module, with their lines."""
    text, _, expected = path.read_text("utf-8").partition("====\n")
    found = read_syntax(language_of(path.stem), text).definitions
    assert [shown(each) for each in found] == expected.splitlines()


def test_every_grammar_has_a_case() -> None:
    """A language in the table is a language whose query was tried."""
    tried = {language_of(path.stem) for path in CASES}
    assert set(EXTENSIONS.values()) - tried == {"javascriptreact"}  # JavaScript's grammar
    assert set(EXTENSIONS.values()) == set(GRAMMARS)


@given(st.sampled_from(["python", "rust", "cpp", "typescript", "klingon"]), TEXTS)
def test_any_text_gives_definitions_inside_it(language: str, text: str) -> None:
    """The lines of a definition lie inside the text, whatever it is."""
    n_lines = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for each in read_syntax(language, text).definitions:
        assert each.name
        assert 0 <= each.start < each.end <= n_lines


def test_a_generated_file_has_an_end() -> None:
    """Of a file with very many definitions the first ones are known."""
    text = "".join(f"def f{n}():\n    x = g()\n" for n in range(DEFINITIONS + 9))
    found = read_syntax("python", text).definitions
    assert len(found) == DEFINITIONS
    assert found[-1].name == f"f{DEFINITIONS - 1}"

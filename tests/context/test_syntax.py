"""Units of sixteen languages, and what holds for any text at all."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.grammars import EXTENSIONS, GRAMMARS, language_of
from fim_lsp.context.syntax import Unit, parse_text, units_of

CASES = sorted((Path(__file__).parent / "units").iterdir())  # named by file extension
WORDS = ["def", "f():", "class", "A:", "{", "}", "(", "\n", "\t", "#", "'", "x", "=", "1", ""]
TEXTS = st.text() | st.lists(st.sampled_from(WORDS)).map("\n".join)


def shown(unit: Unit) -> str:
    """Return a unit as the case files spell it: dots for depth, kind, imported names, lines."""
    names = "+".join(unit.names) or "-"
    return f"{'.' * unit.depth}{unit.kind.value} {names} {unit.start}-{unit.end}"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_units_are_whole_definitions(path: Path) -> None:
    """Functions, classes with their members, import blocks and loose statements are told apart."""
    text, _, expected = path.read_text("utf-8").partition("====\n")
    assert [
        shown(u) for u in units_of(parse_text(language_of(path.stem), text))
    ] == expected.splitlines()


def test_every_grammar_has_a_case() -> None:
    """A language in the table is a language that was tried."""
    tried = {language_of(path.stem) for path in CASES}
    assert set(EXTENSIONS.values()) - tried == {"javascriptreact"}
    assert set(EXTENSIONS.values()) == set(GRAMMARS)


@given(st.sampled_from(["python", "rust", "cpp", "html", "klingon"]), TEXTS)
def test_any_text_gives_ordered_units_inside_it(language: str, text: str) -> None:
    """Units lie inside the text, are not empty, and the outermost share at most a line."""
    found = units_of(parse_text(language, text))
    n_lines = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    tops = [u for u in found if u.depth == 0]
    assert all(0 <= u.start < u.end <= n_lines for u in found)
    assert all(a.end - 1 <= b.start for a, b in itertools.pairwise(tops))

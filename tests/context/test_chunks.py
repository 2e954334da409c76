"""Pieces are cut at units, keep their lines, and are grouped under one heading per file."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.chunks import PIECE_LINES, WORD, Piece, Source, Why, group, locate, read_yank
from fim_lsp.documents import split
from tests.parsing import read_here

LINES = ["", "def f(x):", "    return x", "class A:", "    def m(self): pass", "import os", "x = 1"]
TEXTS = st.lists(st.sampled_from(LINES), max_size=120).map("\n".join)


def source(text: str, uri: str = "file:///w/a.py", version: int = 1) -> Source:
    return Source(uri, uri.rpartition("/")[2], "python", version, tuple(split(text)))


@given(TEXTS)
def test_pieces_are_the_lines_of_the_file_each_at_most_once(text: str) -> None:
    """In order, without overlap, never too long, true to the text, and no word is lost."""
    lines = text.split("\n")
    pieces = read_here(source(text))
    assert all(piece.text == "\n".join(lines[piece.start : piece.end]) for piece in pieces)
    assert all(a.end <= b.start for a, b in itertools.pairwise(pieces))
    assert all(0 < piece.n_lines <= PIECE_LINES for piece in pieces)
    words = {word for piece in pieces for word in WORD.findall(piece.text)}
    assert words == {*WORD.findall(text)}


def test_a_short_function_is_never_cut() -> None:
    """Functions that fit a piece are whole in one, and small neighbours share it."""
    functions = [f"def function_{n}():\n" + f"    call_{n}()\n" * 5 for n in range(10)]
    pieces = read_here(source("\n\n".join(functions)))
    assert all(any(function.strip() in piece.text for piece in pieces) for function in functions)
    assert len(pieces) < len(functions)


def test_a_piece_with_a_secret_does_not_exist() -> None:
    """Whatever chooses later, it cannot choose a secret; the rest of the file can be."""
    key = "AK" + "IA" + "Z3MGPQ7RW2XY5TKV"
    text = f"def first():\n    x = 1\n\n\nKEY = '{key}'\n" + "\n\ndef last():\n" + "    go()\n" * 15
    pieces = read_here(source(text))
    assert pieces
    assert not any(key in piece.text for piece in pieces)


KEY = "".join(f"    '{'A9+k' * 16}'\n" for _ in range(40))
SPREAD = {
    "password = (\n    'r3Vyww0xakpfPE*x'\n)\n": "r3Vy",
    'PASSWORD = """\\\nr3Vyww0xakpfPE*x\n"""\n': "r3Vy",
    f"k = ('-----BEGIN PRIVATE KEY-----'\n{KEY}'-----END PRIVATE KEY-----')\n": "A9+k",
}


@pytest.mark.promise("secrets-are-replaced")
@pytest.mark.parametrize("secret", SPREAD, ids=SPREAD.values())
def test_no_piece_holds_a_part_of_a_secret(secret: str) -> None:
    """Wherever a text is cut: the lines above a piece may tell what it is."""
    for n in range(20):
        pieces = read_here(source("alpha()\n" * n + secret + "gamma()\n" * 20))
        assert pieces
        assert not any(SPREAD[secret] in piece.text for piece in pieces)


def test_nothing_is_taken_from_the_middle_of_a_secret() -> None:
    """A yank may begin below the line that tells."""
    value = "    'r3Vyww0xakpfPE*x'\n)\ngamma()\n"
    hidden = source(f"alpha()\npassword = (\n{value}")
    shown = source(f"alpha()\nname = (\n{value}")
    for text, is_known in ((hidden, False), (shown, True)):
        assert (read_yank(text, value, 0) is not None) == is_known


def test_a_yank_is_kept_as_taken_and_found_again_where_it_went() -> None:
    """Its lines are looked up when needed, so it moves with its file, or is pasted elsewhere."""
    yank = read_yank(source("a\n"), "def one():\n    two()\n    three()\n", 7)
    assert yank is not None
    there = locate(
        yank, source("# new\n\ndef one():\n    two()\n    three()\n", "file:///w/b.py", 7)
    )
    assert (there.uri, there.start, there.end, there.fresh) == ("file:///w/b.py", 2, 5, True)
    assert there.copied == 7
    assert not locate(yank, source("def one():\n    two()\n")).fresh


def piece(uri: str, start: int, n_lines: int) -> Piece:
    text = "\n".join(["line"] * n_lines)
    return Piece(uri, uri, start, start + n_lines, 1, text, Why.OPENED)


def test_neighbours_of_one_file_share_a_heading() -> None:
    """A chunk holds pieces of one file up to its limit of lines."""
    chosen = [
        piece("a", 0, 10), piece("a", 20, 10), piece("a", 40, 10), piece("b", 0, 5),
        piece("a", 90, 1),
    ]  # fmt: skip
    chunks = group(chosen, max_lines=20)
    assert [(c.name, c.n_lines) for c in chunks] == [("a", 20), ("a", 10), ("b", 5), ("a", 1)]
    assert [p for c in chunks for p in c.pieces] == chosen
    assert all(c.size >= len(c.text) + len(c.name) for c in chunks)

"""Lines and an instruction into a question, and an answer into the lines that take their place."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.documents import Document, Position, apply_edits, open_document
from fim_lsp.instruct.answer import edits, place_lines, span
from fim_lsp.instruct.dialogue import (
    MESSAGE_CHARS,
    Selection,
    around,
    begin_answer,
    fix,
    further,
    select_lines,
    turn,
)
from fim_lsp.instruct.refusals import loses_secret

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
TEXT = "import os\n\n    def f(x):\n        return x\n\n    def g(y):\n        return y\n"


def document(text: str = TEXT) -> Document:
    return open_document("file:///a.py", "python", 1, text)


def selection(text: str = TEXT, first: int = 2, last: int = 4) -> Selection:
    return select_lines(document(text), Position(first, 0), Position(last, 0))


@pytest.mark.parametrize(
    ("start", "end", "lines"),
    [
        ((2, 0), (4, 0), (2, 4)),
        ((2, 7), (3, 3), (2, 4)),  # parts of lines are whole lines
        ((3, 3), (2, 7), (2, 4)),  # backwards
        ((2, 4), (2, 4), (2, 3)),  # a cursor is a line
        ((5, 0), (7, 0), (5, 7)),
        ((5, 0), (99, 0), (5, 7)),  # the empty rest behind the last line end is none
        ((1, 0), (5, 0), (2, 4)),  # blank lines at the ends stay as they are
        ((1, 0), (2, 0), (1, 2)),  # but where there is nothing else
    ],
)
def test_whole_lines_are_selected(
    start: tuple[int, int], end: tuple[int, int], lines: tuple[int, int]
) -> None:
    """From the line of one end to that of the other; a line that is ended before does not count."""
    found = select_lines(document(), Position(*start), Position(*end))
    assert (found.first, found.last) == lines


def test_a_question_shows_the_lines_without_what_all_begin_with() -> None:
    """Small models lose indentation; and the instruction stands last, behind what can be evaluated before."""
    asked = turn(selection(), "a.py", "python", "add types")
    assert "```python\ndef f(x):\n    return x\n```" in asked
    assert asked.endswith("Instruction:\nadd types")
    assert turn(selection(), "a.py", "python", "") == asked.removesuffix("add types")


@pytest.mark.promise("secrets-are-replaced")
def test_no_secret_is_in_a_question() -> None:
    """Neither of the lines, nor of the instruction, nor where it began above the selection."""
    block = (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1c7\nQ2FuYXJ5Q2FuYXJ5Q2Fu\n"
        "-----END RSA PRIVATE KEY-----\n"
    )
    shown = turn(selection(f"a = 1\ntoken = '{KEY}'\n", 0, 2), "a.py", "python", f"use {KEY}")
    assert KEY not in shown + further(KEY)
    assert "Q2Fu" not in turn(selection(block, 2, 3), "a.py", "python", "sort")


def test_a_block_of_lines_with_fences_has_a_longer_one() -> None:
    """So that they do not end it; and one of Markdown, into which the model may write some."""
    assert begin_answer(selection("a\n```\nb\n", 0, 3), "python") == "````python\n"
    assert begin_answer(selection("a\n````\nb\n", 0, 3), "markdown") == "`````markdown\n"
    assert begin_answer(selection("a\nb\n", 0, 2), "markdown") == "````markdown\n"
    assert begin_answer(selection("a\nb\n", 0, 2), "python") == "```python\n"


@pytest.mark.parametrize(
    "lines", [("def f(x: int):", "    return x"), ("    def f(x: int):", "        return x")]
)
def test_an_answer_is_indented_as_the_selection(lines: tuple[str, ...]) -> None:
    """Whether it came without the indentation or with it."""
    assert place_lines(selection(), lines) == ("    def f(x: int):", "        return x")


@pytest.mark.parametrize(
    "lines",
    [("    return x + 1", "", "def g(y, z):"), ("        return x + 1", "", "    def g(y, z):")],
)
def test_an_answer_may_go_on_less_indented_than_it_begins(lines: tuple[str, ...]) -> None:
    """As the selection does, whose first line is indented more than the others."""
    placed = place_lines(selection(first=3, last=6), lines)
    assert placed == ("        return x + 1", "", "    def g(y, z):")


def test_a_secret_that_comes_back_as_it_was_shown_is_put_back() -> None:
    """What the model was not shown is not lost; where it cannot be told where it belongs, the answer is refused."""
    shown = selection(f"user = 'me'\ntoken = '{KEY}'\n", 0, 2)
    hidden = shown.clean[1]
    assert place_lines(shown, ("name = 'me'", hidden)) == ("name = 'me'", f"token = '{KEY}'")
    assert not loses_secret(shown, place_lines(shown, ("name = 'me'", hidden)))
    assert loses_secret(shown, place_lines(shown, (hidden.replace("token", "key"),)))


@pytest.mark.promise("no-terminal-commands")
def test_what_a_model_writes_has_no_control_characters() -> None:
    """But for blanks, and those that the selection has."""
    shown = selection("a = '\x1b[0m'\n", 0, 1)
    assert place_lines(shown, ("a = '\x1b[0m\x08'\t\0\f",)) == ("a = '\x1b[0m'\t\f",)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_fewest_lines_are_changed(end: str) -> None:
    """Lines that stay are in no edit; line ends are those of the document."""
    text = end.join(["a", "b", "c", "d", ""])
    found = edits(document(text), 0, 4, ("a", "B", "c", "d", "e"))
    assert [(e.start, e.end, e.text) for e in found] == [
        ((1, 0), (2, 0), f"B{end}"),
        ((4, 0), (4, 0), f"e{end}"),
    ]


@pytest.mark.timed
def test_a_line_between_long_ones_is_selected_in_time() -> None:
    """Looking for secrets takes time with the text, so what is far away is not looked at."""
    text = ('password: (foo, "ab1cd" ' * 400 + "\n") * 100
    start = time.thread_time()
    shown = selection(f"{text}x = 1\n{text}", 100, 101)
    assert time.thread_time() - start < 2
    assert shown.clean == ("x = 1",)


@pytest.mark.promise("edits-can-be-undone")
@pytest.mark.timed
@pytest.mark.parametrize("every", [2, 3])
def test_lines_that_are_much_alike_are_compared_in_time(every: int) -> None:
    """A table of equal lines and an answer with some of them: what is equal at both ends stays."""
    before = document("top\n" + "x = 1\n" * 1_000 + "end\n")
    new = ("top", *("x = 1" if n % every else f"y{n}" for n in range(3_000)), "end")
    start = time.thread_time()
    found = edits(before, 0, 1_002, new)
    assert time.thread_time() - start < 2
    assert apply_edits(before, reversed(found), 2).text == "\n".join((*new, ""))
    assert found[0].start == (1, 0)
    assert found[-1].end < (1_001, 0)


@pytest.mark.timed
def test_many_secrets_are_put_back_in_time() -> None:
    """Each in its place, also where they were shown alike."""
    values = [f"password = 'Xy{n}zzQ!{n}w'" for n in range(2_000)]
    shown = selection("\n".join(values), 0, len(values))
    assert len({*values} & {*shown.clean}) < 9
    start = time.thread_time()
    assert list(place_lines(shown, shown.clean)) == values
    assert time.thread_time() - start < 0.5


lines = st.lists(st.sampled_from(["", "a", "b", "  c", "é"]), min_size=1, max_size=8)


@given(lines, lines, st.data(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_edits_make_the_new_lines_of_the_old(
    old: list[str], new: list[str], data: st.DataObject, end: str, is_ended: bool
) -> None:
    """Whatever is replaced, at the end of a file without a line end, too; the rest stays."""
    before = document(end.join(old) + end * is_ended)
    first = data.draw(st.integers(0, len(old) - 1))
    last = data.draw(st.integers(first + 1, len(old)))
    after = apply_edits(before, reversed(edits(before, first, last, new)), 2)
    eol = before.eol
    expected = [*old[:first], *new, *old[last:]]
    assert after.text.split(eol) == eol.join(expected).split(eol) + [""] * (
        is_ended and last <= len(old)
    )
    assert span(before, first, last)[0] == (first, 0)


def test_a_fix_tells_the_problem() -> None:
    """In a menu, cut, and to the model."""
    problem = 'Argument 1 to "price" has incompatible type "str"; expected "Money"'
    title, told = fix([problem])
    assert title.startswith('Fix: Argument 1 to "price"')
    assert problem in told


def test_a_fix_tells_no_part_of_a_secret() -> None:
    """A message is cut where it is long, and the beginning of a token is no token any more."""
    for n in range(MESSAGE_CHARS - len(KEY) - 2, MESSAGE_CHARS):
        told = turn(selection(), "a.py", "python", fix([f"{'x' * n} '{KEY}' is none"])[1])
        assert KEY[:8] not in told


def test_a_fix_may_change_the_block_around_the_fault() -> None:
    """Up to the blank lines around it, and a file of one block is not all of it."""
    assert around(document(), Position(3, 0), Position(3, 4)) == range(2, 4)
    assert around(document(), Position(3, 0), Position(4, 0)) == range(2, 4)  # all of the line
    assert len(around(document("x\n" * 100), Position(50, 0), Position(50, 1))) == 21
    assert around(document("x"), Position(7, 0), Position(9, 0)) == range(1)

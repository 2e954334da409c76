"""`fim_lsp.documents` against the plainest model there is: one string and offsets into it."""

from __future__ import annotations

import re
from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fim_lsp import documents
from fim_lsp.documents import (
    Document,
    Edit,
    Position,
    apply_edits,
    body,
    difference,
    line_end,
    open_document,
    split,
    split_stepwise,
    unix,
)

# What goes wrong in editors: wide and astral characters, combining ones, every line end, and the
# characters at which Python, but not LSP, ends a line.
TRICKY = [
    "a", "b", " ", "\t", "é", "e\u0301", "漢", "😀", "👩‍👩‍👧", "\n", "\r\n", "\r", "\f", "\v",
    "\x1c", "\x85", "\u2028", "\u2029",
]  # fmt: skip
texts = st.lists(st.sampled_from(TRICKY), max_size=24).map("".join)
positions = st.builds(Position, st.integers(0, 12), st.integers(0, 12))
edits = st.builds(
    lambda ends, text: Edit(min(ends), max(ends), text), st.tuples(positions, positions), texts
)


@pytest.mark.promise("odd-input")
@given(texts)
def test_lines_are_the_same_in_steps(text: str) -> None:
    """However the text is cut."""
    most = documents.STEP_CHARS
    documents.STEP_CHARS = 3
    try:
        *_, lines = split_stepwise(text)
    finally:
        documents.STEP_CHARS = most
    assert lines == split(text)


def test_a_step_has_no_more_than_a_loop_can_bear() -> None:
    """Millions of lines in one go would hold it for a second."""
    lengths = [len(lines) for lines in map(tuple, split_stepwise("x=1\n" * 500_000))]
    steps = [after - before for before, after in zip([0, *lengths], lengths, strict=False)]
    assert max(steps) <= documents.STEP_CHARS // 4 + 1


def document(text: str) -> Document:
    return open_document("file:///a.py", "python", 1, text)


def offset(text: str, position: Position) -> int:
    """Return where *position* is in *text*, clamped as LSP says; knows nothing of `documents`."""
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
    if not lines or lines[-1][-1] in "\r\n":
        lines.append("")
    if position.line >= len(lines):
        return len(text)
    starts = [0, *accumulate(map(len, lines))]
    return starts[position.line] + min(position.column, len(lines[position.line].rstrip("\r\n")))


@given(texts)
def test_lines_join_to_the_text(text: str) -> None:
    """No character is lost, and lines end where LSP says and nowhere else."""
    lines = split(text)
    assert "".join(lines) == text
    assert lines == re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)


@given(texts, texts)
def test_a_difference_makes_one_text_of_another(old: str, new: str) -> None:
    """As an edit like any other, also where only the end of a line changed."""
    before = document(old)
    after = document(new)
    assert apply_edits(before, [difference(before.lines, after.lines)], 2).lines == after.lines


@pytest.mark.parametrize(
    ("old", "new", "edit"),
    [
        ("a\nbcd\n", "a\nbxd\n", Edit(Position(1, 1), Position(1, 2), "x")),
        ("a\nb\n", "a\nb\nc\n", Edit(Position(2, 0), Position(2, 0), "c\n")),
        ("a\nb\nc\n", "a\nc\n", Edit(Position(1, 0), Position(2, 0), "")),
        ("a\r\nb", "a\nb", Edit(Position(0, 0), Position(1, 0), "a\n")),
        ("a", "a", Edit(Position(0, 1), Position(0, 1), "")),
        ("a\nb\nc", "a\n", Edit(Position(1, 0), Position(2, 1), "")),
    ],
)
def test_a_difference_is_as_small_as_lines_are(old: str, new: str, edit: Edit) -> None:
    """Within a line where it is one line that changed, else of whole lines."""
    assert difference(document(old).lines, document(new).lines) == edit


@given(texts, st.lists(edits, max_size=6))
def test_edits_agree_with_a_plain_string(text: str, changes: list[Edit]) -> None:
    """Any edits leave the text, and the lines, that the same edits leave of a plain string."""
    result = document(text)
    before = document(text)
    for edit in changes:
        text = text[: offset(text, edit.start)] + edit.text + text[offset(text, edit.end) :]
    result = apply_edits(result, changes, 7)
    assert result.text == text
    assert list(result.lines) == split(text)
    assert (result.version, result.uri, result.language) == (7, before.uri, before.language)


@given(texts, edits, positions)
def test_a_cursor_is_carried_along(text: str, edit: Edit, cursor: Position) -> None:
    """It stays in its text; where that was replaced, or something came in, it stands behind it."""
    before = document(text)
    edit = Edit(before.clamp(edit.start), before.clamp(edit.end), edit.text)
    cursor = before.clamp(cursor)
    after = apply_edits(before, [edit], 2)
    start, end, at = (offset(text, p) for p in (edit.start, edit.end, cursor))
    if at >= start:
        at = max(at, end) + len(edit.text) - (end - start)
    joined = text[:start] + edit.text + text[end:]
    assume("\r" not in joined)  # two halves of a line end may meet
    assert offset(after.text, edit.carry(cursor)) == at


@given(texts, positions, positions)
def test_between_is_the_slice(text: str, one: Position, other: Position) -> None:
    """The text between two positions is the slice between their offsets."""
    start, end = (document(text).clamp(p) for p in sorted((one, other)))
    assert document(text).between(start, end) == text[offset(text, start) : offset(text, end)]


@given(texts, positions)
def test_clamp_finds_a_position_that_exists(text: str, position: Position) -> None:
    """Clamping keeps the offset, happens once, and stays inside its line's body."""
    clamped = document(text).clamp(position)
    assert offset(text, clamped) == offset(text, position)
    assert document(text).clamp(clamped) == clamped
    assert clamped.column <= len(body(document(text).lines[clamped.line]))


@given(texts)
def test_a_line_is_its_body_and_its_end(text: str) -> None:
    """`body` and `line_end` take a line apart without loss."""
    for line in split(text):
        assert body(line) + line_end(line) == line
        assert line_end(line) in {"", "\n", "\r\n", "\r"}


@pytest.mark.parametrize(
    ("text", "eol"),
    [
        ("", "\n"), ("a", "\n"), ("a\nb\r\n", "\n"), ("a\r\nb\n", "\r\n"), ("a\rb", "\r"),
        ("\r\n", "\r\n"),
    ],
)  # fmt: skip
def test_eol_is_that_of_the_first_line(text: str, eol: str) -> None:
    """Inserted text gets the line ends the document has."""
    assert document(text).eol == eol


@pytest.mark.parametrize(
    ("text", "expected"), [("a\r\nb\rc\n", "a\nb\nc\n"), ("a\fb\u2028c", "a\fb\u2028c"), ("", "")]
)
def test_unix_changes_line_ends_only(text: str, expected: str) -> None:
    """Models see `\\n`; form feeds and the like stay."""
    assert unix(text) == expected

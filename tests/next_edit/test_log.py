"""Changes of documents into finished edits: grouped by place, undone ones forgotten, places carried."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.documents import Document, Edit, Position, after, apply_edits, body, open_document
from fim_lsp.next_edit.edits import FinishedEdit
from fim_lsp.next_edit.log import EDIT_LINES, EDITS, NAMED, SETTLED, TOGETHER, EditLog
from tests.typist import rewrite

LATER = 1000.0


class Editor:
    """A document and the log that follows it."""

    def __init__(self, text: str) -> None:
        self.log = EditLog()
        self.document = open_document("file:///a.py", "python", 1, text)
        self.now = 0.0

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        self.apply([Edit(Position(*start), Position(*end), text)])

    def apply(self, edits: list[Edit], seconds: float = 1.0) -> None:
        before = self.document
        self.now += seconds
        self.document = apply_edits(before, edits, before.version + 1)
        self.log.note_change(before, self.document, edits, self.now)

    def type(self, line: int, column: int, text: str) -> None:
        for n, key in enumerate(text):
            self.replace((line, column + n), (line, column + n), key)

    def edits(self) -> list[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        return [(e.line, e.before, e.after) for e in self.log.list_finished(LATER)]


# A text, calls of `Editor`, and the edits that they leave.
CASES: dict[str, tuple[str, list[tuple[Any, ...]], list[Any]]] = {
    "a word typed key by key": (
        "a = 1\nb = 2\nc = 3\n", [("type", 1, 5, "34")], [(1, ("b = 2",), ("b = 234",))],
    ),
    "two places": (
        "a = 1\nb = 2\nc = 3\nd = 4\n", [("type", 0, 5, "0"), ("type", 2, 5, "0")],
        [(0, ("a = 1",), ("a = 10",)), (2, ("c = 3",), ("c = 30",))],
    ),
    "lines typed one after the other": (
        "a\nb\n", [("type", 0, 1, "\n"), ("type", 1, 0, "x\n"), ("type", 2, 0, "y")],
        [(1, (), ("x", "y"))],
    ),
    "lines deleted one after the other": (
        "a\nb\nc\nd\n", [("replace", (1, 0), (2, 0), ""), ("replace", (1, 0), (2, 0), "")],
        [(1, ("b", "c"), ())],
    ),
    "one that is undone at once": (
        "a = 1\n", [("type", 0, 5, "0"), ("replace", (0, 5), (0, 6), "")], [],
    ),
    "one that is undone after another that is": (
        "a = 1\nb = 2\n\n\nc = 3\n",
        [
            ("type", 0, 5, "0"), ("type", 4, 5, "0"),
            ("replace", (4, 5), (4, 6), ""), ("replace", (0, 5), (0, 6), ""),
        ],
        [],
    ),
    "one that is undone though another came later": (
        "a = 1\n\nb = 2\n",
        [("type", 0, 5, "0"), ("type", 2, 5, "0"), ("replace", (0, 5), (0, 6), "")],
        [(2, ("b = 2",), ("b = 20",))],
    ),
    "places move with the text above them": (
        "a = 1\nb = 2\nc = 3\n", [("type", 2, 5, "0"), ("replace", (0, 0), (0, 0), "x\ny\n")],
        [(4, ("c = 3",), ("c = 30",)), (0, (), ("x", "y"))],
    ),
    "a line above that is inserted right at the place": (
        "a = 1\nb = 2\nc = 3\n",
        [("type", 1, 5, "0"), ("type", 2, 5, "0"), ("replace", (1, 0), (1, 0), "x\n")],
        [(2, ("b = 2",), ("b = 20",)), (3, ("c = 3",), ("c = 30",)), (1, (), ("x",))],
    ),
    "too many lines": ("", [("replace", (0, 0), (0, 0), "x\n" * (EDIT_LINES + 1))], []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "calls", "edits"), CASES.values(), ids=CASES)
def test_changes_become_edits(text: str, calls: list[tuple[Any, ...]], edits: list[Any]) -> None:
    """What follows at one place is one edit, with its line as it is now; what is undone is none."""
    editor = Editor(text)
    for name, *arguments in calls:
        getattr(editor, name)(*arguments)
    assert editor.edits() == edits


@pytest.mark.parametrize(
    ("text", "n_edits"), [("a\nx\ny\nb\n", 1), ("a\nb\n", 0), ("a\n", 0), ("a\ny\nx\n", 0)]
)
def test_a_text_that_is_opened_again_without_its_edits_has_none(text: str, n_edits: int) -> None:
    """It was closed unsaved, or changed since; what still says what they left keeps them."""
    editor = Editor("a\nb\n")
    editor.replace((0, 1), (0, 1), "\nx\ny")
    editor.log.reopen(open_document("file:///b.py", "python", 1, ""))
    editor.log.reopen(open_document("file:///a.py", "python", 1, text))
    assert len(editor.edits()) == n_edits


def test_the_newest_edit_counts_after_a_pause() -> None:
    """While the user types, the edit is not finished."""
    editor = Editor("a = 1\n")
    editor.type(0, 5, "0")
    assert editor.log.list_finished(editor.now + SETTLED / 2) == ()
    assert len(editor.log.list_finished(editor.now + 2 * SETTLED)) == 1


def test_a_forgotten_document_is_in_no_edit() -> None:
    """A document that becomes private takes its edits with it."""
    editor = Editor("a = 1\n")
    editor.type(0, 5, "0")
    editor.log.forget("file:///a.py")
    assert editor.edits() == []


def test_the_log_is_bounded() -> None:
    """Old edits go."""
    editor = Editor("a\n\n" * 2 * EDITS)
    for n in range(2 * EDITS):
        editor.replace((2 * n, 0), (2 * n, 1), "b")
    assert len(editor.edits()) == EDITS


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_message_of_many_edits_and_a_whole_text_say_the_same(end: str) -> None:
    """A rename by the editor, in one message or as a new text."""
    text = end.join(["old = 1", "", "print(old)", ""])
    parts = Editor(text)
    whole = Editor(text)
    parts.apply(
        [Edit(Position(2, 6), Position(2, 9), "new"), Edit(Position(0, 0), Position(0, 3), "new")]
    )
    whole.apply([rewrite(text.replace("old", "new"))])
    assert parts.edits() == [(0, ("old = 1",), ("new = 1",)), (2, ("print(old)",), ("print(new)",))]
    assert whole.edits() == [(0, ("old = 1", "", "print(old)"), ("new = 1", "", "print(new)"))]


SIX = [0, 2, 4, 5, 6, 8]  # rows with a cursor each, some beside each other
ROWS = {"from the bottom": SIX[::-1], "from the top": SIX, "as they were set": [4, 8, 0, 6, 2, 5]}


@pytest.mark.parametrize("is_one_message", [True, False])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_keys_at_several_cursors_are_an_edit_for_each(
    rows: list[int], *, is_one_message: bool
) -> None:
    """Ten keys at six are six, in the order of their lines, however the editor tells of them."""
    editor = Editor("x = a\n" * 9)
    editor.type(7, 5, "0")
    for n in range(10):
        keys = [Edit(Position(row, 5 + n), Position(row, 5 + n), "b") for row in rows]
        for message in [keys] if is_one_message else [[key] for key in keys]:
            editor.apply(message, TOGETHER / 20)
        editor.now += 2.0  # a slow typist
    made = ("x = a" + "b" * 10,)
    assert editor.edits() == [
        (7, ("x = a",), ("x = a0",)), *((row, ("x = a",), made) for row in SIX),
    ]  # fmt: skip


def test_names_that_are_typed_at_several_cursors_are_half_typed_at_each() -> None:
    """None of them counts before the pause."""
    editor = Editor("a = 1\nb\nc = 2\n")
    editor.apply([Edit(Position(row, 5), Position(row, 5), "0") for row in (2, 0)])
    assert editor.log.list_finished(editor.now + SETTLED / 2) == ()
    assert len(editor.log.list_finished(editor.now + 2 * SETTLED)) == 2


def test_a_line_that_is_changed_again_later_is_another_edit() -> None:
    """What came between was another key: the user went back, and what followed is from before."""
    editor = Editor("one\n\none\n")
    for row, column, new in [(0, 3, "_a"), (2, 3, "_a"), (0, 5, "_b")]:
        editor.replace((row, column), (row, column), new)
    assert editor.edits() == [
        (0, ("one",), ("one_a",)), (2, ("one",), ("one_a",)), (0, ("one_a",), ("one_a_b",)),
    ]  # fmt: skip


LINES = st.lists(st.sampled_from(["a", "bb", "", "c d"]), max_size=6)


@st.composite
def edits(draw: st.DrawFn, document: Document) -> Edit:
    places = sorted(
        document.clamp(Position(draw(st.integers(0, 8)), draw(st.integers(0, 4)))) for _ in "12"
    )
    return Edit(places[0], places[1], "\n".join(draw(LINES)))


@given(st.data(), LINES)
def test_the_newest_edit_leads_to_the_text_as_it_is(data: st.DataObject, lines: list[str]) -> None:
    """Its lines after stand where it says; with those before in their place, it was not made."""
    editor = Editor("\n".join(lines))
    for _ in range(data.draw(st.integers(1, 6))):
        editor.apply([data.draw(edits(editor.document))])
        done = editor.log.list_finished(LATER)
        if done and done[-1].at == editor.now:
            now = tuple(map(body, editor.document.lines))
            assert now[done[-1].line :][: len(done[-1].after)] == done[-1].after
            assert done[-1].before != done[-1].after


@given(st.data(), LINES)
def test_taking_an_edit_back_leaves_none(data: st.DataObject, lines: list[str]) -> None:
    """Whatever the change was, as the editor takes it back."""
    editor = Editor("\n".join(lines))
    edit = data.draw(edits(editor.document))
    old = editor.document.between(edit.start, edit.end)
    editor.apply([edit])
    editor.apply([Edit(edit.start, after(edit.start, edit.text), old)])
    assert editor.log.list_finished(LATER) == ()


def test_edits_are_told_in_their_order() -> None:
    """Oldest first, with the lines around them and the time of the last keystroke."""
    editor = Editor("a\n\nb\nc\n")
    editor.type(2, 1, "12")
    editor.type(0, 1, "3")
    assert editor.log.list_finished(LATER) == (
        FinishedEdit("file:///a.py", 2, ("b",), ("b12",), "", "c", 2.0),
        FinishedEdit("file:///a.py", 0, ("a",), ("a3",), "", "", 3.0),
    )


@pytest.mark.parametrize(
    ("cursor", "seconds"),
    [
        ((0, 7), NAMED),  # it may go on
        ((0, 6), SETTLED),  # Escape steps back
        ((0, 3), SETTLED),  # a name that was there before
        ((0, 9), SETTLED),
        (None, SETTLED),
    ],
)
def test_a_name_that_is_typed_takes_longer(cursor: tuple[int, int] | None, seconds: float) -> None:
    """Its uses would be offered a half-typed one."""
    editor = Editor("say(old, 1)\nsay(old)\n")
    editor.replace((0, 4), (0, 7), "")
    editor.type(0, 4, "new")
    place = Position(*cursor) if cursor else None
    unsettled = editor.log.seconds_unsettled(editor.now, "file:///a.py", place)
    assert unsettled == pytest.approx(seconds)
    elsewhere = editor.log.seconds_unsettled(editor.now, "file:///b.py", place)
    assert elsewhere == pytest.approx(SETTLED)
    editor.log.settle(editor.now)
    assert editor.log.seconds_unsettled(editor.now, "file:///a.py", place) == 0

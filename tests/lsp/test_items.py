"""`fim_lsp.lsp.items`: suggestions into ghost text, and into items of menus."""

from __future__ import annotations

import attrs
import pytest

from fim_lsp.documents import Document, Position, open_document
from fim_lsp.lsp import items
from fim_lsp.lsp.structure import types
from fim_lsp.suggest.request import Suggestion


def document(text: str, language: str = "python") -> Document:
    return open_document("file:///a.py", language, 1, text)


def menu_item(
    document: Document,
    suggestion: Suggestion,
    cursor: Position,
    encoding: str,
    menu: items.Menu = items.PLAIN_MENU,
) -> types.CompletionItem:
    """Return the item of a suggestion that has one."""
    item = items.completion_item(document, suggestion, cursor, encoding, menu)
    assert item is not None
    return item


def suggestion(text: str, start: tuple[int, int], end: tuple[int, int] | None = None) -> Suggestion:
    return Suggestion("s1", Position(*start), Position(*(end or start)), text)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 8), ("utf-16", 4), ("utf-32", 3)])
def test_ghost_text_says_range_and_command(encoding: str, column: int) -> None:
    """An inline item is plain text at a range in the client's units, with the command to run."""
    item = items.inline_item(document("漢😀()\r\n"), suggestion("x)\ny", (0, 3), (0, 4)), encoding)
    assert attrs.asdict(item) == attrs.asdict(
        types.InlineCompletionItem(
            insert_text="x)\ny",
            range=types.Range(types.Position(0, column), types.Position(0, column + 1)),
            command=types.Command("Accept completion", items.ACCEPTED, arguments=["s1"]),
        )
    )


@pytest.mark.parametrize(
    ("line", "text", "start", "new_text", "filter_text", "label"),
    [
        ("    ret", "urn 1", 4, "return 1", "return 1", "return 1"),
        ("    ret", "urn [\n    ]", 4, "return [\r\n    ]", "return [", "return […"),
        ("größe_2", " = 1", 0, "größe_2 = 1", "größe_2 = 1", "größe_2 = 1"),
        ("def f():", "\n    pass", 8, "\r\n    pass", "", "pass"),
        ("a." + "b" * 80, "c", 2, "b" * 80 + "c", "b" * 80 + "c", "b" * 60 + "…"),
    ],
)
def test_a_menu_item_begins_with_the_word(
    line: str, text: str, start: int, new_text: str, filter_text: str, label: str
) -> None:
    """Menus filter by the word before the cursor, so text, range and filter begin there."""
    cursor = Position(0, len(line))
    item = menu_item(document(f"{line}\r\nend"), suggestion(text, cursor), cursor, "utf-32")
    assert isinstance(item.text_edit, types.TextEdit)
    assert item.text_edit.new_text == new_text
    assert item.text_edit.range.start == types.Position(0, start)
    assert item.text_edit.range.end == types.Position(0, len(line))
    assert (item.filter_text, item.label) == (filter_text, label)
    assert item.insert_text_format == types.InsertTextFormat.PlainText
    assert item.preselect is None
    assert item.command


def test_a_literal_menu_item_filters_by_its_whole_text() -> None:
    """kakoune-lsp inserts an item as it is only where filter text and new text are the same."""
    cursor = Position(0, 3)
    client = items.Menu(filters_by="text")
    offered = suggestion(" f($1):\n    pass", cursor)
    item = menu_item(document("def\nend"), offered, cursor, "utf-8", client)
    assert isinstance(item.text_edit, types.TextEdit)
    assert item.filter_text == item.text_edit.new_text == "def f($1):\n    pass"


@pytest.mark.parametrize(
    ("indents", "text", "mode"),
    [
        (True, "return [\n        a\n    ]", types.InsertTextMode.AsIs),
        (True, "\n    a", types.InsertTextMode.AsIs),
        (True, "return a", None),
        (False, "return [\n    ]", None),
    ],
)
def test_lines_of_a_menu_item_are_indented_once(indents: bool, text: str, mode: object) -> None:
    """A client that would indent them is told that they are, where it can be told."""
    cursor = Position(0, 4)
    item = menu_item(
        document("    "), suggestion(text, cursor), cursor, "utf-16", items.Menu(indents=indents)
    )
    assert item.insert_text_mode == mode


@pytest.mark.parametrize(
    ("end", "text", "new_text"),
    [
        (5, "a, {$b\\})", "a, {\\$b\\\\\\})$0"),
        (4, "a, {$b\\})", "a, {$b\\})"),
        (5, "a):\n        b\n    c", "a):\n    b\nc$0"),
        (5, "a)\n\n    b", "a)\n\n    b"),
        (5, "a)\n}", "a)\n}"),
    ],
)
def test_the_cursor_stands_behind_what_takes_the_place_of_brackets(
    end: int, text: str, new_text: str
) -> None:
    """As a snippet says it, whose lines clients indent; what replaces nothing, or is indented less, stays a text."""
    cursor = Position(0, 4)
    offered = suggestion(text, cursor)._replace(end=Position(0, end))
    item = menu_item(document("    )"), offered, cursor, "utf-16", items.Menu(misplaces=True))
    edit = item.text_edit
    assert isinstance(edit, types.TextEdit)
    assert edit.new_text == new_text
    assert (item.insert_text_format is types.InsertTextFormat.Snippet) == new_text.endswith("$0")


def test_the_preview_fence_outlasts_the_code() -> None:
    """Code that holds a Markdown fence is still shown whole."""
    item = menu_item(
        document("", "markdown"),
        suggestion("````\na\n````", (0, 0)),
        Position(0, 0),
        "utf-8",
        items.Menu(reads_markdown=True),
    )
    assert isinstance(item.documentation, types.MarkupContent)
    assert item.documentation.value == "`````markdown\n````\na\n````\n`````"


def test_a_word_that_never_ends_is_no_word() -> None:
    """A menu item would repeat all of it, for each suggestion."""
    line = document("x" * 100_000)
    cursor = Position(0, 100_000)
    item = menu_item(line, suggestion("y", cursor), cursor, "utf-16")
    assert isinstance(item.text_edit, types.TextEdit)
    assert item.text_edit.new_text == "y"


@pytest.mark.parametrize(
    ("line", "text", "end", "inserted"),
    [
        ("all(x)", "y)", 6, "xy"),
        ("all(x)", "y):\n    f(x)", 6, "xy):\n    f(x"),
        ("all(x)", "y, z", 5, "xy, z"),
        ("all(x)", "y", 6, None),
        ("all(x)", ")", 6, None),
        ("all(xy", "y, z", 5, None),
        ("all(x)", "y, $a, $(b), $$", 5, "xy, $a, $(b), $$"),
        ("all(x)", "y,\n    $1)", 5, "xy,"),
        ("all(x)", 'y, "${a}")', 6, None),
    ],
)
def test_a_client_that_writes_over_the_word_gets_what_it_inserts_right(
    line: str, text: str, end: int, inserted: str | None
) -> None:
    """Nothing that stands behind the cursor, and no `$1` or `${…}` if the client removes them."""
    offered = suggestion(text, (0, 5), (0, end))
    menu = items.Menu(takes="word", eats=True)
    item = items.completion_item(document(line), offered, Position(0, 5), "utf-16", menu)
    assert (item and item.insert_text) == inserted


def test_a_client_filters_by_what_the_range_covers() -> None:
    """CodeMirror also by what stands behind the cursor; where that is nothing, by nothing."""
    offered = suggestion("y):", (0, 5), (0, 6))
    menu = items.Menu(filters_by="range")
    assert (
        menu_item(document("all(x)"), offered, Position(0, 5), "utf-16", menu).filter_text == "x)"
    )
    empty = menu_item(document(""), suggestion("y", (0, 0)), Position(0, 0), "utf-16", menu)
    assert empty.filter_text is None


def test_text_and_preview_are_said_in_every_form() -> None:
    """`insertText` for clients without `textEdit`, a plain text for those that read no Markdown."""
    item = menu_item(document("x = "), suggestion("a\nb", (0, 4)), Position(0, 4), "utf-16")
    assert (item.insert_text, item.documentation) == ("a\nb", "a\nb")

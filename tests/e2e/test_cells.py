"""A notebook in an editor, on a real process."""

from __future__ import annotations

from tests.e2e.client import EMBEDDED, GHOST_TEXT, INLINE, Editor, at, insertion
from tests.places import SHOP

BOOK = f"{SHOP}/book.ipynb"
BOOKS = {**GHOST_TEXT, "notebookDocument": {"synchronization": {}}}


def cell(name: str) -> dict[str, object]:
    return {"kind": 2, "document": f"cell:{name}"}


def text(name: str, content: str) -> dict[str, object]:
    return {"uri": f"cell:{name}", "languageId": "python", "version": 1, "text": content}


def open_book(editor: Editor, names: list[str], texts: list[dict[str, object]]) -> None:
    cells = [cell(name) for name in names]
    book = {"uri": BOOK, "notebookType": "jupyter", "version": 1, "cells": cells}
    params = {"notebookDocument": book, "cellTextDocuments": texts}
    editor.notify("notebookDocument/didOpen", params)


def change_book(editor: Editor, version: int, **cells: object) -> None:
    params = {"notebookDocument": {"uri": BOOK, "version": version}, "change": {"cells": cells}}
    editor.notify("notebookDocument/didChange", params)


def change_cell(editor: Editor, name: str, version: int, change: dict[str, object]) -> None:
    document = {"uri": f"cell:{name}", "version": version}
    change_book(editor, version, textContent=[{"document": document, "changes": [change]}])


def test_a_cell_gets_suggestions_at_its_own_lines(editor: Editor) -> None:
    """Cells are opened, edited, moved and closed; ranges are the cell's, in the editor's columns."""
    capabilities = editor.initialize(capabilities=BOOKS, initializationOptions=EMBEDDED)
    assert capabilities["notebookDocumentSync"] == {"notebookSelector": [{"notebook": "*"}]}
    area = text("a", "def area(width, height):\n    return width * height")
    open_book(editor, ["a"], [area])
    structure = {
        "array": {"start": 1, "deleteCount": 0, "cells": [cell("b")]},
        "didOpen": [text("b", "# 漢😀\nprint('😀', area(wi))")],
    }
    change_book(editor, 2, structure=structure)
    change_cell(editor, "b", 2, insertion(1, 19, "d"))
    params = at("cell:b", 1, 20)
    item, *_ = editor.request(INLINE, params)["items"]
    assert item["range"]["start"] == {"line": 1, "character": 20}
    assert item["insertText"].startswith("th")
    editor.notify("notebookDocument/didSave", {"notebookDocument": {"uri": BOOK}})
    editor.notify("textDocument/didFocus", {"textDocument": {"uri": "cell:b"}})
    closed = {"notebookDocument": {"uri": BOOK}, "cellTextDocuments": [{"uri": "cell:b"}]}
    editor.notify("notebookDocument/didClose", closed)
    assert editor.request(INLINE, params) == {"items": []}


def test_the_next_edit_is_one_of_a_cell(editor: Editor) -> None:
    """A name that was renamed in one cell is offered in the next one, at its own lines."""
    editor.initialize(capabilities=BOOKS)
    texts = [
        text("a", "print(hight)\ncheck(hight)"),
        {**text("note", "The hight of things."), "languageId": "markdown"},
        text("b", "x = 1\narea = hight * width"),
    ]
    open_book(editor, ["a", "note", "b"], texts)
    for line, version in ((0, 2), (1, 3)):
        change_cell(editor, "a", version, insertion(line, 7, "e"))
    asked = at("cell:a", 1, 8)
    others = {**asked, "context": {"triggerKind": 2, "otherDocuments": True}}
    (item,) = editor.request("textDocument/copilotInlineEdit", others)["edits"]
    assert item["textDocument"] == {"uri": "cell:b", "version": 1}
    assert item["range"]["start"] == {"line": 1, "character": 0}
    assert item["range"]["end"] == {"line": 1, "character": 20}
    assert item["text"] == "area = height * width"
    assert item["why"].startswith("It repeats your edit in book.ipynb, line 2")
    assert editor.request("textDocument/copilotInlineEdit", asked) == {"edits": []}

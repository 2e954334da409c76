"""A notebook in an editor, on a real process."""

from __future__ import annotations

from tests.e2e.client import GHOST_TEXT, Editor

BOOK = "file:///shop/book.ipynb"
INLINE = "textDocument/inlineCompletion"


def cell(name: str) -> dict[str, object]:
    return {"kind": 2, "document": f"cell:{name}"}


def text(name: str, content: str) -> dict[str, object]:
    return {"uri": f"cell:{name}", "languageId": "python", "version": 1, "text": content}


def test_a_cell_gets_suggestions_at_its_own_lines(editor: Editor) -> None:
    """Cells are opened, edited, moved and closed; ranges are the cell's, in the editor's columns."""
    capabilities = editor.initialize(
        capabilities={**GHOST_TEXT, "notebookDocument": {"synchronization": {}}},
        initializationOptions={"fim.backend.kind": "embedded"},
    )
    assert capabilities["notebookDocumentSync"] == {"notebookSelector": [{"notebook": "*"}]}

    opened = {"uri": BOOK, "notebookType": "jupyter", "version": 1, "cells": [cell("a")]}
    area = text("a", "def area(width, height):\n    return width * height")
    editor.notify(
        "notebookDocument/didOpen", {"notebookDocument": opened, "cellTextDocuments": [area]}
    )
    version = {"uri": BOOK, "version": 2}
    structure = {
        "array": {"start": 1, "deleteCount": 0, "cells": [cell("b")]},
        "didOpen": [text("b", "# 漢😀\nprint('😀', area(wi))")],
    }
    editor.notify(
        "notebookDocument/didChange",
        {"notebookDocument": version, "change": {"cells": {"structure": structure}}},
    )
    place = {"line": 1, "character": 19}
    insertion = {"range": {"start": place, "end": place}, "text": "d"}
    content = [{"document": {"uri": "cell:b", "version": 2}, "changes": [insertion]}]
    editor.notify(
        "notebookDocument/didChange",
        {"notebookDocument": version, "change": {"cells": {"textContent": content}}},
    )
    at = {"line": 1, "character": 20}
    params = {"textDocument": {"uri": "cell:b"}, "position": at, "context": {"triggerKind": 1}}
    item, *_ = editor.request(INLINE, params)["items"]

    assert item["range"]["start"] == at
    assert item["insertText"].startswith("th")

    editor.notify("notebookDocument/didSave", {"notebookDocument": {"uri": BOOK}})
    editor.notify("textDocument/didFocus", {"textDocument": {"uri": "cell:b"}})
    closed = {"notebookDocument": {"uri": BOOK}, "cellTextDocuments": [{"uri": "cell:b"}]}
    editor.notify("notebookDocument/didClose", closed)
    assert editor.request(INLINE, params) == {"items": []}


def test_the_next_edit_is_one_of_a_cell(editor: Editor) -> None:
    """A name that was renamed in one cell is offered in the next one, at its own lines."""
    editor.initialize(capabilities={**GHOST_TEXT, "notebookDocument": {"synchronization": {}}})
    opened = {"uri": BOOK, "notebookType": "jupyter", "version": 1}
    cells = [cell("a"), cell("note"), cell("b")]
    texts = [
        text("a", "print(hight)\ncheck(hight)"),
        {**text("note", "The hight of things."), "languageId": "markdown"},
        text("b", "x = 1\narea = hight * width"),
    ]
    document = {**opened, "cells": cells}
    editor.notify(
        "notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": texts}
    )
    for line, version in ((0, 2), (1, 3)):
        place = {"line": line, "character": 7}
        change = {"range": {"start": place, "end": place}, "text": "e"}
        content = [{"document": {"uri": "cell:a", "version": version}, "changes": [change]}]
        editor.notify(
            "notebookDocument/didChange",
            {
                "notebookDocument": {"uri": BOOK, "version": version},
                "change": {"cells": {"textContent": content}},
            },
        )
    asked = {
        "textDocument": {"uri": "cell:a", "version": 3},
        "position": {"line": 1, "character": 8},
    }
    others = {**asked, "context": {"triggerKind": 2, "otherDocuments": True}}
    (item,) = editor.request("textDocument/copilotInlineEdit", others)["edits"]

    assert item["textDocument"] == {"uri": "cell:b", "version": 1}
    assert item["range"] == {
        "start": {"line": 1, "character": 0},
        "end": {"line": 1, "character": 20},
    }
    assert item["text"] == "area = height * width"
    assert item["why"].startswith("It repeats your edit in book.ipynb, line 2")
    assert editor.request("textDocument/copilotInlineEdit", asked) == {"edits": []}

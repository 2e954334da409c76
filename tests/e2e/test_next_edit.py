"""The code action "Apply the next edit", from a real server."""

from __future__ import annotations

import time

import pytest

from tests.e2e.client import GHOST_TEXT, PATIENCE_S, Editor

A = "file:///shop/a.py"
B = "file:///shop/b.py"
COMMAND = {"title": "the next edit was applied", "command": "fim.didApplyNextEdit"}
WHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


def rename(editor: Editor, line: int, character: int, version: int) -> None:
    at = {"line": line, "character": character}
    change = {"range": {"start": at, "end": at}, "text": "e"}
    document = {"uri": A, "version": version}
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})


def actions(editor: Editor, only: list[str] | None = None) -> list[dict[str, object]]:
    context = {"diagnostics": [], **({"only": only} if only else {})}
    params = {"textDocument": {"uri": A}, "range": WHERE, "context": context}
    found: list[dict[str, object]] | None = editor.request("textDocument/codeAction", params)
    return found or []


def action(editor: Editor) -> dict[str, object]:
    """The code action; an edit counts as finished only after a pause."""
    end = time.monotonic() + PATIENCE_S
    while not (found := actions(editor)):
        assert time.monotonic() < end, "no code action came"
    return found[0]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_next_edit_is_a_code_action(editor: Editor, end: str) -> None:
    """With the edit, of the version that we know; counted when it was applied."""
    versions = {"workspace": {"workspaceEdit": {"documentChanges": True}}}
    capabilities = editor.initialize(capabilities={**GHOST_TEXT, **versions})
    assert capabilities["codeActionProvider"]["codeActionKinds"] == ["refactor.rewrite"]
    editor.open(A, end.join(["print('é', hight)", "check(hight)", "area = hight * width", ""]))
    rename(editor, 0, 12, 2)
    rename(editor, 1, 7, 3)

    found = action(editor)
    assert found["title"] == "Apply the next edit, line 3: area = height * width"
    assert found["edit"] == {
        "documentChanges": [
            {
                "textDocument": {"uri": A, "version": 3},
                "edits": [
                    {
                        "range": {
                            "start": {"line": 2, "character": 0},
                            "end": {"line": 2, "character": 20},
                        },
                        "newText": "area = height * width",
                    }
                ],
            }
        ]
    }
    assert actions(editor, ["quickfix"]) == []
    assert len(actions(editor, ["refactor"])) == 1
    editor.request("workspace/executeCommand", found["command"])
    assert editor.request("fim/stats")["nextEdit"] == {
        "offered": 1, "shown": 0, "taken": 1, "dismissed": 0
    }  # fmt: skip
    assert actions(editor) == [{**found, "command": {**COMMAND, "arguments": ["2"]}}]
    editor.request("workspace/executeCommand", {"command": "fim.dismissNextEdit"})
    assert all("height" not in str(each["title"]) for each in actions(editor))
    editor.finish()
    assert editor.bye() == 0


def inline_edits(editor: Editor, uri: str = A, **context: object) -> list[dict[str, object]]:
    """What sidekick.nvim asks for, and the others like it."""
    asked = {
        "textDocument": {"uri": uri, "version": 3},
        "position": {"line": 1, "character": 7},
        "context": {"triggerKind": 2, **context},
    }
    found: list[dict[str, object]] = editor.request("textDocument/copilotInlineEdit", asked)[
        "edits"
    ]
    return found


def test_it_is_drawn_by_clients_of_copilots_protocol(editor: Editor) -> None:
    """One request is enough: it waits until the edit is finished. Counted as shown, once, and explained."""
    editor.initialize()
    editor.open(A, "print(hight)\r\ncheck(hight)\r\narea = hight * width\r\n")
    editor.open(B, "print(width)\n")
    rename(editor, 0, 7, 2)
    rename(editor, 1, 7, 3)

    (item,) = inline_edits(editor)
    why = "It repeats your edit in a.py, line 2: `check(hight)` became `check(height)`, as 1 earlier edit did."
    start, end = {"line": 2, "character": 0}, {"line": 2, "character": 20}
    assert item == {
        "textDocument": {"uri": A, "version": 3},
        "range": {"start": start, "end": end},
        "text": "area = height * width",
        "command": {**COMMAND, "arguments": ["1"]},
        "why": why,
    }
    for _ in range(2):
        editor.notify("textDocument/didShowInlineEdit", {"item": {"command": item["command"]}})
    assert editor.request("workspace/executeCommand", {"command": "fim.whyNextEdit"}) == why
    assert inline_edits(editor, B) == []  # such clients would show it in this document
    assert inline_edits(editor, B, otherDocuments=True) == [item]
    editor.request("workspace/executeCommand", item["command"])
    counted = {"offered": 1, "shown": 1, "taken": 1, "dismissed": 0}
    assert editor.request("fim/stats")["nextEdit"] == counted
    assert editor.request("textDocument/copilotInlineEdit", {}) == {"edits": []}
    editor.finish()
    assert editor.bye() == 0


def test_it_can_be_switched_off(editor: Editor) -> None:
    """Then there is no code action, whatever is edited."""
    editor.initialize(initializationOptions={"fim": {"nextEdit": {"enabled": False}}})
    editor.open(A, "print(hight)\ncheck(hight)\narea = hight * width\n")
    rename(editor, 0, 7, 2)
    rename(editor, 1, 7, 3)

    assert actions(editor) == []
    editor.finish()
    assert editor.bye() == 0

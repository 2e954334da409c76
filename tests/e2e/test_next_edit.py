"""The code action "Apply the next edit", from a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import GHOST_TEXT, Editor, at, insertion, wait_until
from tests.places import SHOP

A = f"{SHOP}/a.py"
B = f"{SHOP}/b.py"
COMMAND = {"title": "the next edit was applied", "command": "fim.didApplyNextEdit"}
COPILOT = "textDocument/copilotInlineEdit"
LINE_3 = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 20}}
WHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


def rename(editor: Editor, line: int, character: int, version: int, uri: str = A) -> None:
    editor.change(uri, version, insertion(line, character, "e"))


def actions(editor: Editor, only: list[str] | None = None, uri: str = A) -> list[dict[str, object]]:
    context = {"diagnostics": [], **({"only": only} if only else {})}
    params = {"textDocument": {"uri": uri}, "range": WHERE, "context": context}
    found: list[dict[str, object]] | None = editor.request("textDocument/codeAction", params)
    return found or []


def action(editor: Editor) -> dict[str, object]:
    """Return the code action; an edit counts as finished only after a pause."""
    return wait_until(lambda: actions(editor), "a code action")[0]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_the_next_edit_is_a_code_action(editor: Editor, eol: str) -> None:
    """With the edit, of the version that we know; counted when it was applied."""
    versions = {"workspace": {"workspaceEdit": {"documentChanges": True}}}
    capabilities = editor.initialize(capabilities={**GHOST_TEXT, **versions})
    assert capabilities["codeActionProvider"]["codeActionKinds"] == ["refactor.rewrite", "quickfix"]
    editor.open(A, eol.join(["print('é', hight)", "check(hight)", "area = hight * width", ""]))
    rename(editor, 0, 12, 2)
    rename(editor, 1, 7, 3)

    found = action(editor)
    assert found["title"] == "Apply the next edit, line 3: area = height * width"
    edit = {"range": LINE_3, "newText": "area = height * width"}
    document = {"uri": A, "version": 3}
    assert found["edit"] == {"documentChanges": [{"textDocument": document, "edits": [edit]}]}
    assert actions(editor, ["quickfix"]) == []
    assert len(actions(editor, ["refactor"])) == 1
    editor.request("workspace/executeCommand", found["command"])
    counted = {"offered": 1, "shown": 0, "taken": 1, "dismissed": 0}
    assert editor.request("fim/stats")["nextEdit"] == counted
    assert actions(editor) == []  # the text is as it was: it was undone


def test_it_can_be_dismissed(editor: Editor) -> None:
    """Then the like is not offered any more."""
    editor.initialize()
    editor.open(A, "print(hight)\ncheck(hight)\narea = hight * width\ntotal = hight + 1\n")
    rename(editor, 0, 7, 2)
    rename(editor, 1, 7, 3)
    action(editor)
    editor.command("fim.dismissNextEdit")

    assert all("height" not in str(each["title"]) for each in actions(editor))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a workspace with one file that is open in the tests and two that are not."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name, text in (("a.py", RENAMED), ("b.py", "area = hight * width\r\n"), ("c.txt", "hight")):
        (folder / name).write_text(text, newline="")
    return folder


RENAMED = "print(hight)\ncheck(hight)\n"
DOCUMENT_CHANGES = {
    **GHOST_TEXT,
    "workspace": {"workspaceEdit": {"documentChanges": True}, "applyEdit": True},
    "window": {"showDocument": {"support": True}},
}


def renamed_in(editor: Editor, folder: Path) -> str:
    """Both lines of a.py say `height`; the URI of the file is returned."""
    editor.initialize(rootUri=folder.as_uri(), capabilities=DOCUMENT_CHANGES)
    uri = (folder / "a.py").as_uri()
    editor.open(uri, RENAMED)
    for line, version in ((0, 2), (1, 3)):
        rename(editor, line, 7, version, uri)
        inline_edits(editor, uri)  # the files are listed once an edit is finished
    return uri


def in_file(editor: Editor, uri: str) -> dict[str, object]:
    """Return the code action, once the files of the workspace are known."""
    return wait_until(lambda: actions(editor, uri=uri), "a code action")[0]


def test_in_a_file_that_is_not_open(editor: Editor, shop: Path) -> None:
    """The action says where; the file is looked at again, changed by the editor, and shown."""
    editor.results["workspace/applyEdit"] = {"applied": True}
    uri = renamed_in(editor, shop)
    other = (shop / "b.py").as_uri()
    found = in_file(editor, uri)
    assert found["title"] == "Apply the next edit, b.py line 1: area = height * width"
    assert "edit" not in found

    assert inline_edits(editor, uri) == []  # a client that cannot open files
    (item,) = inline_edits(editor, uri, otherDocuments=True, closedDocuments=True)
    assert item["textDocument"] == {"uri": other, "version": None}
    assert (item["oldText"], item["text"]) == ("area = hight * width", "area = height * width")
    assert str(item["why"]).endswith("b.py is not open, and has the same text.")

    number = in_file(editor, uri)["command"]
    assert editor.request("workspace/executeCommand", number) is True
    editor.wait_for(lambda: bool(editor.questions("window/showDocument")), "the place shown")
    (change,) = applied(editor)
    assert change["textDocument"] == {"uri": other, "version": None}
    assert change["edits"][0]["newText"] == "area = height * width"
    assert editor.request("fim/stats")["nextEdit"]["taken"] == 1


def applied(editor: Editor) -> list[dict[str, Any]]:
    edits = editor.questions("workspace/applyEdit")
    return [change for params in edits for change in params["edit"]["documentChanges"]]


@pytest.mark.parametrize("change", ["written", "ignored", "opened"])
def test_a_file_that_changed_since_is_left_alone(editor: Editor, shop: Path, change: str) -> None:
    """And it is said; there is nothing to apply."""
    uri = renamed_in(editor, shop)
    file = shop / "b.py"
    command = in_file(editor, uri)["command"]
    if change == "written":
        file.write_text("total = 1\n" + file.read_text())
    elif change == "ignored":
        (shop / ".gitignore").write_text("b.py\n")
    else:
        editor.open(file.as_uri(), file.read_text())

    assert editor.request("workspace/executeCommand", command) is False
    assert applied(editor) == []
    assert "was changed since" in editor.shown()[-1]


def inline_edits(editor: Editor, uri: str = A, **context: object) -> list[dict[str, object]]:
    """Return what sidekick.nvim asks for, and the others like it."""
    asked = {**at(uri, 1, 7), "context": {"triggerKind": 2, **context}}
    edits: list[dict[str, object]] = editor.request(COPILOT, asked)["edits"]
    return edits


def test_it_is_drawn_by_clients_of_copilots_protocol(editor: Editor) -> None:
    """One request is enough: it waits until the edit is finished. Counted as shown, once, and explained."""
    editor.initialize()
    editor.open(A, "print(hight)\r\ncheck(hight)\r\narea = hight * width\r\n")
    editor.open(B, "print(width)\n")
    rename(editor, 0, 7, 2)
    rename(editor, 1, 7, 3)

    (item,) = inline_edits(editor)
    why = "It repeats your edit in a.py, line 2: `hight` became `height`, as 1 earlier edit did."
    document = {"uri": A, "version": 3}
    command = {**COMMAND, "arguments": ["1"]}
    text = "area = height * width"
    assert item == {
        "textDocument": document, "range": LINE_3, "text": text, "command": command, "why": why,
    }  # fmt: skip
    for _ in range(2):
        editor.notify("textDocument/didShowInlineEdit", {"item": {"command": item["command"]}})
    assert editor.command("fim.whyNextEdit") == why
    assert inline_edits(editor, B) == []  # such clients would show it in this document
    assert inline_edits(editor, B, otherDocuments=True) == [item]
    editor.request("workspace/executeCommand", item["command"])
    counted = {"offered": 1, "shown": 1, "taken": 1, "dismissed": 0}
    assert editor.request("fim/stats")["nextEdit"] == counted
    assert editor.request(COPILOT, {}) == {"edits": []}

"""The commands of the server, on a real process."""

from __future__ import annotations

import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.client import GHOST_TEXT, Editor
from tests.models import write_model

A = "file:///shop/a.py"
INLINE = "textDocument/inlineCompletion"


def run(editor: Editor, command: str, *arguments: object) -> object:
    params = {"command": command, "arguments": list(arguments)}
    return editor.request("workspace/executeCommand", params)


def ask(editor: Editor, line: int, character: int, kind: int) -> list[object]:
    at = {"line": line, "character": character}
    params = {"textDocument": {"uri": A}, "position": at, "context": {"triggerKind": kind}}
    items: list[object] = editor.request(INLINE, params)["items"]
    return items


def test_switching_off_and_on(editor: Editor) -> None:
    """Nothing while typing, something when asked; the user is told, and settings do not undo it."""
    editor.initialize(initializationOptions={"fim.backend.kind": "embedded"})
    editor.open(A, "def area(width, height):\n    return wi\n")

    assert run(editor, "fim.toggle") is False
    assert ask(editor, 1, 13, 2) == []
    editor.notify(
        "workspace/didChangeConfiguration", {"settings": {"fim": {"ring": {"chunks": 3}}}}
    )
    assert ask(editor, 1, 13, 1)
    assert "automatic suggestions off" in str(run(editor, "fim.status"))
    assert run(editor, "fim.toggle") is True
    assert [message["type"] for message in editor.messages("window/showMessage")] == [3, 3, 3]


def test_not_now(editor: Editor) -> None:
    """Quiet for some minutes: nothing while typing, something by hand; the status says until when, and that it is over."""
    options = {"fim.backend.kind": "embedded", "fim.status.notify": True}
    editor.initialize(initializationOptions=options)
    editor.open(A, "def area(width, height):\n    return wi\n")
    assert ask(editor, 1, 13, 1)

    until = run(editor, "fim.snooze", {"minutes": "30"})
    assert isinstance(until, str)
    assert ":" in until
    assert ask(editor, 1, 13, 2) == []
    assert ask(editor, 1, 13, 1)
    assert f"quiet until {until}" in str(run(editor, "fim.status"))
    assert run(editor, "fim.resume") == ""
    ask(editor, 1, 13, 2)
    outcomes = editor.request("fim/stats", {})["outcomes"]
    assert outcomes["not now"] == 1  # and the one after it ended otherwise
    assert run(editor, "fim.snooze", "soon") != ""
    assert run(editor, "fim.snooze", 10**400) != ""
    told = [status["quietUntil"] for status in editor.messages("didChangeStatus")]
    assert next(filter(None, told)) == until
    assert "" in told[told.index(until) :]


def test_what_the_model_sees(editor: Editor) -> None:
    """By part, of the document asked about last; opened to read where that can be, for no other user."""
    editor.initialize(
        capabilities={**GHOST_TEXT, "window": {"showDocument": {"support": True}}},
        initializationOptions={"fim.backend.kind": "embedded"},
    )
    nothing = run(editor, "fim.showContext")
    assert isinstance(nothing, dict)
    assert nothing["segments"] == []
    editor.open(A, "def area(width, height):\n    return wi\n")
    ask(editor, 1, 13, 1)
    shown = run(editor, "fim.showContext")
    assert isinstance(shown, dict)
    assert shown == run(editor, "fim.showContext", A)

    names = [part["part"] for part in shown["segments"]]
    assert names == ["repository", "path", "prefix", "suffix", "middle", "forced"]

    def pages() -> list[Path]:
        asked = (m for m in editor.asked if m["method"] == "window/showDocument")
        return [Path(urlsplit(message["params"]["uri"]).path) for message in asked]

    editor.wait_for(lambda: len(pages()) == 3, "the page")
    page = pages()[-1]
    assert "\n    return\n── forced" in page.read_text("utf-8")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_writing_on(editor: Editor) -> None:
    """A long text is inserted where the cursor was, in whole lines and with progress; typing ends it."""
    editor.initialize(
        capabilities={**GHOST_TEXT, "window": {"workDoneProgress": True}},
        initializationOptions={"fim": {"backend": {"kind": "embedded"}}},
    )
    assert run(editor, "fim.continueLong") == {"text": "", "note": "the document is not open"}
    editor.open(A, "def add(left, right):\n    ")
    place = {"uri": A, "position": {"line": 1, "character": 4}}
    answer = run(editor, "fim.continueLong", place)
    assert isinstance(answer, dict)
    text = answer["text"]
    assert text
    assert answer["note"] == ""
    editor.wait_for(lambda: "workspace/applyEdit" in methods(editor), "the edit")
    [asked] = [each for each in editor.asked if each["method"] == "workspace/applyEdit"]
    editor.wait_for(lambda: bool(editor.messages("window/showMessage")), "the end")
    [edit] = asked["params"]["edit"]["changes"][A]
    assert edit["newText"] == text
    assert edit["range"]["start"] == edit["range"]["end"] == place["position"]
    kinds = [message["value"]["kind"] for message in editor.messages("$/progress")]
    editor.wait_for(lambda: len(editor.messages("$/progress")) > 2, "progress")
    kinds = [message["value"]["kind"] for message in editor.messages("$/progress")]
    assert kinds[:2] == ["begin", "report"]


@pytest.mark.parametrize("versioned", [True, False])
def test_the_text_is_for_the_version_it_was_written_for(editor: Editor, versioned: bool) -> None:
    """A client that compares versions gets that of the document; in a notebook, of the cell."""
    window = {"workspaceEdit": {"documentChanges": versioned}}
    editor.initialize(
        capabilities={**GHOST_TEXT, "workspace": window},
        initializationOptions={"fim": {"backend": {"kind": "embedded"}}},
    )
    cells = [{"kind": 2, "document": f"cell:{name}"} for name in "ab"]
    texts = [
        {"uri": "cell:a", "languageId": "python", "version": 3, "text": "import os\n\nx = 1"},
        {"uri": "cell:b", "languageId": "python", "version": 7, "text": "class Stack:\n    def "},
    ]
    book = {"uri": "file:///b.ipynb", "notebookType": "jupyter", "version": 1, "cells": cells}
    editor.notify(
        "notebookDocument/didOpen", {"notebookDocument": book, "cellTextDocuments": texts}
    )
    at = {"line": 1, "character": 8}
    text = run(editor, "fim.continueLong", {"uri": "cell:b", "position": at})["text"]  # type: ignore[index]
    editor.wait_for(lambda: "workspace/applyEdit" in methods(editor), "the edit")
    [asked] = [each for each in editor.asked if each["method"] == "workspace/applyEdit"]
    edits = [{"range": {"start": at, "end": at}, "newText": text}]
    document = {"uri": "cell:b", "version": 7}
    change = {"textDocument": document, "edits": edits}

    expected = {"documentChanges": [change]} if versioned else {"changes": {"cell:b": edits}}
    assert asked["params"]["edit"] == expected


def test_typing_ends_writing_on(editor: Editor, tmp_path: Path) -> None:
    """A text that is being written is dropped when the user types, or asks for another one; a message says so."""
    endless = write_model(tmp_path / "endless.gguf")  # its text never ends by itself
    editor.initialize(
        capabilities={**GHOST_TEXT, "window": {"workDoneProgress": True}},
        initializationOptions={
            "fim": {
                "backend": {"kind": "embedded", "model": str(endless)},
                "completion": {"longTokens": 100_000},
            }
        },
    )
    editor.open(A, "NUMBERS = [\n    1, 1, 1, 1, 1, 1, 1,\n    1, 1, 1, 1, 1,")
    place = {"uri": A, "position": {"line": 2, "character": 18}}
    params = {"command": "fim.continueLong", "arguments": [place]}
    number = editor.ask("workspace/executeCommand", params)
    editor.wait_for(lambda: bool(editor.messages("$/progress")), "the beginning")
    first, number = number, editor.ask("workspace/executeCommand", params)
    another = "you asked for another text"
    assert editor.answer(first)["result"] == {"text": "", "note": another}
    change = {"range": {"start": place["position"], "end": place["position"]}, "text": " 2"}
    editor.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": A, "version": 2}, "contentChanges": [change]},
    )
    assert editor.answer(number)["result"] == {"text": "", "note": "you typed"}
    assert "workspace/applyEdit" not in methods(editor)
    editor.wait_for(lambda: len(editor.messages("window/showMessage")) > 1, "the end")
    told = [each["message"] for each in editor.messages("window/showMessage")]
    assert told == [f"fim-lsp wrote nothing: {why}" for why in (another, "you typed")]


def methods(editor: Editor) -> list[str]:
    return [each["method"] for each in editor.asked]


def test_why_there_is_no_suggestion(editor: Editor) -> None:
    """The session at work answers, for the text that it has: how the last request ended, or else how one would."""
    editor.initialize(initializationOptions={"fim.backend.kind": "embedded"})
    editor.open(A, "def area(width, height):\n    return width\n")

    def why(line: int, character: int) -> str:
        place = {"uri": A, "position": {"line": line, "character": character}}
        told: str = editor.request("fim/why", place)
        assert run(editor, "fim.why", place) == told
        return told

    assert why(1, 13).startswith("While typing nothing: the cursor is inside a word")
    found = [*ask(editor, 1, 16, 1), *ask(editor, 1, 16, 1)]
    assert why(1, 16).startswith("By hand '" if found else "By hand nothing: ")
    assert "a toy for Python" in why(1, 16)
    before = editor.request("fim/stats", {})["requests"]
    assert why(1, 16)
    assert editor.request("fim/stats", {})["requests"] == before
    assert "is too large, or not open" in str(run(editor, "fim.why", {"uri": "file:///none.py"}))
    assert any("inside a word" in each["message"] for each in editor.messages("window/showMessage"))


def test_asking_by_hand_for_nothing(editor: Editor) -> None:
    """A user who asked and gets nothing is told why, each time."""
    editor.initialize(initializationOptions={"fim.backend.kind": "embedded"})
    editor.open("file:///shop/.env", "KEY=\n")
    at = {"line": 0, "character": 4}
    params = {
        "textDocument": {"uri": "file:///shop/.env"},
        "position": at,
        "context": {"triggerKind": 1},
    }
    for _ in range(2):
        assert editor.request(INLINE, params)["items"] == []
    told = [each["message"] for each in editor.messages("window/showMessage")]
    assert len([each for each in told if "No suggestion: the file is private" in each]) == 2

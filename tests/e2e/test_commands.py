"""The commands of the server, on a real process."""

from __future__ import annotations

import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.client import EMBEDDED, GHOST_TEXT, INLINE, Editor, at, insertion
from tests.e2e.test_cells import open_book
from tests.e2e.test_cells import text as cell_text
from tests.models import write_model
from tests.places import SHOP

A = f"{SHOP}/a.py"
PROGRESS = {**GHOST_TEXT, "window": {"workDoneProgress": True}}


def ask(editor: Editor, line: int, character: int, kind: int) -> list[object]:
    items: list[object] = editor.request(INLINE, at(A, line, character, kind))["items"]
    return items


def test_switching_off_and_on(editor: Editor) -> None:
    """Nothing while typing, something when asked; the user is told, and settings do not undo it."""
    editor.initialize(initializationOptions=EMBEDDED)
    editor.open(A, "def area(width, height):\n    return wi\n")

    assert editor.command("fim.toggle") is False
    assert ask(editor, 1, 13, 2) == []
    changed = {"settings": {"fim": {"ring": {"chunks": 3}}}}
    editor.notify("workspace/didChangeConfiguration", changed)
    assert ask(editor, 1, 13, 1)
    assert "automatic suggestions off" in str(editor.command("fim.status"))
    assert editor.command("fim.toggle") is True
    assert [message["type"] for message in editor.messages("window/showMessage")] == [3, 3, 3]


def test_a_project_keeps_them_off(editor: Editor, tmp_path: Path) -> None:
    """What counts where the user is, is shown; the user is told whose word it is."""
    (tmp_path / ".fim-lsp.toml").write_text("[completion]\nauto = false\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    editor.initialize(rootUri=tmp_path.as_uri(), initializationOptions=EMBEDDED)
    editor.open((tmp_path / "a.py").as_uri(), "x = 1\n")
    assert "automatic suggestions off" in str(editor.command("fim.status"))
    assert editor.command("fim.toggle") is False
    assert ".fim-lsp.toml" in editor.messages("window/showMessage")[-1]["message"]


def test_not_now(editor: Editor) -> None:
    """Quiet for some minutes: nothing while typing, something by hand; the status says until when, and that it is over."""
    options = {"fim.backend.kind": "embedded", "fim.status.notify": True}
    editor.initialize(initializationOptions=options)
    editor.open(A, "def area(width, height):\n    return wi\n")
    assert ask(editor, 1, 13, 1)

    until = editor.command("fim.snooze", {"minutes": "30"})
    assert ask(editor, 1, 13, 2) == []
    assert f"quiet until {until}" in str(editor.command("fim.status"))
    assert editor.command("fim.resume") == ""
    ask(editor, 1, 13, 2)
    outcomes = editor.request("fim/stats", {})["outcomes"]
    assert outcomes["not now"] == 1  # and the one after it ended otherwise
    assert editor.command("fim.snooze", "soon") != ""
    assert editor.command("fim.snooze", 10**400) != ""
    told = [status["quietUntil"] for status in editor.messages("didChangeStatus")]
    assert next(filter(None, told)) == until
    assert "" in told[told.index(until) :]


def test_what_the_model_sees(editor: Editor) -> None:
    """By part, of the document asked about last; opened to read where that can be, for no other user."""
    capabilities = {**GHOST_TEXT, "window": {"showDocument": {"support": True}}}
    editor.initialize(capabilities=capabilities, initializationOptions=EMBEDDED)
    assert editor.command("fim.showContext")["segments"] == []
    editor.open(A, "def area(width, height):\n    return wi\n")
    ask(editor, 1, 13, 1)
    shown = editor.command("fim.showContext")
    assert shown == editor.command("fim.showContext", A)

    names = [part["part"] for part in shown["segments"]]
    assert names == ["repository", "path", "prefix", "suffix", "middle", "forced"]

    editor.wait_for(lambda: len(editor.questions("window/showDocument")) == 3, "the page")
    page = Path(urlsplit(editor.questions("window/showDocument")[-1]["uri"]).path)
    assert "\n    return\n── forced" in page.read_text("utf-8")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_writing_on(editor: Editor, newline: str) -> None:
    """A long text is inserted at the cursor, in whole lines as the document has them, with progress."""
    editor.initialize(capabilities=PROGRESS, initializationOptions=EMBEDDED)
    assert editor.command("fim.continueLong") == {"text": "", "note": "the document is not open"}
    editor.open(A, f"def add(left, right):{newline}    ")
    place = {"uri": A, "position": {"line": 1, "character": 4}}
    answer = editor.command("fim.continueLong", place)
    text = answer["text"]
    assert "\n" in text
    assert answer["note"] == ""
    editor.wait_for(lambda: bool(editor.questions("workspace/applyEdit")), "the edit")
    [asked] = editor.questions("workspace/applyEdit")
    editor.wait_for(lambda: bool(editor.messages("window/showMessage")), "the end")
    [edit] = asked["edit"]["changes"][A]
    assert edit["newText"] == text.replace("\n", newline)
    assert edit["range"]["start"] == edit["range"]["end"] == place["position"]

    def kinds() -> list[str]:
        told = editor.messages("$/progress")  # at first of the model, where that loads for long
        return [each["value"]["kind"] for each in told if each["token"] == told[-1]["token"]]

    editor.wait_for(lambda: len(kinds()) > 2, "progress")
    assert kinds()[:2] == ["begin", "report"]


@pytest.mark.parametrize("versioned", [True, False])
def test_the_text_is_for_the_version_it_was_written_for(editor: Editor, versioned: bool) -> None:
    """A client that compares versions gets that of the document; in a notebook, of the cell."""
    window = {"workspaceEdit": {"documentChanges": versioned}}
    editor.initialize(
        capabilities={**GHOST_TEXT, "workspace": window}, initializationOptions=EMBEDDED
    )
    texts = [cell_text("a", "import os\n\nx = 1"), cell_text("b", "class Stack:\n    def ")]
    open_book(editor, ["a", "b"], [texts[0], {**texts[1], "version": 7}])
    place = {"line": 1, "character": 8}
    text = editor.command("fim.continueLong", {"uri": "cell:b", "position": place})["text"]
    editor.wait_for(lambda: bool(editor.questions("workspace/applyEdit")), "the edit")
    [asked] = editor.questions("workspace/applyEdit")
    edits = [{"range": {"start": place, "end": place}, "newText": text}]
    change = {"textDocument": {"uri": "cell:b", "version": 7}, "edits": edits}
    expected = {"documentChanges": [change]} if versioned else {"changes": {"cell:b": edits}}
    assert asked["edit"] == expected


def test_typing_ends_writing_on(editor: Editor, tmp_path: Path) -> None:
    """A text that is being written is dropped when the user types, or asks for another one; a message says so."""
    endless = write_model(tmp_path / "endless.gguf")  # its text never ends by itself
    backend = {"kind": "embedded", "model": str(endless)}
    options = {"fim.backend": backend, "fim.completion.longTokens": 100_000}
    editor.initialize(capabilities=PROGRESS, initializationOptions=options)
    editor.open(A, "NUMBERS = [\n    1, 1, 1, 1, 1, 1, 1,\n    1, 1, 1, 1, 1,")
    place = {"uri": A, "position": {"line": 2, "character": 18}}
    params = {"command": "fim.continueLong", "arguments": [place]}
    number = editor.ask("workspace/executeCommand", params)
    editor.wait_for(lambda: bool(editor.messages("$/progress")), "the beginning")
    first = number
    number = editor.ask("workspace/executeCommand", params)
    another = "you asked for another text"
    assert editor.answer(first)["result"] == {"text": "", "note": another}
    editor.change(A, 2, insertion(2, 18, " 2"))
    assert editor.answer(number)["result"] == {"text": "", "note": "you typed"}
    assert not editor.questions("workspace/applyEdit")
    editor.wait_for(lambda: len(editor.messages("window/showMessage")) > 1, "the end")
    assert editor.shown() == [f"fim-lsp wrote nothing: {why}" for why in (another, "you typed")]


def test_why_there_is_no_suggestion(editor: Editor) -> None:
    """The session at work answers, for the text that it has: how the last request ended, or else how one would."""
    editor.initialize(initializationOptions=EMBEDDED)
    editor.open(A, "def area(width, height):\n    return width\n")

    def why(line: int, character: int) -> str:
        place = {"uri": A, "position": {"line": line, "character": character}}
        told: str = editor.request("fim/why", place)
        assert editor.command("fim.why", place) == told
        return told

    found = [*ask(editor, 1, 16, 1), *ask(editor, 1, 16, 1)]  # the model is loaded behind them
    assert why(1, 13).startswith("No suggestion while you type: the cursor is inside a word")
    assert why(1, 16).startswith("By hand '" if found else "No suggestion by hand: ")
    assert editor.command("fim.why") == editor.command("fim.why", {"uri": A}) == why(1, 16)
    assert "a toy for Python" in why(1, 16)
    before = editor.request("fim/stats", {})["requests"]
    assert why(1, 16)
    assert editor.request("fim/stats", {})["requests"] == before
    assert "is too large, or not open" in str(editor.command("fim.why", {"uri": "file:///none.py"}))
    assert any("inside a word" in text for text in editor.shown())


def test_asking_by_hand_for_nothing(editor: Editor) -> None:
    """A user who asked and gets nothing is told why, each time."""
    editor.initialize(initializationOptions=EMBEDDED)
    editor.open(f"{SHOP}/.env", "KEY=\n")
    for _ in range(2):
        assert editor.request(INLINE, at(f"{SHOP}/.env", 0, 4))["items"] == []
    assert sum("No suggestion: the file is private" in text for text in editor.shown()) == 2

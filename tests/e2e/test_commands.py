"""The commands of the server, on a real process."""

from __future__ import annotations

import stat
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.client import GHOST_TEXT, Editor

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
    assert "while typing off" in str(run(editor, "fim.status"))
    assert run(editor, "fim.toggle") is True
    assert [message["type"] for message in editor.messages("window/showMessage")] == [3, 3, 3]
    editor.finish()
    assert editor.bye() == 0


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
    editor.finish()
    assert editor.bye() == 0

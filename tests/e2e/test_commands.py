"""The commands of the server, on a real process."""

from __future__ import annotations

import stat
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.client import EMBEDDED, GHOST_TEXT, INLINE, Editor, at
from tests.places import SHOP

A = f"{SHOP}/a.py"


def ask(editor: Editor, line: int, character: int, kind: int) -> list[object]:
    items: list[object] = editor.request(INLINE, at(A, line, character, kind))["items"]
    return items


def test_switching_off_and_on(editor: Editor) -> None:
    """Nothing while typing, something when asked; the user is told, and settings do not undo it."""
    editor.initialize(initializationOptions=EMBEDDED)
    editor.open(A, "def area(width, height):\n    return wi\n")

    assert editor.command("fim.toggle") is False
    assert ask(editor, 1, 13, 2) == []
    editor.notify(
        "workspace/didChangeConfiguration", {"settings": {"fim": {"ring": {"chunks": 3}}}}
    )
    assert ask(editor, 1, 13, 1)
    assert "automatic suggestions off" in str(editor.command("fim.status"))
    assert editor.command("fim.toggle") is True
    assert [message["type"] for message in editor.messages("window/showMessage")] == [3, 3, 3]


def test_what_is_gone_is_said_calmly(editor: Editor) -> None:
    """A setting and a command of an earlier version make one message each, and no warning."""
    gone = {"backend": {"onBattery": "off"}, "ring": {"chunks": 3}}
    offered = editor.initialize(initializationOptions={"fim": gone})["executeCommandProvider"]
    assert "fim.record" not in offered["commands"]
    settings = {"settings": {"fim": gone}}
    editor.notify("workspace/didChangeConfiguration", settings)
    assert editor.command("fim.record", A) is None
    said = editor.messages("window/showMessage")
    assert [message["type"] for message in said] == [3, 3]
    assert "initializationOptions: fim.backend.onBattery is gone: " in said[0]["message"]
    assert said[1]["message"].startswith("fim.record is gone: ")


def test_not_now(editor: Editor) -> None:
    """Quiet for some minutes: nothing while typing, something by hand; the status says until when, and that it is over."""
    options = {"fim.backend.kind": "embedded", "fim.status.notify": True}
    editor.initialize(initializationOptions=options)
    editor.open(A, "def area(width, height):\n    return wi\n")
    assert ask(editor, 1, 13, 1)

    until = editor.command("fim.snooze", {"minutes": "30"})
    assert isinstance(until, str)
    assert ":" in until
    assert ask(editor, 1, 13, 2) == []
    assert ask(editor, 1, 13, 1)
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
    editor.initialize(
        capabilities={**GHOST_TEXT, "window": {"showDocument": {"support": True}}},
        initializationOptions=EMBEDDED,
    )
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


def test_why_there_is_no_suggestion(editor: Editor) -> None:
    """The session at work answers, for the text that it has: how the last request ended, or else how one would."""
    editor.initialize(initializationOptions=EMBEDDED)
    editor.open(A, "def area(width, height):\n    return width\n")

    def why(line: int, character: int) -> str:
        place = {"uri": A, "position": {"line": line, "character": character}}
        told: str = editor.request("fim/why", place)
        assert editor.command("fim.why", place) == told
        return told

    assert why(1, 13).startswith("While typing nothing: the cursor is inside a word")
    found = [*ask(editor, 1, 16, 1), *ask(editor, 1, 16, 1)]
    assert why(1, 16).startswith("By hand '" if found else "By hand nothing: ")
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

"""Edits by instruction as a client sees them: `fim.edit`, its progress, and the code actions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.client import GHOST_TEXT, Editor
from tests.places import SHOP
from tests.server_bridge.recorder import Heard, events, recorder

A = f"{SHOP}/a.py"
TEXT = "import os\n\n\ndef area(w, h):\n    '''é'''\n    return w * h\n"
SAID = (
    "Here it is:\n```python\ndef area(w, h):\n    '''é'''\n    # multiply\n    return w * h\n```\n"
)
NEW = "def area(w, h):\n    '''é'''\n    # multiply\n    return w * h\n"
RANGE = {"start": {"line": 3, "character": 2}, "end": {"line": 5, "character": 4}}
INSERTED = {
    "range": {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 0}},
    "newText": "    # multiply\n",
}
ABLE = {
    **GHOST_TEXT,
    "window": {"workDoneProgress": True},
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
}


class Scripted:
    """A chat model that answers with the same *text*, in pieces; *asked* are the instructions."""

    def __init__(self) -> None:
        self.text = SAID
        self.url = ""
        self.asked: list[dict[str, Any]] = []

    def answer(self, heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return 200, b'{"data": [{"id": "some-instruct", "owned_by": "me"}]}'
        if b"Instruction:" in heard.body:  # files are read ahead for suggestions, too
            self.asked.append(json.loads(heard.body))
        pieces = [{"delta": {"content": text}} for text in self.text.splitlines(keepends=True)]
        choices = (*pieces, {"delta": {}, "finish_reason": "stop"})
        return 200, events(*({"choices": [choice]} for choice in choices))


@contextmanager
def scripted() -> Iterator[Scripted]:
    chat = Scripted()
    with recorder(answer=chat.answer) as server:
        chat.url = server.url
        yield chat


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted() as found:
        yield found


@pytest.fixture
def ready(editor: Editor, server: Scripted) -> Editor:
    """Return an editor with a file open, and a server of which the model is known."""
    backend = {"kind": "openai", "url": server.url}
    options = {"fim.backend": backend, "fim.status.notify": True}
    editor.initialize(capabilities=ABLE, initializationOptions=options)
    editor.open(A, TEXT)
    editor.wait_for(
        lambda: any(each["model"] for each in editor.messages("didChangeStatus")), "the model"
    )
    return editor


def command(editor: Editor, *, token: str | None = None, **more: object) -> Any:
    asked = {"textDocument": {"uri": A}, "range": RANGE, "instruction": "add a comment", **more}
    params: dict[str, object] = {"command": "fim.edit", "arguments": [asked]}
    if token:
        params["workDoneToken"] = token
    return editor.request("workspace/executeCommand", params)


def values(editor: Editor, token: str) -> list[Any]:
    return [each["value"] for each in editor.messages("$/progress") if each["token"] == token]


def test_an_edit_is_applied_in_one_step(ready: Editor, server: Scripted) -> None:
    """Of the version that we know, with the fewest lines, and the client's own progress."""
    ready.results["workspace/applyEdit"] = {"applied": True}
    answer = command(ready, token="mine")
    assert (answer["applied"], answer["note"]) == (True, "")
    (applied,) = ready.questions("workspace/applyEdit")
    assert applied["edit"]["documentChanges"] == [
        {"textDocument": {"uri": A, "version": 1}, "edits": [INSERTED]}
    ]
    kinds = [value["kind"] for value in values(ready, "mine")]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert "add a comment" in server.asked[-1]["messages"][0]["content"]


def test_a_preview_is_told_as_it_grows_and_not_applied(ready: Editor) -> None:
    """The client gets all it needs to draw and apply it."""
    answer = command(ready, preview=True, partialResultToken="p")
    whole = {"start": {"line": 3, "character": 0}, "end": {"line": 6, "character": 0}}
    assert answer["range"] == whole
    assert (answer["uri"], answer["version"], answer["newText"]) == (A, 1, NEW)
    assert (answer["edits"], answer["note"]) == ([INSERTED], "")
    written: list[str] = []
    for value in values(ready, "p"):
        written[value["line"] :] = value["newText"].splitlines(keepends=True)
        assert NEW.startswith("".join(written))
    assert written[0] == "def area(w, h):\n"
    assert not [each for each in ready.asked if each["method"] == "workspace/applyEdit"]


def test_nothing_is_applied_to_another_version(ready: Editor, server: Scripted) -> None:
    """And a client that refuses the edit is believed."""
    old = command(ready, textDocument={"uri": A, "version": 7})
    assert (old["applied"], old["note"]) == (False, "the text was changed meanwhile")
    assert server.asked == []
    ready.results["workspace/applyEdit"] = {"applied": False}
    assert command(ready)["applied"] is False
    shown = ready.shown()
    assert "fim-lsp changed nothing: the text was changed meanwhile." in shown


ODD: list[tuple[dict[str, Any], str]] = [
    ({"textDocument": {"uri": "file:///no.py"}}, "the document is not open"),
    ({"range": None}, "the document is not open"),
    ({"instruction": " "}, "there is no instruction"),
    ({"instruction": 3, "diagnostics": [{"message": ""}]}, ""),
    ({"workDoneToken": [1]}, ""),
]


def test_an_argument_that_makes_no_sense_is_answered(ready: Editor) -> None:
    """With why, and no error."""
    for more, note in ODD:
        assert command(ready, preview=True, **more)["note"] == note


def actions(editor: Editor, **context: object) -> list[Any]:
    asked = {"textDocument": {"uri": A}, "range": RANGE, "context": {"diagnostics": [], **context}}
    found: list[Any] | None = editor.request("textDocument/codeAction", asked)
    return found or []


def test_a_selection_has_code_actions(ready: Editor, server: Scripted) -> None:
    """Each runs the command, which is answered at once: some editors stand still until then."""
    ready.results["workspace/applyEdit"] = {"applied": True}
    found = actions(ready)
    titles = [each["title"] for each in found]
    assert titles == ["Document this", "Add types", "Follow the comment above"]
    chosen = found[0]["command"]
    assert ready.command(chosen["command"], *chosen["arguments"])["applied"] is None
    ready.wait_for(lambda: bool(ready.questions("workspace/applyEdit")), "the edit")
    assert "Add documentation" in server.asked[-1]["messages"][0]["content"]
    assert actions(ready, only=["source"]) == []
    for only in ("", "refactor"):
        assert [each["title"] for each in actions(ready, only=[only])] == titles


@pytest.mark.parametrize("message", ["w is unknown", {"kind": "markdown", "value": "w is unknown"}])
def test_what_another_server_found_wrong_can_be_fixed(
    ready: Editor, server: Scripted, message: object
) -> None:
    """Its message, maybe Markdown, goes into the instruction; the block around it is edited."""
    ready.results["workspace/applyEdit"] = {"applied": True}
    place = {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 9}}
    wrong = {"range": place, "message": message}
    (fix,) = actions(ready, diagnostics=[wrong], only=["quickfix"])
    assert (fix["title"], fix["kind"]) == ("Fix: w is unknown", "quickfix")
    asked = {**fix["command"]["arguments"][0], "diagnostics": [wrong], "wait": True}
    assert ready.command("fim.edit", asked)["applied"] is True
    told = server.asked[-1]["messages"][0]["content"]
    assert "- w is unknown" in told
    assert "Lines 4 to 6 of " in told


def test_a_fix_is_tried_again_for_the_same_lines(ready: Editor, server: Scripted) -> None:
    """Whether the client names the fault or the range of the answer, also where more lines follow."""
    name = A.replace("a.py", "b.py")
    ready.open(name, f"{TEXT}\nx = 1\n")
    fault = {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 9}}
    wrong = [{"message": "w is unknown"}]

    def fixed(place: object, *, again: bool) -> Any:
        about: dict[str, Any] = {"textDocument": {"uri": name}, "diagnostics": wrong}
        return command(ready, preview=True, range=place, again=again, instruction=None, **about)

    first = fixed(fault, again=False)
    assert first["range"]["end"] == {"line": 6, "character": 0}
    for place in (fault, first["range"]):
        again = fixed(place, again=True)
        assert again["range"] == first["range"]
        assert "Lines 4 to 6 of " in server.asked[-1]["messages"][0]["content"]
        assert server.asked[-1]["seed"] != server.asked[0].get("seed")


def test_the_bundled_model_offers_nothing_and_says_why(editor: Editor) -> None:
    """It can only fill in."""
    editor.initialize(capabilities=ABLE)
    editor.open(A, TEXT)
    answer = command(editor)
    assert answer["applied"] is False
    assert "can only fill in code" in answer["note"]
    assert actions(editor) == []

"""Clients that do less than LSP asks for, on a real process: they get the same suggestions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.client import AUTOMATIC, CART, GHOST_TEXT, INLINE, Client, Editor, at, insertion
from tests.places import SHOP

URI = f"{SHOP}/cart.py"
TYPED = "\n        self.name = na"
SETTINGS = "workspace/configuration"
COMPLETION = {"minConfidence": 0, "debounceMs": 0, "deadlineMs": 20_000, "patienceMs": 20_000}
EMBEDDED = {"fim": {"backend": {"kind": "embedded"}, "completion": COMPLETION}}
ASKABLE = {**GHOST_TEXT, "workspace": {"configuration": True}}


class Typist:
    """Types `TYPED` behind `CART`, and asks at each key."""

    def __init__(self, editor: Client) -> None:
        self.editor = editor

    def write(self) -> Any:
        """Return the suggestion at the last key."""
        self.editor.initialize(initializationOptions=EMBEDDED, capabilities=self.declares())
        self.editor.open(URI, CART)
        text = CART
        for n, letter in enumerate(TYPED):
            self.change(n + 2, text, letter)
            text += letter
            self.ask(text)
        return self.editor.answer(self.ask(text))["result"]["items"][0]["insertText"]

    def declares(self) -> dict[str, Any]:
        return GHOST_TEXT

    def change(self, version: int, text: str, letter: str) -> None:
        self.editor.change(URI, version, insertion(*end_of(text), letter))

    def ask(self, text: str) -> int:
        """Ask once the answer before is there."""
        number = self.editor.ask(INLINE, at(URI, *end_of(text)))
        self.editor.answer(number)
        return number


class Whole(Typist):
    """Sends the whole text each time, as Kate and JupyterLab do."""

    def change(self, version: int, text: str, letter: str) -> None:
        self.editor.change(URI, version, {"text": text + letter})


class Unnumbered(Typist):
    """Sends version 0 each time; JupyterLab does twice."""

    def change(self, version: int, text: str, letter: str) -> None:
        super().change(0, text, letter)


class Hasty(Typist):
    """Cancels nothing, and does not wait for an answer before it asks again."""

    def ask(self, text: str) -> int:
        return self.editor.ask(INLINE, at(URI, *end_of(text)))


class Slow(Typist):
    """Sends a letter of each message at a time, and says its settings at the end."""

    def __init__(self, editor: Client) -> None:
        super().__init__(editor)
        self._write = editor.write
        editor.write = self.write_slowly  # type: ignore[method-assign]
        editor.unanswered.add(SETTINGS)

    def declares(self) -> dict[str, Any]:
        return ASKABLE

    def write_slowly(self, body: bytes, header: str = "Content-Length: {}\r\n\r\n") -> None:
        for byte in header.format(len(body)).encode() + body:
            self._write(bytes([byte]), header="")

    def ask(self, text: str) -> int:
        if text == CART + TYPED:
            answer_settings(self.editor)
        return super().ask(text)


def end_of(text: str) -> tuple[int, int]:
    """Return the last line and column."""
    return text.count("\n"), len(text.rpartition("\n")[2])


def answer_settings(editor: Client) -> None:
    """Answer the server's questions for settings that were left."""
    for asked in editor.asked:
        if asked["method"] == SETTINGS:
            editor.send({"id": asked["id"], "result": [None]})


@pytest.fixture(scope="module")
def as_lsp_says() -> dict[str, Any]:
    """Return what the client got that does all right."""
    return {}


@pytest.mark.parametrize("typist", [Whole, Unnumbered, Hasty, Slow])
def test_the_suggestion_is_the_same(
    launch: Callable[..., Editor], typist: type[Typist], as_lsp_says: dict[str, Any]
) -> None:
    """As for a client that sends what was changed, counts, waits, and is quick."""
    if not as_lsp_says:
        as_lsp_says["text"] = Typist(launch()).write()
    assert as_lsp_says["text"].startswith("me")
    assert typist(launch()).write() == as_lsp_says["text"]


def test_settings_that_are_not_said_are_told_of_once(launch: Callable[..., Editor]) -> None:
    """Nothing is suggested until they are, since they may say what is private."""
    editor = launch(before="from fim_lsp.lsp import editor; editor.LATE_S = 0.05")
    editor.unanswered.add(SETTINGS)
    editor.initialize(initializationOptions=EMBEDDED, capabilities=ASKABLE)
    editor.open(URI, CART + TYPED)
    place = at(URI, *end_of(CART + TYPED), AUTOMATIC)
    for _ in range(3):
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        assert editor.request(INLINE, place) == {"items": []}
    editor.wait_for(lambda: bool(editor.shown()), "a message")
    editor.wait_for(lambda: len(editor.questions(SETTINGS)) == 4, "all questions")
    answer_settings(editor)
    assert editor.request(INLINE, place)["items"]
    [said] = editor.shown()
    assert "the editor's settings" in said
    assert "no suggestions until there is one" in said

"""What a request gets, on a real process: items, nothing, or -32800 for what was cancelled; always exactly one answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import (
    AUTOMATIC,
    CART,
    EMBEDDED,
    GHOST_TEXT,
    INLINE,
    Client,
    Editor,
    at,
    insertion,
)
from tests.places import SHOP

MENU = "textDocument/completion"
A = f"{SHOP}/a.py"
B = f"{SHOP}/b.py"
CANCELLED = -32800


def code(client: Client, request: int) -> object:
    """Return the error code a request ended with, or None."""
    return client.answer(request).get("error", {}).get("code")


@pytest.mark.parametrize("method", [INLINE, MENU])
def test_the_newest_request_of_a_document_wins(
    editor: Editor, silent: dict[str, dict[str, object]], method: str
) -> None:
    """
    The one before gets nothing, and no error: a client that did not cancel it shows that at each key (Vim's LSP).
    Other documents do not mind.
    """
    settings = {**silent["fim"], "completion": {"fallback": "always", "deadlineMs": 20000}}
    editor.initialize(initializationOptions={"fim": settings})
    editor.open(A, "\n")
    editor.open(B, "\n")
    first, other, second = (editor.ask(method, at(uri, 0, 0)) for uri in (A, B, A))
    assert editor.answer(first)["result"]["items"] == []
    assert not editor.answers[other]
    for waiting in (other, second):
        editor.notify("$/cancelRequest", {"id": waiting})
        assert code(editor, waiting) == CANCELLED


def test_leaving_answers_what_is_open(editor: Editor, silent: dict[str, object]) -> None:
    """A request still waiting at `shutdown` gets its answer, too."""
    editor.initialize(initializationOptions=silent)
    editor.open(A, "\n")
    waiting = editor.ask(INLINE, at(A, 0, 0))
    assert editor.bye() == 0
    editor.wait_for(lambda: bool(editor.answers[waiting]), "the last answer")


def test_nothing_to_offer_is_an_empty_list(editor: Editor, silent: dict[str, object]) -> None:
    """Never null: Neovim would go on showing the old text."""
    editor.initialize(initializationOptions=silent)
    editor.open(A, "\n")
    assert editor.request(INLINE, at(A, 0, 0, AUTOMATIC)) == {"items": []}
    assert editor.request(INLINE, at("file:///never/opened.py", 3, 9)) == {"items": []}
    assert editor.request(INLINE, at(A, 99, 99, AUTOMATIC)) == {"items": []}


def applied(text: str, item: dict[str, Any], encoding: str) -> str:
    """Return the text with the item inserted, counting as the client does."""
    lines = text.split("\n")
    start = item["range"]["start"]
    end = item["range"]["end"]
    assert start["line"] == end["line"]
    codec, width = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}[encoding]
    raw = lines[start["line"]].encode(codec)
    head = raw[: start["character"] * width]
    tail = raw[end["character"] * width :]
    lines[start["line"]] = head.decode(codec) + item["insertText"] + tail.decode(codec)
    return "\n".join(lines)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 26), ("utf-16", 21)])
def test_a_whole_completion(editor: Editor, encoding: str, column: int) -> None:
    """Open, type, ask, accept: a real model, in the encodings of editors, behind an edit that counts in it."""
    capabilities = {**GHOST_TEXT, "general": {"positionEncodings": [encoding]}}
    editor.initialize(capabilities=capabilities, initializationOptions=EMBEDDED)
    editor.open(A, "def area(width, height):\n    print('😀漢é', \n")
    editor.change(A, 2, insertion(1, column - 3, "wid"))
    text = "def area(width, height):\n    print('😀漢é', wid\n"
    item, *_ = editor.request(INLINE, at(A, 1, column))["items"]
    assert item["range"]["start"] == {"line": 1, "character": column}
    assert applied(text, item, encoding).startswith(text[:-1] + "th")
    assert item["command"]["command"] == "fim.didAcceptCompletionItem"
    editor.notify("textDocument/didShowCompletion", {"item": item})
    editor.request("workspace/executeCommand", item["command"])
    stats = editor.request("fim/stats")
    assert (stats["requests"], stats["shown"], stats["accepted"]) == (1, 1, 1)
    assert stats["backend"]["kind"] == "embedded"


def test_the_same_in_the_menu(editor: Editor) -> None:
    """Without ghost text the suggestion is a menu item that replaces the word it completes."""
    capabilities = {"general": {"positionEncodings": ["utf-8"]}}
    editor.initialize(
        clientInfo={"name": "helix"}, capabilities=capabilities, initializationOptions=EMBEDDED
    )
    editor.open(A, "class Parser:\r\n    def __init__(self, na\r\n")
    editor.answer(editor.ask(INLINE, at(A, 1, 25)))  # waits for the model
    menu = editor.request(MENU, at(A, 1, 25))
    assert menu["isIncomplete"] is True
    item, *_ = menu["items"]
    assert item["textEdit"]["range"]["start"] == {"line": 1, "character": 23}
    assert item["textEdit"]["newText"].startswith("name")
    assert item["filterText"].startswith("na")
    assert (item["kind"], item["insertTextFormat"]) == (1, 1)
    assert "preselect" not in item


def test_lines_are_shown_while_the_model_writes_on(editor: Editor) -> None:
    """To a client that says a `partialResultToken`; the answer has all of the text for every client."""
    completion = {"minConfidence": 0, "debounceMs": 0, "deadlineMs": 20_000, "patienceMs": 20_000}
    settings = {"fim": {"backend": {"kind": "embedded"}, "completion": completion}}
    editor.initialize(initializationOptions=settings)
    line = CART.count("\n")
    character = len(CART.rpartition("\n")[2])
    parts: list[Any] = []
    for n in range(10):  # on a busy machine all of a text may come at once
        uri = f"{SHOP}/block{n}.py"
        editor.open(uri, f"# {n}\n{CART}")
        params = {**at(uri, line + 1, character, AUTOMATIC), "partialResultToken": uri}
        [item] = editor.request(INLINE, params)["items"]
        assert item["insertText"].count("\n") > 1
        told = [each["params"] for each in editor.told if each["method"] == "$/progress"]
        parts = [each["value"] for each in told if each["token"] == uri]
        if parts and parts[0]["items"][0]["insertText"] != item["insertText"]:
            break
    assert parts
    texts = []
    for part in parts:  # more of them where the model is slow; the last may be all of the text
        [shown] = part["items"]
        assert shown["range"] == item["range"]
        texts.append(shown["insertText"])
    assert texts == sorted(set(texts), key=len)
    assert all(item["insertText"].startswith(each) for each in texts)
    assert len(texts[0]) < len(item["insertText"])


def test_a_client_that_leaves_out_what_it_must_say(editor: Editor, tmp_path: Path) -> None:
    """No version, no context, another spelling of the URI: there are suggestions all the same."""
    (tmp_path / "x").mkdir()
    opened, spelled = (f"{tmp_path.as_uri()}/{name}" for name in ("x/../%40a.py", "@a.py"))
    editor.initialize(initializationOptions=EMBEDDED)
    text = "def total_price(prices):\n    total = 0\n    for price in prices:\n"
    editor.notify("textDocument/didOpen", {"textDocument": {"uri": opened, "text": text}})
    for line, typed in ((3, "        total += price\n"), (4, "    ret")):
        change = {"textDocument": {"uri": spelled}, "contentChanges": [insertion(line, 0, typed)]}
        editor.notify("textDocument/didChange", change)
    place = {"line": 4, "character": 7}
    params = {"textDocument": {"uri": spelled}, "position": place}
    [item, *_] = editor.request(INLINE, params)["items"]
    assert item["insertText"].startswith("urn")

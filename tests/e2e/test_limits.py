"""What is too long, too deep or no message at all, on a real process: one answer; it goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.client import AUTOMATIC, GHOST_TEXT, INLINE, Editor, at
from tests.places import SHOP

pytestmark = pytest.mark.promise("bounded-work")

psutil = pytest.importorskip("psutil")

A = f"{SHOP}/a.py"
B = f"{SHOP}/b.py"
MIB = 1 << 20
DEEP = "[" * 900 + "]" * 900  # json reads so much; what recurses in Python may not
DEEPER = "[" * 100_000 + "]" * 100_000


def is_open(editor: Editor, uri: str) -> bool:
    """Return whether the session uses the document, as what the model would see of it tells."""
    note = editor.command("fim.showContext", uri)["note"]
    return "not open" not in str(note) and "characters" not in str(note)


def said_large(editor: Editor) -> list[str]:
    """Return the files that the user was told are too large."""
    said = editor.shown()
    return [found[1] for each in said if (found := re.match(r"fim-lsp: (.*) is large", each))]


def test_a_huge_message_is_read_past(editor: Editor) -> None:
    """It takes no memory; its document is closed, and no other. Opened again it is complete."""
    editor.initialize()
    editor.open(A, "x = 1\n")
    editor.open(B, "y = 1\n")
    editor.request("fim/stats")
    before = psutil.Process(editor.process.pid).memory_info().rss
    text = 'x = "uri": 1,"uri":"file:///shop/b.py"\n' * MIB  # 39 MiB
    editor.change(A, 2, {"text": text})
    assert editor.answer(None)["error"]["code"] == -32600
    assert editor.request(INLINE, at(A, 0, 0, AUTOMATIC)) == {"items": []}
    assert not is_open(editor, A)
    assert is_open(editor, B)
    assert psutil.Process(editor.process.pid).memory_info().rss < before + 20 * MIB
    assert said_large(editor) == ["a.py"]
    editor.open(A, "x = 1\n")
    assert is_open(editor, A)


DEEP_MESSAGES: list[tuple[str, str]] = [
    ("workspace/executeCommand", '{"command": "fim.showContext", "arguments": %s}'),
    ("workspace/executeCommand", '{"command": "fim.continueLong", "arguments": [{"uri": %s}]}'),
    (INLINE, '{"textDocument": {"uri": "u", "x": %s}, "position": %s, "context": %s}'),
    (INLINE, "%s"),
    ("fim/stats", "%s"),
    ("no/such/method", "%s"),
    ("workspace/didChangeConfiguration", '{"settings": %s}'),
]


def test_a_deep_request_gets_one_answer(editor: Editor) -> None:
    """A result or an error, and by id as far as the message can be read at all."""
    editor.initialize()
    for method, params in DEEP_MESSAGES:
        for nested, id_ in ((DEEP, "deep"), (DEEPER, None)):
            body = f'{{"jsonrpc": "2.0", "id": "deep", "method": "{method}", "params": {params}}}'
            editor.write(body.replace("%s", nested).encode())
            editor.answer(id_)
            del editor.answers[id_]


ODD_IDS = [b"[1]", b"{}", b"true", b"1.5", b"NaN", b"null", b"-1e400", b"9" * 4301]
NO_MESSAGES = [b"{", b"\xff\xfe", b"[" * 100_000, b"[]", b'{"id": 7, "method": "shutdown"}']


def test_what_is_no_request_gets_an_error(editor: Editor) -> None:
    """Its id is null: an id is a whole number or a string (JSON-RPC 2.0, LSP 3.17)."""
    editor.initialize()
    odd = (b'{"jsonrpc": "2.0", "method": "fim/stats", "id": %s}' % id_ for id_ in ODD_IDS)
    for body in (*NO_MESSAGES, *odd):
        editor.write(body)
        assert editor.answer(None)["error"]["code"] in (-32600, -32700), body
        del editor.answers[None]


def test_two_requests_with_one_id_get_an_answer_each(editor: Editor, silent: dict[str, object]):
    """The second is refused while the first is not answered; then the id is free again."""
    editor.initialize(initializationOptions=silent)
    editor.open(A, "\n")
    waiting = editor.ask(INLINE, at(A, 0, 0))
    editor.send({"id": waiting, "method": "fim/stats"})
    assert editor.answer(waiting)["error"]["code"] == -32600
    editor.notify("$/cancelRequest", {"id": waiting})
    editor.wait_for(lambda: len(editor.answers[waiting]) == 2, "the first answer")
    assert editor.answers.pop(waiting)[1]["error"]["code"] == -32800


ODD_CALLS: list[dict[str, object]] = [
    {"method": 5},
    {"method": None},
    {"method": ["shutdown"]},
    {"method": "fim/stats", "params": 5},
    {"method": INLINE, "params": "x"},
    {"method": "\ud800", "params": {}},
    {"method": "x" * 10_000},
    {"method": "textDocument/didOpen",
     "params": {"textDocument": {
         "uri": "http://[", "languageId": {"a": 1}, "version": 1, "text": "\ud800"}}},
    {"method": "workspace/executeCommand",
     "params": {"command": "fim.showContext", "arguments": ["file:///\ud800\0"]}},
    {"method": "workspace/didChangeWorkspaceFolders",
     "params": {"event": {"added": [{"uri": "http://[", "name": "\0"}], "removed": []}}},
    {"method": "$/cancelRequest", "params": {"id": {"a": 1}}},
    {"method": "window/workDoneProgress/cancel", "params": {"token": {"a": 1}}},
]  # fmt: skip


NONSENSE: list[object] = [None, {}, [], {"textDocument": None, "item": 3, "class": {"a-b": 1}}]
ODD_NOTES = (
    "fim/didYank fim/didMoveCursor textDocument/didFocus textDocument/didShowCompletion initialized"
    " textDocument/didPartiallyAcceptCompletion textDocument/didOpen textDocument/didChange"
    " $/cancelRequest workspace/didChangeWatchedFiles no/such/method"
)


@pytest.mark.promise("odd-input")
def test_an_odd_request_gets_one_answer(editor: Editor) -> None:
    """A result or an error; the same as a notification gets none, and changes and shows nothing."""
    editor.initialize()
    for number, call in enumerate(ODD_CALLS):
        editor.send({"id": f"odd {number}", **call})
        editor.send(call)
        editor.answer(f"odd {number}")
    for method in ODD_NOTES.split():
        for params in NONSENSE:
            editor.notify(method, params)
    editor.change("u", 1, {"text": "x"})
    editor.command("fim.didAcceptCompletionItem")
    editor.command("fim.didAcceptCompletionItem", {"a": 1}, 2)
    assert editor.request("fim/stats")["accepted"] == 0
    assert editor.messages("window/showMessage") == []


ODD_ANSWERS: list[object] = [5, "x", {"a": 1}, [], [[]], [1, 2, 3], None]


def test_an_answer_of_the_client_may_be_anything(editor: Editor) -> None:
    """To the question for settings, too; what comes after it is done all the same."""
    question = "workspace/configuration"
    editor.results["client/registerCapability"] = {"a": 1}
    dynamic = {"dynamicRegistration": True}
    watched = {"didChangeConfiguration": dynamic, "didChangeWatchedFiles": dynamic}
    workspace = {"configuration": True, **watched}
    editor.initialize(capabilities={**GHOST_TEXT, "workspace": workspace})
    editor.wait_for(lambda: len(editor.asked) == 2, "both questions")
    methods = [message["method"] for message in editor.asked]
    assert sorted(methods) == ["client/registerCapability", question]
    registration = editor.asked[methods.index("client/registerCapability")]["params"]
    registered = [each["method"] for each in registration["registrations"]]
    assert registered == [f"workspace/{name}" for name in watched]
    for answer in ODD_ANSWERS:
        editor.asked.clear()
        editor.results[question] = answer
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        editor.wait_for(lambda: bool(editor.asked), "a question")
        for id_ in ("unknown", [1]):
            editor.send({"id": id_, "result": answer})


def test_a_root_that_is_no_uri_is_no_root(editor: Editor, tmp_path: Path) -> None:
    """The others are, and documents are opened all the same."""
    roots = ("http://[", tmp_path.as_uri(), "file:///\ud800", "vfs:/x")
    editor.initialize(workspaceFolders=[{"uri": uri, "name": "x"} for uri in roots])
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, "x = 1\n")
    assert is_open(editor, uri)
    event = {"added": [{"uri": "http://[", "name": "x"}], "removed": []}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    editor.open(uri, "x = 1\n")
    assert is_open(editor, uri)

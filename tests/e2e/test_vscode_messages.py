"""
All that our VS Code extension sends to the server by itself, taken from its sources: a real server
answers it, and finds none of it malformed. What the language client sends, tests/editors sends.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.e2e.client import EMBEDDED, GHOST_TEXT, Editor, at
from tests.e2e.forked import ROOT
from tests.places import SHOP

EXTENSION = ROOT / "editors/vscode"
A = f"{SHOP}/a.py"
HERE = {"line": 1, "character": 13}
WHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
DOCUMENT: dict[str, object] = {"uri": A, "version": 1}
NAMED = {"textDocument": {"uri": A}}
ITEM = {"command": {"title": "", "command": "fim.didAcceptCompletionItem", "arguments": ["1"]}}

COMMANDS: dict[str, list[object]] = {
    "fim.continueLong": [{"uri": A, "position": HERE}],
    "fim.dismissNextEdit": [A],
    "fim.edit": [{"textDocument": DOCUMENT, "range": WHERE, "instruction": "x", "preview": True}],
    "fim.edit.prepare": [{"textDocument": DOCUMENT, "range": WHERE}],
    "fim.openPage": [],
    "fim.resume": [],
    "fim.showContext": [A],
    "fim.snooze": [10],
    "fim.why": [{"uri": A, "position": HERE}],
    "fim.whyNextEdit": [A],
}
REQUESTS: dict[str, object] = {
    "fim/stats": {},
    "fim/why": {"uri": A, "position": HERE},
    "textDocument/inlineCompletion": at(A, 1, 13) | {"partialResultToken": "fim.growing:1"},
    "textDocument/copilotInlineEdit": {"textDocument": DOCUMENT, "position": HERE},
}
NOTIFICATIONS: dict[str, object] = {
    "fim/didMoveCursor": {**NAMED, "position": HERE},
    "fim/didYank": {**NAMED, "text": "width * height"},
    "textDocument/didFocus": NAMED,
    "textDocument/didPartiallyAcceptCompletion": {"item": ITEM, "acceptedLength": 2},
    "textDocument/didShowInlineEdit": {"item": ITEM},
    "workspace/didChangeConfiguration": {"settings": {"fim": {"status": {"notify": True}}}},
}


def first_arguments(function: str) -> set[str]:
    """Return the texts that the extension calls *function* with first; a constant is its text."""
    found = set()
    for file in (EXTENSION / "src").glob("*.ts"):
        source = file.read_text("utf-8")
        texts = dict(re.findall(r'const ([A-Z_]+) = "([^"]+)"', source))
        for name in re.findall(rf'\b{function}(?:<[\w |]+>)?\((?:"([^"]+)"|([A-Z_]+))', source):
            found.add(name[0] or texts[name[1]])
    return found


def commands_of_server() -> set[str]:
    """Return the commands of the extension that its server is to do."""
    manifest = json.loads((EXTENSION / "package.json").read_text("utf-8"))["contributes"]
    contributed = {each["command"] for each in manifest["commands"]}
    return (contributed - first_arguments("registerCommand")) | first_arguments("this.execute")


def test_the_tables_are_what_the_extension_sends() -> None:
    """A new message of the extension is missing here until it has a row."""
    requests = first_arguments("sendRequest") - {"workspace/executeCommand"}
    assert commands_of_server() == COMMANDS.keys()
    assert requests == REQUESTS.keys()
    assert first_arguments("sendNotification") | first_arguments("notify") == NOTIFICATIONS.keys()


def test_each_is_answered(editor: Editor, tmp_path: Path) -> None:
    """With a result; the log says of none that it is unknown or malformed."""
    file = tmp_path / "fim.log"
    options: dict[str, Any] = {**EMBEDDED["fim"], "log": {"file": str(file), "level": "debug"}}
    capabilities = editor.initialize(capabilities=GHOST_TEXT, initializationOptions=options)
    assert COMMANDS.keys() <= {*capabilities["executeCommandProvider"]["commands"]}
    editor.results["workspace/applyEdit"] = {"applied": True}
    editor.open(A, "def area(width, height):\n    return wi\n")
    for method, params in NOTIFICATIONS.items():
        editor.notify(method, params)
    for method, params in REQUESTS.items():
        assert editor.request(method, params) is not None, method
    for name, arguments in COMMANDS.items():
        editor.command(name, *arguments)
    editor.error("no/such/method")  # after all notifications
    log = file.read_text("utf-8")
    assert not re.findall(r".*(?:malformed|ignored|failed|Traceback).*", log)

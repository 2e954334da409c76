"""A commit message in the real server, with the bundled model and a real repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import GHOST_TEXT, Editor
from tests.workspace.git_repos import commit_message

EMBEDDED = {"fim": {"backend": {"kind": "embedded"}}}


@pytest.fixture
def message(tmp_path: Path) -> Path:
    """Return that of a change of a little Python, which is all that the bundled model knows."""
    return commit_message(
        tmp_path / "shop", "\n# Please enter the commit message for your changes.\n"
    )


def run(editor: Editor, command: str, *arguments: object) -> Any:
    params = {"command": command, "arguments": list(arguments)}
    return editor.request("workspace/executeCommand", params)


def test_the_command_writes_one_line(editor: Editor, message: Path) -> None:
    """By one edit at the end of the first line, with progress; the code action runs it; a folder gets it as text."""
    capabilities = {**GHOST_TEXT, "window": {"workDoneProgress": True}}
    editor.initialize(capabilities=capabilities, initializationOptions=EMBEDDED)
    uri, at = message.as_uri(), {"line": 0, "character": 0}
    editor.open(uri, message.read_text(), "gitcommit")
    whole = {"range": {"start": at, "end": at}, "context": {"diagnostics": []}}
    [action] = editor.request("textDocument/codeAction", {"textDocument": {"uri": uri}, **whole})
    assert action["title"] == "Write the commit message"
    answer = run(editor, action["command"]["command"], *action["command"]["arguments"])
    assert answer["text"]
    assert "\n" not in answer["text"]
    editor.wait_for(lambda: "workspace/applyEdit" in methods(editor), "the edit")
    [asked] = [each for each in editor.asked if each["method"] == "workspace/applyEdit"]
    edit = {"range": {"start": at, "end": at}, "newText": answer["text"]}
    assert asked["params"]["edit"]["changes"] == {uri: [edit]}
    editor.wait_for(lambda: bool(editor.messages("$/progress")), "progress")
    assert editor.messages("$/progress")[0]["value"]["title"] == "Writing a commit message"
    folder = {"folder": message.parents[1].as_uri()}
    assert run(editor, "fim.commitMessage", folder) == answer
    assert methods(editor).count("workspace/applyEdit") == 1


def test_ghost_text_is_the_same(editor: Editor, message: Path) -> None:
    """On the empty first line, unasked; where there is no message, the command says so."""
    editor.initialize(initializationOptions=EMBEDDED)
    uri = message.as_uri()
    editor.open(uri, message.read_text(), "gitcommit")
    params = {
        "textDocument": {"uri": uri},
        "position": {"line": 0, "character": 0},
        "context": {"triggerKind": 2},
    }
    [item] = editor.request("textDocument/inlineCompletion", params)["items"]
    assert run(editor, "fim.commitMessage", {"uri": uri})["text"] == item["insertText"]
    editor.open("file:///shop/a.py", "x = 1\n")
    assert (
        "COMMIT_EDITMSG" in run(editor, "fim.commitMessage", {"uri": "file:///shop/a.py"})["note"]
    )


def methods(editor: Editor) -> list[str]:
    return [each["method"] for each in editor.asked]

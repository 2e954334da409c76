"""A commit message in the real server, with the bundled model and a real repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.client import AUTOMATIC, EMBEDDED, GHOST_TEXT, INLINE, Editor, at
from tests.places import SHOP
from tests.workspace.git_repos import commit_message


@pytest.fixture
def message(tmp_path: Path) -> Path:
    """Return that of a change of a little Python, which is all that the bundled model knows."""
    return commit_message(
        tmp_path / "shop", "\n# Please enter the commit message for your changes.\n"
    )


def test_the_command_writes_one_line(editor: Editor, message: Path) -> None:
    """By one edit at the end of the first line, with progress; the code action runs it; a folder gets it as text."""
    capabilities = {**GHOST_TEXT, "window": {"workDoneProgress": True}}
    editor.initialize(capabilities=capabilities, initializationOptions=EMBEDDED)
    uri, place = message.as_uri(), {"line": 0, "character": 0}
    editor.open(uri, message.read_text(), "gitcommit")
    whole = {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    [action] = editor.request("textDocument/codeAction", {"textDocument": {"uri": uri}, **whole})
    assert action["title"] == "Write the commit message"
    answer = editor.command(action["command"]["command"], *action["command"]["arguments"])
    assert answer["text"]
    assert "\n" not in answer["text"]
    editor.wait_for(lambda: bool(editor.questions("workspace/applyEdit")), "the edit")
    [asked] = editor.questions("workspace/applyEdit")
    edit = {"range": {"start": place, "end": place}, "newText": answer["text"]}
    assert asked["edit"]["changes"] == {uri: [edit]}
    editor.wait_for(lambda: bool(editor.messages("$/progress")), "progress")
    assert editor.messages("$/progress")[0]["value"]["title"] == "Writing a commit message"
    folder = {"folder": message.parents[1].as_uri()}
    assert editor.command("fim.commitMessage", folder) == answer
    assert len(editor.questions("workspace/applyEdit")) == 1


def test_ghost_text_is_the_same(editor: Editor, message: Path) -> None:
    """On the empty first line, unasked; where there is no message, the command says so."""
    editor.initialize(initializationOptions=EMBEDDED)
    uri = message.as_uri()
    editor.open(uri, message.read_text(), "gitcommit")
    [item] = editor.request(INLINE, at(uri, 0, 0, AUTOMATIC))["items"]
    assert editor.command("fim.commitMessage", {"uri": uri})["text"] == item["insertText"]
    editor.open(f"{SHOP}/a.py", "x = 1\n")
    assert "COMMIT_EDITMSG" in editor.command("fim.commitMessage", {"uri": f"{SHOP}/a.py"})["note"]

"""An editor's user is told once how to get a real model in place of the bundled one, on a real process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import GHOST_TEXT, Editor, wait_until

CAPABILITIES = {**GHOST_TEXT, "window": {"showMessage": {"messageActionItem": {}}}}


@pytest.fixture
def begin(launch: Callable[..., Editor], tmp_path: Path):
    """Starts editors whose user sees messages, on the bundled model."""

    def start(**options: object) -> Editor:
        home = f'import os; os.environ["XDG_STATE_HOME"] = {str(tmp_path / "state")!r}'
        editor = launch(before=home)
        options |= {"fim.backend.kind": "embedded"}
        editor.initialize(capabilities=CAPABILITIES, initializationOptions=options)
        editor.open("file:///a.py", "def area(width, height):\n    return wi\n")
        return editor

    return start


def wait_ready(editor: Editor) -> None:
    wait_until(lambda: editor.request("fim/stats")["backend"]["state"] == "ready", "the model")


def test_the_way_to_a_model_is_told_once(begin: Callable[..., Editor], tmp_path: Path) -> None:
    """In one sentence with the command, and never again, in any editor."""
    editor = begin()
    wait_until((tmp_path / "state/fim-lsp/offered-a-model").exists, "the note that it was told")
    assert ["`fim-lsp setup`" in message for message in editor.shown()] == [True]
    assert editor.bye() == 0
    again = begin()
    wait_ready(again)
    assert again.bye() == 0
    assert again.shown() == []


def test_a_client_that_shows_the_model_itself_tells_it(begin: Callable[..., Editor]) -> None:
    """It wants `didChangeStatus`."""
    editor = begin(**{"fim.status.notify": True})
    wait_ready(editor)
    assert editor.messages("didChangeStatus")[-1]["trouble"] == ""
    assert editor.bye() == 0
    assert editor.shown() == []

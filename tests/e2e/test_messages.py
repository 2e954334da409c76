"""What the user sees of the backend's state, on a real process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.client import GHOST_TEXT, Editor, wait_until
from tests.server_bridge.recorder import Recorder, recorder

LOADING = b'{"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}'
MESSAGE = "window/showMessage"
CREATE = "window/workDoneProgress/create"
PROGRESS = "$/progress"
WARNING = 2
INFO = 3


@pytest.fixture
def backend() -> Iterator[Recorder]:
    with recorder(503, LOADING) as server:
        yield server


def start(editor: Editor, backend: Recorder, **window: bool) -> None:
    editor.initialize(
        capabilities={**GHOST_TEXT, "window": window},
        initializationOptions={"fim": {"backend": {"kind": "llama-server", "url": backend.url}}},
    )
    editor.open("file:///a.py", "x = 1\n")


def steps(editor: Editor) -> list[Any]:
    return [message["value"]["kind"] for message in editor.messages(PROGRESS)]


def test_a_model_that_loads_is_in_progress_until_it_is_not(editor: Editor, backend: Recorder):
    """The progress is asked for, begins and ends; what it ends with is said once."""
    start(editor, backend, workDoneProgress=True)
    editor.wait_for(lambda: steps(editor) == ["begin"], "the beginning")
    assert editor.messages(MESSAGE) == []
    backend.status = 404
    backend.answer = b"no such page"
    editor.wait_for(lambda: steps(editor) == ["begin", "end"], "the end")
    editor.wait_for(lambda: bool(editor.messages(MESSAGE)), "a word")
    [message] = editor.messages(MESSAGE)
    assert message["type"] == WARNING
    assert "fim.backend.url" in message["message"]
    assert editor.messages(PROGRESS)[0]["value"]["title"].startswith("Loading")


def test_no_progress_for_editors_that_cannot(editor: Editor, backend: Recorder) -> None:
    """They hear nothing while it loads, and one word when it is gone."""
    start(editor, backend)
    state = lambda: editor.request("fim/stats").get("backend", {}).get("state")  # noqa: E731
    wait_until(lambda: state() == "loading", "the model's load")
    backend.status = 500
    backend.answer = b""
    backend.server_close()
    backend.shutdown()
    editor.wait_for(lambda: bool(editor.messages(MESSAGE)), "a word")
    [message] = editor.messages(MESSAGE)
    assert message["type"] == INFO
    assert not [asked for asked in editor.asked if asked["method"] == CREATE]
    assert editor.messages(PROGRESS) == []

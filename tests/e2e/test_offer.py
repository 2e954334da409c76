"""An editor's user is offered a real model in place of the bundled one, once, on a real process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import GHOST_TEXT, Editor, wait_until
from tests.models import BUNDLED
from tests.server_bridge.weights.hub import Hub, serving

ASK = "window/showMessageRequest"
CAPABILITIES = {
    **GHOST_TEXT,
    "window": {"showMessage": {"messageActionItem": {}}, "workDoneProgress": True},
}
# The table's smallest model is the bundled one, under another name: any machine may have it.
BEFORE = """
import hashlib, os, pathlib
os.environ |= {{"HF_ENDPOINT": {hub!r}, "XDG_STATE_HOME": {home!r}, "LLAMA_CACHE": {home!r}, "HF_HUB_CACHE": {home!r}}}
from server_bridge.weights import on_disk, table
data = pathlib.Path({bundled!r}).read_bytes()
real = table.MODELS[0]._replace(n_bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
table.MODELS = on_disk.MODELS = (real,)
"""
EMBEDDED = {"fim.backend.kind": "embedded"}
NO, YES = 0, 1  # the buttons


@pytest.fixture
def begin(launch: Callable[..., Editor], tmp_path: Path):
    """Starts editors that answer the question with the button of this number, or not at all."""

    def start(hub: str, answer: int | None, **options: object) -> Editor:
        before = BEFORE.format(hub=hub, home=str(tmp_path / "home"), bundled=str(BUNDLED))
        editor = launch(before=before)

        def buttons() -> object:
            params = next(m for m in editor.asked if m["method"] == ASK)["params"]
            return None if answer is None else params["actions"][answer]

        editor.results[ASK] = buttons
        editor.initialize(capabilities=CAPABILITIES, initializationOptions={**EMBEDDED, **options})
        editor.open("file:///a.py", "def area(width, height):\n    return wi\n")
        return editor

    return start


def asked(editor: Editor) -> int:
    return sum(message["method"] == ASK for message in editor.asked)


def wait_ready(editor: Editor) -> None:
    def state() -> object:
        return editor.request("fim/stats")["backend"]["state"]

    wait_until(lambda: state() == "ready", "the model")


def test_a_yes_gets_the_model_and_the_session_goes_on_with_it(
    begin: Callable[..., Editor], tmp_path: Path
) -> None:
    """Downloaded with progress, named in the user's settings, used without a restart."""
    with serving(Hub(BUNDLED.read_bytes())) as hub:
        editor = begin(hub.url, YES)
        editor.wait_for(lambda: bool(told(editor, "answers from now on")), "the good news")
    model = tmp_path / "home/cache/fim-lsp/models/qwen2.5-coder-0.5b-q8_0.gguf"
    assert f'model = "{model}"' in (tmp_path / "home/fim-lsp/config.toml").read_text()
    stats = editor.request("fim/stats")
    assert stats["backend"]["model"] == model.name
    assert asked(editor) == 1
    assert editor.bye() == 0


def test_a_no_is_remembered(begin: Callable[..., Editor], tmp_path: Path) -> None:
    """Nothing is downloaded, and nothing is asked again."""
    remembered = tmp_path / "home/fim-lsp/offered-a-model"
    editor = begin("http://127.0.0.1:1", NO)
    wait_until(remembered.exists, "the note that it was asked")
    assert editor.bye() == 0
    again = begin("http://127.0.0.1:1", NO)
    wait_ready(again)
    assert again.bye() == 0
    assert asked(again) == 0
    assert not (tmp_path / "home/fim-lsp/config.toml").exists()


def test_a_download_that_fails_is_told(begin: Callable[..., Editor]) -> None:
    """With what to do; the bundled model goes on."""
    with serving(Hub(status=404)) as hub:
        editor = begin(hub.url, YES)
        editor.wait_for(lambda: bool(told(editor, "answers 404")), "the reason")
    wait_ready(editor)
    assert editor.bye() == 0


def test_a_download_can_be_cancelled(begin: Callable[..., Editor], tmp_path: Path) -> None:
    """By the progress bar's button; what came is kept for the next time."""
    goes_on = threading.Event()
    with serving(Hub(BUNDLED.read_bytes(), goes_on=goes_on)) as hub:
        editor = begin(hub.url, YES)

        def progress() -> list[str]:
            shown = editor.messages("$/progress")
            return [each["token"] for each in shown if each["value"].get("percentage", 0) > 9]

        editor.wait_for(lambda: bool(progress()), "progress")
        editor.notify("window/workDoneProgress/cancel", {"token": progress()[0]})
        wait_ready(editor)  # it has heard of it
        goes_on.set()
        editor.wait_for(lambda: bool(told(editor, "cancelled")), "the end")
    assert [*tmp_path.glob("home/cache/fim-lsp/models/*.part")]
    assert not (tmp_path / "home/fim-lsp/config.toml").exists()
    assert editor.bye() == 0


def test_a_client_that_shows_the_model_itself_is_not_asked(begin: Callable[..., Editor]) -> None:
    """It wants `didChangeStatus`."""
    editor = begin("http://127.0.0.1:1", None, **{"fim.status.notify": True})
    wait_ready(editor)
    assert editor.messages("didChangeStatus")[-1]["trouble"] == ""
    assert editor.bye() == 0
    assert asked(editor) == 0


def told(editor: Editor, words: str) -> list[str]:
    messages = editor.shown()
    return [message for message in messages if words in message]

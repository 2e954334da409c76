"""The local port of a real server: opened for its page, or by the setting, and gone with the editor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import GHOST_TEXT, ROOT, Editor

A = "file:///shop/a.py"
BROWSER = {**GHOST_TEXT, "window": {"showDocument": {"support": True}}}
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def got(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with OPENER.open(urllib.request.Request(url, data), timeout=30) as answer:
        return json.load(answer)


def run(editor: Editor, command: str) -> Any:
    return editor.request("workspace/executeCommand", {"command": command, "arguments": []})


def opened(editor: Editor) -> list[dict[str, Any]]:
    return [m["params"] for m in editor.asked if m["method"] == "window/showDocument"]


def test_the_page_of_an_editor(editor: Editor) -> None:
    """Opened on demand, in a browser; the same session answers, and ends with its editor."""
    editor.initialize(capabilities=BROWSER, initializationOptions={"fim.backend.kind": "embedded"})
    editor.open(A, "def area(width, height):\n    return wi\n")
    at = {"line": 1, "character": 13}
    inline = {"textDocument": {"uri": A}, "position": at, "context": {"triggerKind": 1}}
    editor.request("textDocument/inlineCompletion", inline)

    url = str(run(editor, "fim.openPage"))
    editor.wait_for(lambda: bool(opened(editor)), "a browser")
    state = got(url + "page/state")

    assert opened(editor) == [{"uri": url, "external": True}]
    assert state["stats"]["requests"] == 1
    assert any("def area" in part["text"] for part in state["prompt"]["parts"])
    run(editor, "fim.showContext")
    editor.wait_for(lambda: len(opened(editor)) == 2, "the page again")
    assert opened(editor)[1]["uri"] == url
    assert editor.bye() == 0
    with pytest.raises(urllib.error.URLError):
        got(url + "health")


def test_the_setting_opens_it(launch: Callable[..., Editor], tmp_path: Path) -> None:
    """Other programs' clients get suggestions of the editor's session; a client without a browser is told the address."""
    settings = {"fim.backend.kind": "embedded", "fim.http.enabled": True}
    (tmp_path / "shop").mkdir()
    editor = launch()
    editor.initialize(rootUri=(tmp_path / "shop").as_uri(), initializationOptions=settings)
    url = str(run(editor, "fim.openPage"))
    body = {"prompt": "def add(first, second):\n    ret", "suffix": "\n"}

    answer = got(url + "v1/completions", body)

    assert answer["choices"][0]["text"].startswith("urn")
    assert any(url in message["message"] for message in editor.messages("window/showMessage"))
    assert editor.bye() == 0


def test_the_command_line(tmp_path: Path) -> None:
    """It prints where it is, answers, is found by the doctor, and leaves nothing behind when it is ended."""
    home = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "CACHE", "STATE")}
    (tmp_path / "CONFIG" / "fim-lsp").mkdir(parents=True)
    (tmp_path / "CONFIG" / "fim-lsp" / "config.toml").write_text('backend.kind = "embedded"\n')
    command = [sys.executable, "-m", "fim_lsp"]
    env = {**os.environ, **home}
    with subprocess.Popen(
        [*command, "http", "--root", str(tmp_path)], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
    ) as process:  # fmt: skip
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1].removesuffix("/infill")
        answer = got(url + "/infill", {"input_prefix": "def add(first, second):\n", "prompt": "    ret", "input_suffix": ""})  # fmt: skip
        doctor = subprocess.run(
            [*command, "doctor", "--json"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )  # fmt: skip
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)

    assert answer["content"].startswith("urn")
    assert any(url in finding["says"] for finding in json.loads(doctor.stdout)["findings"])
    assert code == 0
    kept = [path.name for path in (tmp_path / "CACHE").rglob("*") if path.is_file()]
    assert "days.json" in kept
    assert not [name for name in kept if name.endswith(f"-{url.rpartition(':')[2]}.json")]
    assert not (tmp_path / "CACHE" / "fim-lsp" / "workspaces").exists()

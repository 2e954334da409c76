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

from fim_lsp.settings import files
from tests.e2e.client import EMBEDDED, GHOST_TEXT, INLINE, Editor, at
from tests.e2e.forked import ROOT
from tests.places import SHOP

A = f"{SHOP}/a.py"
# What follows is sure and whole: how much of it has come when the answer is made, on a busy machine, changes nothing.
CART = "class Cart:\n    def __init__(self, width, height):\n        self.width = width\n"
HEIGHT = "        self.height = hei"
BROWSER = {**GHOST_TEXT, "window": {"showDocument": {"support": True}}}
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def got(url: str, body: dict[str, Any] | None = None, *, key: str = "") -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}"}
    with OPENER.open(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return json.load(answer)


def kept_key() -> str:
    """Return what `fim-lsp http` and every editor's port want to hear."""
    return files.client_key_file().read_text().strip()


def test_the_page_of_an_editor(editor: Editor) -> None:
    """Opened on demand, in a browser; the same session answers, and ends with its editor."""
    editor.initialize(capabilities=BROWSER, initializationOptions=EMBEDDED)
    editor.open(A, "def area(width, height):\n    return wi\n")
    editor.request(INLINE, at(A, 1, 13))
    url = str(editor.command("fim.openPage"))
    editor.wait_for(lambda: bool(editor.questions("window/showDocument")), "a browser")
    address, _, token = url.partition("#")
    state = got(address + "page/state", key=token)
    assert editor.questions("window/showDocument") == [{"uri": url, "external": True}]
    assert state["stats"]["requests"] == 1
    assert any("def area" in part["text"] for part in state["prompt"]["parts"])
    editor.command("fim.showContext")
    editor.wait_for(lambda: len(editor.questions("window/showDocument")) == 2, "the page again")
    assert editor.questions("window/showDocument")[1]["uri"] == url
    assert editor.bye() == 0
    with pytest.raises(urllib.error.URLError):
        got(address + "health", key=token)


def test_the_setting_opens_it(launch: Callable[..., Editor], tmp_path: Path) -> None:
    """Other programs' clients get suggestions of the editor's session; a client without a browser is told the address."""
    settings = {"fim.backend.kind": "embedded", "fim.http.port": 0}
    (tmp_path / "shop").mkdir()
    editor = launch()
    editor.initialize(rootUri=(tmp_path / "shop").as_uri(), initializationOptions=settings)
    url = str(editor.command("fim.openPage"))
    body = {"prompt": CART + HEIGHT, "suffix": "\n"}
    address, _, token = url.partition("#")
    with pytest.raises(urllib.error.HTTPError, match="401") as refused:
        got(address + "v1/completions", body, key=token)  # that is for the page alone
    refused.value.close()
    answer = got(address + "v1/completions", body, key=kept_key())
    assert answer["choices"][0]["text"] == "ght"
    assert any(url in text for text in editor.shown())
    assert editor.bye() == 0


def test_the_command_line(tmp_path: Path) -> None:
    """It prints where it is, answers, is found by the doctor, and leaves nothing behind when it is ended."""
    home = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "CACHE", "STATE")}
    (tmp_path / "CONFIG" / "fim-lsp").mkdir(parents=True)
    (tmp_path / "CONFIG" / "fim-lsp" / "config.toml").write_text('backend.kind = "embedded"\n')
    command = [sys.executable, "-m", "fim_lsp"]
    env = {**os.environ, **home}
    with subprocess.Popen(
        [*command, "http", "--root", str(tmp_path)], cwd=ROOT, env=env, stdout=subprocess.PIPE,
        text=True
    ) as process:  # fmt: skip
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(5)]
        url = said[0].split("'")[3].removesuffix("/infill")
        key = Path(said[0].split("'")[-2]).read_text().strip()
        asked = {"input_prefix": CART, "prompt": HEIGHT, "input_suffix": ""}
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            got(url + "/infill", asked)
        refused.value.close()
        answer = got(url + "/infill", asked, key=key)
        doctor = subprocess.run(
            [*command, "doctor", "--json"], cwd=ROOT, env=env, capture_output=True, text=True,
            check=False
        )  # fmt: skip
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
    assert answer["content"] == "ght"
    assert f'"llama-vscode.endpoint": "{url}", "llama-vscode.api_key": "{key}"' in said[1]
    assert f"'{url}/v1/completions'" in said[2]
    assert said[3].rstrip().endswith(f"_API_KEY={key}")
    assert said[4].split()[-1].startswith(f"{url}/#")
    assert key not in said[0] + said[2] + said[4]
    assert any(url in finding["says"] for finding in json.loads(doctor.stdout)["findings"])
    assert code == 0
    kept = [path.name for path in (tmp_path / "CACHE").rglob("*") if path.is_file()]
    assert not [name for name in kept if name.endswith(f"-{url.rpartition(':')[2]}.json")]
    assert not (tmp_path / "CACHE" / "fim-lsp" / "workspaces").exists()

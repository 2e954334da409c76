"""`fim-lsp complete` beside an editor, both as processes: one engine serves both, and none is missed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.client import PATIENCE_S, Editor
from tests.e2e.forked import ROOT

pytestmark = pytest.mark.engine

CODE = (ROOT / "fim_lsp/cli/sample/larder/store.py").read_text("utf-8")
TEXT = CODE.replace("self.owner = owner\n", "self.owner = \n")
PLACE = f"store.py:{TEXT[: TEXT.index('self.owner = ')].count(chr(10)) + 1}"


def engines(process: psutil.Process) -> list[int]:
    """Return the engines below a process, by their ids."""
    below = []
    for child in process.children(recursive=True):
        try:
            below += [child.pid] if "embedded_child" in " ".join(child.cmdline()) else []
        except psutil.NoSuchProcess:
            continue
    return below


def complete(home: Path, *flags: str) -> tuple[dict[str, Any], list[int]]:
    """Return what `fim-lsp complete --json` prints, and the engines that it started."""
    env = os.environ | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "fim_lsp", "complete", PLACE, "--json", *flags]
    seen: set[int] = set()
    with psutil.Popen(command, cwd=home.parent, env=env, stdout=-1, stderr=-1) as process:
        while process.poll() is None:
            seen |= {*engines(process)}
            time.sleep(0.01)
        out, _ = process.communicate()
    return json.loads(out), [*seen]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The settings of a user without a model server, and a project beside them."""
    settings = tmp_path / "home" / "fim-lsp" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('backend.kind = "embedded"\n')
    (tmp_path / "store.py").write_text(TEXT)
    return tmp_path / "home"


def open_editor(launch: Callable[..., Editor], home: Path) -> tuple[Editor, Path]:
    """Return an editor that has announced its engine, and the folder of announcements."""
    editor = launch()
    editor.initialize(rootUri=home.parent.as_uri())
    editor.open((home.parent / "store.py").as_uri(), TEXT)
    lent = home / "cache" / "fim-lsp" / "lent"
    until = time.monotonic() + PATIENCE_S
    while not [*lent.glob("*.json")]:
        assert time.monotonic() < until
        time.sleep(0.02)
    return editor, lent


def test_an_editors_engine_is_used(launch: Callable[..., Editor], home: Path) -> None:
    """No second engine is started, the report says whose it is, and the key is shown nowhere."""
    editor, lent = open_editor(launch, home)
    [engine] = engines(psutil.Process(editor.process.pid))
    [announcement] = lent.glob("*.json")
    token = json.loads(announcement.read_text())["token"]
    found, started = complete(home, "--why")
    assert found["items"][0]["text"]
    assert (found["backend"]["kind"], started) == ("editor", [])
    assert "the engine of a running editor" in found["why"]["by hand"]
    child = psutil.Process(engine)
    assert token not in repr((found, child.cmdline(), child.environ()))
    assert editor.request("fim/stats", {})["backend"]["state"] == "ready"
    assert editor.bye() == 0
    assert [*lent.glob("*.json")] == []


def test_a_killed_editor_is_not_missed(launch: Callable[..., Editor], home: Path) -> None:
    """What it left is taken away; an engine of its own answers, ends with the command and is not lent on."""
    editor, lent = open_editor(launch, home)
    editor.process.kill()
    editor.wait()
    found, started = complete(home)
    assert found["items"][0]["text"]
    assert (found["backend"]["kind"], len(started)) == ("embedded", 1)
    assert [*lent.glob("*.json")] == []
    assert not psutil.pid_exists(started[0])

"""Several windows of one user: one engine, a few tokens a key, and closing one changes nothing."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from server_bridge.machine import locks
from tests.e2e.client import AUTOMATIC, INLINE, INVOKED, Editor, at, insertion, wait_until
from tests.models import BUNDLED
from tests.real_code import LONG, MIDDLING, read_code

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(sys.platform != "linux", reason="which processes use a file is Linux's"),
]

# An engine ends after a second without an editor, not after ten minutes; a busy machine may need longer
# to save than an editor waits.
SOON = """\
import functools
from fim_lsp.lsp import ending, server
from server_bridge import bridge
ending.LEAVE_S = server.CLOSE_S = 60.0
bridge.EmbeddedSettings = functools.partial(bridge.EmbeddedSettings, unused_s=1.0)
"""
LINE = "\ndef add(a, b):\n    return a"
TYPED = "\n\ndef parse_line(line):\n    key, value = line.split('=')\n    return key, value"


class Window:
    """An editor with one file of some hundred lines open, at whose end the user types."""

    def __init__(
        self, editor: Editor, model: Path, folder: Path, text: str, *, saves: bool
    ) -> None:
        self.editor = editor
        self.uri = (folder / "a.py").as_uri()
        self.folder = folder
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        (folder / "a.py").write_text(text)
        self._row = text.count("\n")
        self._column = 0
        self._version = 1
        options = {"fim.backend.model": str(model), "fim.state.save": saves}
        editor.initialize(rootUri=folder.as_uri(), initializationOptions=options)
        editor.open(self.uri, text)

    def ask(self, kind: int = INVOKED) -> list[Any]:
        """Return the suggestions at the cursor."""
        place = at(self.uri, self._row, self._column, kind)
        items: list[Any] = self.editor.request(INLINE, place)["items"]
        return items

    def insert(self, text: str) -> None:
        self._version += 1
        self.editor.change(self.uri, self._version, insertion(self._row, self._column, text))
        *above, last = text.split("\n")
        self._row, self._column = self._row + len(above), len(last) + (not above) * self._column

    def type(self, key: str) -> int:
        """Type a key, and return how many tokens were evaluated for it."""
        before = self.counted()
        self.insert(key)
        self.ask(AUTOMATIC)
        return self.counted() - before

    def counted(self) -> int:
        n: int = self.editor.request("fim/stats")["tokens"]["evaluated"]
        return n

    def wait_answered(self, who: str) -> None:
        """Ask until the model answered, which may be that there is nothing to say."""
        last = lambda: self.editor.request("fim/stats")["last"]["outcome"]  # noqa: E731
        wait_until(lambda: self.ask() or last() == "model", who)

    def rest(self) -> None:
        wait_until(lambda: not self.editor.request("fim/status")["busy"], "the model")


@pytest.fixture
def window(launch: Callable[..., Editor], tmp_path: Path) -> Callable[[int], Window]:
    """Opens windows; with one number, the same folder."""
    model = tmp_path / "model.gguf"
    shutil.copy(BUNDLED, model)

    def open_window(n: int, *, saves: bool = True) -> Window:
        source = read_code([LONG, MIDDLING][n % 2])[: 9000 + 500 * n]
        text = source.rpartition("\n")[0] + "\n"
        return Window(launch(before=SOON), model, tmp_path / f"shop{n}", text, saves=saves)

    return open_window


def engines(tmp_path: Path) -> list[psutil.Process]:
    """Return the engines that editors of this user share."""
    files = (tmp_path / "home/cache/fim-lsp").glob("engine-*.json")
    told = [locks.find(file) for file in files]
    return [psutil.Process(int(json.loads(each)["pid"])) for each in told if each]


def test_windows_share_an_engine_that_keeps_what_each_needs(
    window: Callable[[int], Window], tmp_path: Path
) -> None:
    """Two are typed in in turn, a third looks; closing, killing and coming back change nothing."""
    first = window(0)
    assert first.ask()
    [engine] = engines(tmp_path)
    second = window(1)
    second.insert(LINE)
    second.wait_answered("the first engine")  # a busy machine may judge longer than a request waits
    third = window(2)
    third.ask()
    assert engines(tmp_path) == [engine]
    for each in (first, second, third):
        each.rest()
    costs = sorted(each.type(key) for key in TYPED for each in (first, second))
    assert costs[len(costs) // 2] <= 2
    assert costs[int(0.95 * len(costs))] <= 8

    first.editor.kill()
    third.editor.terminate()
    assert second.type("\n") <= 8
    assert engines(tmp_path) == [engine]
    engine.kill()
    second.insert("x = ")  # of which nothing is known
    second.wait_answered("the next engine")
    [engine] = engines(tmp_path)
    assert all("No suggestion" in text for text in second.editor.shown())
    second.rest()
    assert second.editor.bye() == 0
    engine.wait(60)
    assert [*(tmp_path / "home/cache/fim-lsp").glob("engine-*")] == []


@pytest.mark.promise("rules-act-at-once")
@pytest.mark.parametrize("saves", [True, False])
def test_what_an_ended_window_showed_is_forgotten_once_a_rule_hides_it(
    window: Callable[..., Window], tmp_path: Path, saves: bool
) -> None:
    """Killed or closed, with what it saved or without; a hidden file of no window ends nothing."""
    keeper = window(0, saves=saves)
    keeper.wait_answered("the first engine")
    for n, end in enumerate((Editor.kill, Editor.bye), 1):
        [engine] = engines(tmp_path)
        ended = window(n, saves=saves)
        ended.wait_answered("the engine that is shared")
        end(ended.editor)
        (ended.folder / ".gitignore").write_text("*.py\n")
        assert engines(tmp_path) == [engine]
        after = window(n, saves=saves)
        engine.wait(60)
        keeper.wait_answered("the next engine")
        fresh = engines(tmp_path)
        after.editor.open((ended.folder / "b.py").as_uri(), "x = 1\n")
        assert not after.ask()
        assert after.editor.bye() == 0
        assert engines(tmp_path) == fresh
    assert keeper.editor.bye() == 0

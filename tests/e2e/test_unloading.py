"""The engine takes its model out of memory after a rest, and has it back at the next key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import AUTOMATIC, INLINE, Editor, at, insertion, wait_until
from tests.models import BUNDLED

psutil = pytest.importorskip("psutil")

# A minute is six seconds: llama.cpp closes a silent connection after five. It is saved after two.
SOON = """\
import dataclasses
from fim_lsp.session import persistence
from server_bridge.process import programs
persistence.REST_S = 2.0
embedded = programs.embedded
def soon(settings, *rest, **named):
    settings = dataclasses.replace(settings, unload_s=settings.unload_s // 10)
    return embedded(settings, *rest, **named)
programs.embedded = soon
"""
BACKEND = {"kind": "embedded", "unloadAfterMinutes": 1}
SETTINGS = {"backend": BACKEND, "completion": {"minConfidence": 0.001}}
LINES = "".join(f"def only_here_{n}(a, b):\n    return a * {n} + b\n\n\n" for n in range(30))
BODY = "    total = 0\n    for {0} in {0}s:\n        total += {0}\n    return total\n"
BEGUN = "\n\ndef weight(weights):\n    total = 0\n    for w"
TEXT = LINES + "def price(prices):\n" + BODY.format("price") + BEGUN


@pytest.fixture(scope="module")
def template() -> None:
    """These servers are started as editors start them: a forked one has its engine already."""


def test_the_first_key_after_a_rest_is_answered(launch: Callable[..., Editor], tmp_path: Path):
    """It wakes the model, which evaluates one token; looks did not, and memory was free."""
    (tmp_path / "shop/.git").mkdir(parents=True)
    file = tmp_path / "shop/a.py"
    file.write_text(TEXT)
    uri = file.as_uri()
    row = TEXT.count("\n")
    column = len("    for w")
    editor = launch(before=SOON)
    editor.initialize(rootUri=file.parent.as_uri(), initializationOptions={"fim": SETTINGS})
    editor.open(uri, TEXT)
    assert editor.request(INLINE, at(uri, row, column, AUTOMATIC))["items"]
    children = psutil.Process(editor.process.pid).children(recursive=True)
    [engine] = [child for child in children if "embedded_child" in child.cmdline()[-1]]

    def is_unloaded() -> bool:
        """Return whether the model is gone; meanwhile the editor looks, which is no request."""
        editor.request("fim/status")
        editor.request("fim/why", {"uri": uri, "position": {"line": row, "character": column}})
        return not any(str(BUNDLED) == each.path for each in engine.memory_maps())

    assert not is_unloaded()
    wait_until(is_unloaded, "the memory")
    before = editor.request("fim/stats")["tokens"]
    editor.change(uri, 2, insertion(row, column - 1, "p", (row, column)))
    assert editor.request(INLINE, at(uri, row, column, AUTOMATIC))["items"]
    wait_until(lambda: not editor.request("fim/status")["busy"], "the model")
    editor.change(uri, 3, insertion(row, column, "x"))
    editor.request(INLINE, at(uri, row, column + 1, AUTOMATIC))
    after = editor.request("fim/stats")["tokens"]
    cost = {name: after[name] - before[name] for name in after}
    assert cost["evaluated"] + cost["background"] <= 8, cost
    assert cost["cached"] > 100, cost
    editor.finish()
    assert editor.bye() == 0

"""A real server whose event loop does not come back ends, and one that is only stopped does not."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import EMBEDDED, Editor, wait_until

psutil = pytest.importorskip("psutil")

A = "file:///shop/a.py"
TEXT = "this_is_text_of_the_user = 1\n"
# Seconds are made shorter, in proportion.
SOON = (
    "from fim_lsp.lsp import watchdog\n"
    "watchdog.MOST_S, watchdog.LOOK_S, watchdog.BUSY_S = 2.0, 0.2, 0.6\n"
    "import fim_lsp.lsp.editor, os\n"
)
# In place of what happens when the cursor rests.
HANG = "def hang(*_):\n    {}\nfim_lsp.lsp.editor.Editor.rest_at = hang\n"
HANGS = {
    "computes": "while True: pass",
    "waits for a disk": "os.open(os.environ['HOME'] + '/pipe', os.O_RDONLY)",
}
# Keeps Python's lock: no other thread can look.
NATIVE = "sum(range(10**13))"


@pytest.fixture(scope="module")
def template() -> None:
    """These servers are started as editors start them: one that is forked is watched by a test."""


def rest(editor: Editor) -> None:
    """Report that the cursor rests, which hangs the loop."""
    place = {"line": 0, "character": 1}
    editor.notify("fim/didMoveCursor", {"textDocument": {"uri": A}, "position": place})


@pytest.mark.promise("odd-input")
@pytest.mark.skipif(os.name != "posix", reason="no pipe, and no timer of processor time")
@pytest.mark.parametrize("how", [*HANGS, "in native code"])
def test_a_stuck_server_ends(launch: Callable[..., Editor], tmp_path: Path, how: str) -> None:
    """Not with code 0, without its children, and its stack is kept, without text of files."""
    (tmp_path / "home").mkdir()
    os.mkfifo(tmp_path / "home/pipe")
    editor = launch(before=SOON + HANG.format(HANGS.get(how, NATIVE)))
    editor.initialize(initializationOptions=EMBEDDED)
    editor.open(A, TEXT)
    server = psutil.Process(editor.process.pid)
    engine = "server_bridge.process.embedded_child"
    wait_until(lambda: any(engine in each.cmdline() for each in server.children()), "its engine")
    children = server.children(recursive=True)
    rest(editor)
    assert editor.wait() == (1 if how in HANGS else -signal.SIGVTALRM)
    assert psutil.wait_procs(children, timeout=5)[1] == []

    [stacks] = (tmp_path / "home").rglob("*stacks.txt")
    assert stacks.stat().st_mode & 0o777 == 0o600
    assert ' in hang\n  File "' in stacks.read_text()
    assert "this_is_text" not in stacks.read_text()

    if how != "computes":
        return
    again = launch()  # and what it saved is of use
    again.initialize(initializationOptions=EMBEDDED)
    again.open(A, TEXT)
    place = {"uri": A, "position": {"line": 0, "character": 1}}
    assert "was ended at" in (said := again.request("fim/why", place))
    assert "in did_move_cursor (fim_lsp/lsp/server.py:" in said
    assert str(stacks) in said
    assert again.request("fim/stats")["backend"]["state"] != "unusable"
    assert again.bye() == 0

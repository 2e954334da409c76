"""The server never outlives its client, whatever it is doing, on a real process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from tests.e2e.client import INLINE, Editor, at, wait_until
from tests.places import SHOP

pytestmark = pytest.mark.promise("ends-with-the-editor")

psutil = pytest.importorskip("psutil")

LATE_S = 5.0  # a second on a busy machine; what hangs here hangs for ten minutes
A = f"{SHOP}/a.py"

# What may hang, as code that the server runs first.
HANG = "import time\ndef hang(*_, **__):\n    time.sleep(600)\n"
STATES = {
    "a worker thread": HANG
    + "from fim_lsp.session.state import verdicts\nverdicts.why_private = hang\n",
    "all worker threads": "import asyncio, threading, time\nfrom fim_lsp.lsp import server\n"
    "begin = server.Editor.begin\ndef busy(editor, params):\n    begin(editor, params)\n"
    "    for _ in range(100):\n        asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)\n"
    "server.Editor.begin = busy\n",
    "saving": HANG + "import asyncio\nfrom fim_lsp.session.session import Session\n"
    "async def aclose(self):\n    await asyncio.sleep(600)\nSession.aclose = aclose\n",
    "saving that cannot be cancelled": "import asyncio\nfrom fim_lsp.session.session "
    "import Session\n"
    "async def aclose(self):\n    while True:\n        try:\n            await asyncio.sleep(600)\n"
    "        except asyncio.CancelledError:\n            pass\nSession.aclose = aclose\n",
    "the event loop": HANG + "from fim_lsp.lsp import server\nserver.Editor.forward = hang\n",
    "the log": HANG + "import logging\nlogging.shutdown = hang\n",
    "a thread that is no daemon": HANG
    + "import threading\nthreading.Thread(target=hang).start()\n",
}


def signalled(number: int) -> Callable[[Editor], int]:
    def leave(editor: Editor) -> int:
        editor.process.send_signal(number)
        return editor.wait(LATE_S)

    return leave


def hung_up(editor: Editor) -> int:
    editor._stdin.close()
    return editor.wait(LATE_S)


def left(editor: Editor) -> int:
    """Without waiting for an answer."""
    editor.ask("shutdown")
    editor.notify("exit")
    return editor.wait(LATE_S)


SIGNALS = (name for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
ENDINGS: dict[str, Callable[[Editor], int]] = {"end of input": hung_up, "exit": left}
ENDINGS |= {name: signalled(getattr(signal, name)) for name in SIGNALS}


def started(launch: Callable[..., Editor], **settings: object) -> Editor:
    before = str(settings.pop("before", ""))
    editor = launch(before=before)
    editor.initialize(initializationOptions=settings)
    editor.open(A, "x = 1\n")
    editor.ask(INLINE, at(A, 0, 1))
    return editor


# All that tells of the client's end calls the same function; so each is tried, not with each state.
HANGING = [*zip(STATES, cycle(["end of input", "exit", "SIGTERM"]))]


@pytest.mark.parametrize(("state", "ending"), HANGING)
def test_what_hangs_does_not_keep_it(launch: Callable[..., Editor], state: str, ending: str):
    """Whatever hangs, and however the client leaves, the process has ended soon after."""
    ENDINGS[ending](started(launch, before=STATES[state]))


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_child_stays(launch: Callable[..., Editor], tmp_path: Path, ending: str) -> None:
    """A command for a key that hangs, and what it started, ends with the server."""
    command = tmp_path / "key.sh"
    command.write_text(f"#!/bin/sh\nsleep 600 &\ntouch {tmp_path}/asked\nsleep 600\n", "utf-8")
    command.chmod(0o700)
    backend = {"kind": "llama-server", "url": "http://127.0.0.1:9", "apiKeyCommand": str(command)}
    editor = started(launch, backend=backend)
    wait_until(lambda: editor.request("fim/stats") and (tmp_path / "asked").exists(), "the command")
    children = psutil.Process(editor.process.pid).children(recursive=True)
    ENDINGS[ending](editor)
    assert children
    assert psutil.wait_procs(children, timeout=LATE_S)[1] == []


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the end of input has to tell")
def test_the_death_of_the_client_is_noticed(launch: Callable[..., Editor]) -> None:
    """Its input stays open in another process, but the process of the client has ended."""
    editor = launch()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as client:
        editor.initialize(processId=client.pid)
        client.kill()
    assert editor.wait(LATE_S) == 1


@pytest.mark.parametrize("pid", [None, 1, 2**31 - 1])
def test_a_process_that_is_not_there_is_not_waited_for(
    launch: Callable[..., Editor], pid: int | None
) -> None:
    """A client in another container has an id that means nothing here."""
    editor = launch()
    editor.initialize(processId=pid)
    editor.finish()
    assert editor.bye() == 0


def test_a_client_that_does_not_read_does_not_keep_it(launch: Callable[..., Editor]) -> None:
    """Its pipe is full, so answers cannot be written; the server still hears what it is told."""
    editor = launch()
    editor.stop_reading()
    for _ in range(2000):  # the answers are three times what the pipe takes
        editor.ask("no/such/method", {})
    editor.process.send_signal(signal.SIGTERM)
    assert editor.wait(LATE_S) == 1

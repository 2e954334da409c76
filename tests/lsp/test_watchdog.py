"""When a loop that does not answer is stuck, and what is said of it later."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from functools import reduce
from pathlib import Path

import pytest

from fim_lsp.lsp import ending, watchdog
from fim_lsp.lsp.watchdog import LOOK_S, MOST_S, Silence
from fim_lsp.session.state import state_file
from fim_lsp.settings.files import STACKS
from server_bridge.machine.executables import PACKAGES

N = int(MOST_S / LOOK_S)  # looks within the time that a loop has
STACK = f"""\
Current thread 0x1 (most recent call first):
  File "{PACKAGES}/fim_lsp/lsp/watchdog.py", line 9 in _end

Thread 0x2 (most recent call first):
  File "/usr/lib/python3/re/__init__.py", line 166 in match
  File "{PACKAGES}/fim_lsp/session/lane.py", line 31 in warm
  File "{PACKAGES}/fim_lsp/lsp/server.py", line 12 in run
"""


@pytest.mark.parametrize(
    ("used", "is_end"),
    [
        ([], False),
        ([LOOK_S] * N, True),  # it computes
        ([LOOK_S] * (N - 1), False),
        ([0.0] * N, True),  # it waits for a lock or a disk
        ([0.0] * (N - 1), False),  # or was stopped: then there is one look, however long that was
        ([0.01] * N * 20, False),  # a busy machine gives it half a percent of a processor
        ([*[0.0] * (N - 1), 0.01] * 4, False),  # and sometimes none
        ([*[0.01] * N, 0.0], False),
        ([*[0.0] * 3, *[0.4] * N], False),
        ([*[0.01] * N, *[0.0] * N], True),
        ([3.0, *[0.0] * (N - 1)], True),
    ],
)
def test_a_loop_is_stuck_by_what_it_does(used: list[float], *, is_end: bool) -> None:
    """Looks at a loop without an answer end the process for its own time, or for none at all."""
    assert reduce(Silence.add, used, Silence()).is_end is is_end


def write(cache: Path, text: str, mode: int = 0o600) -> None:
    cache.mkdir()
    (cache / STACKS).write_text(text)
    (cache / STACKS).chmod(mode)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (STACK, "in warm (fim_lsp/session/lane.py:31)"),
        (STACK.replace("warm", "old") + STACK, "in warm ("),
        (STACK.replace(str(PACKAGES), "/home/\\xe9/lib"), "in match (/usr/lib/python3/re"),
        ("", ""),
        ("Current thread 0x1 (most recent call first):\n", ""),
    ],
)
def test_the_last_end_is_named(tmp_path: Path, text: str, named: str) -> None:
    """Its time, the innermost of our functions on the loop's thread, and the file of the stack."""
    write(tmp_path / "cache", text)
    said = watchdog.describe_last_end(tmp_path / "cache", 60.0)
    assert named in said
    assert bool(named) == (STACKS in said)


def test_an_end_is_not_named_for_ever(tmp_path: Path) -> None:
    """One longer ago than asked for is not, nor one that another user may have written."""
    assert watchdog.describe_last_end(tmp_path / "cache", 60.0) == ""
    write(tmp_path / "cache", STACK)
    assert watchdog.describe_last_end(tmp_path / "cache", -1.0) == ""
    (tmp_path / "cache" / STACKS).chmod(0o644)
    assert watchdog.describe_last_end(tmp_path / "cache", 60.0) == ""


def test_the_start_that_moves_a_full_file_away_tells_of_it(tmp_path: Path) -> None:
    """It is read after the watchdog has begun again, with an empty file."""
    write(tmp_path / "cache", "x" * watchdog.MOST_BYTES + STACK)
    os.close(watchdog.open_stacks(tmp_path / "cache" / STACKS))
    assert (tmp_path / "cache" / STACKS).read_bytes() == b""
    assert "in warm (" in watchdog.describe_last_end(tmp_path / "cache", 60.0)


def test_the_loops_own_stack_is_told_beside_many_threads(tmp_path: Path, monkeypatch):
    """faulthandler tells of a hundred at most, the newest, and of each as many frames."""
    go_on = threading.Event()
    deep = 90
    monkeypatch.setattr(ending, "leave", lambda _: None)
    monkeypatch.setattr(ending, "end_soon", lambda: None)
    monkeypatch.setattr(ending, "end_children", lambda: None)

    def wait(n: int) -> None:
        wait(n - 1) if n else go_on.wait()

    threads = [threading.Thread(target=wait, args=(deep,), daemon=True) for _ in range(120)]
    for thread in threads:
        thread.start()
    file = watchdog.open_stacks(tmp_path / "cache" / STACKS)
    watchdog._end(tmp_path / "cache", file, threading.get_ident())
    go_on.set()
    os.close(file)
    for thread in threads:
        thread.join()
    text = (tmp_path / "cache" / STACKS).read_text()
    assert text.count("most recent call first") == 101
    assert text.rpartition("most recent call first")[2].count(" in test_the_loops_own_stack") == 1
    assert len(text) < watchdog.MOST_READ


def test_there_are_two_files_at_most(tmp_path: Path) -> None:
    """A full file becomes the old one; `fim-lsp forget` deletes both."""
    cache = tmp_path / "cache"
    for _ in range(3):
        file = watchdog.open_stacks(cache / STACKS)
        with os.fdopen(file, "wb") as stacks:
            stacks.write(b"x" * (watchdog.MOST_BYTES + 1))
    assert sorted(path.name for path in cache.iterdir()) == [f"old-{STACKS}", STACKS]
    assert state_file.forget(cache) == 2 * (watchdog.MOST_BYTES + 1)


def test_stacks_go_to_the_error_output_without_a_file(tmp_path: Path) -> None:
    """A folder that cannot be made, a link or a pipe is no reason to stay stuck."""
    (tmp_path / "cache").touch()
    assert watchdog.open_stacks(tmp_path / "cache" / STACKS) == 2
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe", 0o600)
        assert watchdog.open_stacks(tmp_path / "pipe") == 2
    (tmp_path / STACKS).symlink_to(tmp_path / "elsewhere")
    assert watchdog.open_stacks(tmp_path / STACKS) == 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows")
def test_what_watches_ends_with_its_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the loop is closed before it answers: no timer is left that ends the process."""
    monkeypatch.setattr(watchdog, "LOOK_S", 0.05)
    monkeypatch.setattr(watchdog, "cache_folder", lambda: tmp_path / "cache")

    async def serve() -> None:
        watchdog.watch()

    for _ in range(3):
        asyncio.run(serve())
    for thread in threading.enumerate():
        if thread.name == "watchdog":
            thread.join(5.0)
            assert not thread.is_alive()
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)

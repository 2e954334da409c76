"""A callback that computes in our packages for too long is reported with its calls, and no other."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from tests import disk_calls, watchdog
from tests.clock import Loop

pytestmark = pytest.mark.promise("bounded-work")

SPIN = """
def spin(clock, seconds):
    end = clock() + seconds
    while clock() < end:
        pass
"""


@pytest.mark.skipif(not watchdog.CAN_WATCH, reason="no timer of this process' own time")
@pytest.mark.parametrize(
    ("folder", "seconds", "threaded", "is_told"),
    [
        # Long: the system counts the time of its timer by ticks, and may miss some of them.
        (disk_calls.PACKAGES[0], 10 * watchdog.LONGEST_S, False, True),
        (disk_calls.PACKAGES[0], 0.5 * watchdog.LONGEST_S, False, False),
        (disk_calls.PACKAGES[0], 2.5 * watchdog.LONGEST_S, True, False),
        (str(Path(__file__).parent), 2.5 * watchdog.LONGEST_S, False, False),
    ],
)
def test_what_is_told(
    folder: str, seconds: float, threaded: bool, is_told: bool, tmp_path, monkeypatch
) -> None:
    """Time of the processor, in the product; a test may compute, and so may what is for a thread."""
    code: dict[str, Any] = {}
    exec(compile(SPIN, f"{folder}/spin.py", "exec"), code)
    monkeypatch.setattr(asyncio.Handle, "_run", asyncio.Handle._run)
    watchdog.watch(tmp_path / "report")
    with asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        spin = code["spin"]
        if threaded:
            spin = partial(loop.run_in_executor, None, spin)
        loop.call_soon(spin, thread_time, seconds)
        runner.run(asyncio.sleep(0))
    told = (tmp_path / "report").read_text() if (tmp_path / "report").exists() else ""
    assert ("in spin" in told) is is_told


LOOK = """
async def look(_):
    os.stat("/tmp")
def look_at_once():
    os.stat("/tmp")
"""


@pytest.mark.parametrize(
    ("folder", "how", "is_told"),
    [
        (disk_calls.PACKAGES[0], "awaited", True),
        (disk_calls.PACKAGES[0], "called back", True),
        (disk_calls.PACKAGES[0], "in a thread", False),
        (disk_calls.PACKAGES[0], "called by a test", False),
        (disk_calls.TESTS, "awaited", False),
        (f"{disk_calls.PACKAGES[0]}/cli", "awaited", False),
    ],
)
async def test_what_is_told_of_disks(folder: str, how: str, is_told: bool) -> None:
    """A disk is asked on the loop's thread, by what answers keys."""
    code: dict[str, Any] = {"os": os}
    exec(compile(LOOK, f"{folder}/look.py", "exec"), code)
    found = list[str]()
    with disk_calls.told(found.append):
        match how:
            case "awaited":
                await code["look"](None)
            case "called back":
                asyncio.get_running_loop().call_soon(code["look_at_once"])
                await asyncio.sleep(0)
            case "in a thread":
                await asyncio.to_thread(code["look_at_once"])
            case _:
                code["look_at_once"]()
    assert bool(found) is is_told

"""A callback that computes in our packages for too long is reported with its calls, and no other."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from tests import watchdog
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
        (watchdog.PACKAGES[0], 10 * watchdog.LONGEST_S, False, True),
        (watchdog.PACKAGES[0], 0.5 * watchdog.LONGEST_S, False, False),
        (watchdog.PACKAGES[0], 2.5 * watchdog.LONGEST_S, True, False),
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
        loop, spin = runner.get_loop(), code["spin"]
        if threaded:
            spin = partial(loop.run_in_executor, None, spin)
        loop.call_soon(spin, thread_time, seconds)
        runner.run(asyncio.sleep(0))
    told = (tmp_path / "report").read_text() if (tmp_path / "report").exists() else ""
    assert ("in spin" in told) is is_told

"""A callback that computes in our packages for too long is reported with its calls, and no other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from tests import watchdog

SPIN = """
def spin(clock, seconds):
    end = clock() + seconds
    while clock() < end:
        pass
"""


@pytest.mark.skipif(not watchdog.CAN_WATCH, reason="no timer of this process' own time")
@pytest.mark.parametrize(
    ("folder", "seconds", "is_told"),
    [
        (watchdog.PACKAGES[0], 2.5 * watchdog.LONGEST_S, True),
        (watchdog.PACKAGES[0], 0.5 * watchdog.LONGEST_S, False),
        (str(Path(__file__).parent), 2.5 * watchdog.LONGEST_S, False),
    ],
)
def test_what_is_told(
    folder: str, seconds: float, is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time of the processor, in the product; a test may compute."""
    code: dict[str, Any] = {}
    exec(compile(SPIN, f"{folder}/spin.py", "exec"), code)
    monkeypatch.setattr(asyncio.Handle, "_run", asyncio.Handle._run)
    watchdog.watch(tmp_path / "report")
    with asyncio.Runner() as runner:
        runner.get_loop().call_soon(code["spin"], thread_time, seconds)
        runner.run(asyncio.sleep(0))
    told = (tmp_path / "report").read_text() if (tmp_path / "report").exists() else ""
    assert ("in spin" in told) is is_told

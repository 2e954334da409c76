"""The processor time and the memory of a process, as the system tells them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROCESSES = Path("/proc")


def cpu_s(pid: int) -> float | None:
    """Return the seconds that the process *pid* has computed; None where there is none."""
    try:
        if sys.platform != "linux":
            import psutil  # noqa: PLC0415 (not installed on Linux)

            return float(sum(psutil.Process(pid).cpu_times()[:2]))
        stat = (PROCESSES / str(pid) / "stat").read_text("utf-8", "replace")
    except Exception:  # noqa: BLE001 (psutil's errors, OSError: it has ended)
        return None
    # proc(5): the name, which may have anything in it, stands in brackets
    state, *fields = stat.rpartition(")")[2].split()
    ticks = int(fields[10]) + int(fields[11])
    return None if state in "ZX" else ticks / os.sysconf("SC_CLK_TCK")

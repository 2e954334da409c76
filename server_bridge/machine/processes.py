"""Processes of this machine: the time and memory that they take, and when they end."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

PROCESSES = Path("/proc")
LOOK_S = 1.0  # between two looks, where the system does not tell when a process ends


def cpu_s(pid: int) -> float | None:
    """
    Return the seconds that the process *pid* has computed; None where there is none. Where the
    system does not tell, one that is there computes.
    """
    try:
        if sys.platform != "linux":
            import psutil  # noqa: PLC0415 (not installed on Linux)

            return float(sum(psutil.Process(pid).cpu_times()[:2]))
        if not (PROCESSES / "self").exists():
            os.kill(pid, 0)
            return time.monotonic()
        stat = (PROCESSES / str(pid) / "stat").read_text("utf-8", "replace")
    except Exception:  # noqa: BLE001 (psutil's errors, OSError: it has ended)
        return None
    # proc(5): the name, which may have anything in it, stands in brackets
    state, *fields = stat.rpartition(")")[2].split()
    ticks = int(fields[10]) + int(fields[11])
    return None if state in "ZX" else ticks / os.sysconf("SC_CLK_TCK")


async def wait_ended(pid: int) -> None:
    """Wait until the process *pid* has ended."""
    if sys.platform == "linux":
        with suppress(OSError):  # it has ended already, or the kernel is older than 5.3
            loop = asyncio.get_running_loop()
            ended = asyncio.Event()
            process = os.pidfd_open(pid)
            loop.add_reader(process, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(process)
                os.close(process)
    while cpu_s(pid) is not None:
        await asyncio.sleep(LOOK_S)


def kill(pid: int) -> None:
    """End the process *pid* at once."""
    with suppress(ProcessLookupError):
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows knows one end only


def memory(pid: int) -> int:
    """Return the bytes of memory that the process *pid* has; 0 where the system does not tell."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            pages = (PROCESSES / str(pid) / "statm").read_text("ascii").split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def list_open(pid: int) -> list[str]:
    """Return the open files of a process, by the names that the kernel gives them."""
    folder = PROCESSES / str(pid) / "fd"
    names = []
    try:
        for number in os.listdir(folder):  # noqa: PTH208 (200 processes have 20,000 files open)
            try:
                names.append(os.readlink(f"{folder}/{number}"))  # noqa: PTH115
            except OSError:  # it was closed meanwhile
                continue
    except OSError:  # another user's, or it has ended
        pass
    return names


def place() -> list[str]:
    """
    Return what is the same for all processes that see each other and each other's ports: a home
    may be in several containers, and on several machines.
    """
    kinds = (PROCESSES / "self/ns" / kind for kind in ("pid", "net"))
    boot = PROCESSES / "sys/kernel/random/boot_id"  # others may have the host's name, and its nodes
    machine = boot.read_text("ascii") if os.access(boot, os.R_OK) else platform.node()
    return [machine, *(str(kind.stat().st_ino) for kind in kinds if kind.exists())]


def list_all() -> list[int]:
    """Return the numbers of all processes, as far as the system tells."""
    return sorted(int(folder.name) for folder in PROCESSES.glob("[0-9]*"))

"""
The end of the process, within a second of its client's end, whatever threads and children are
doing.

Python waits at exit for every worker thread, and a hanging `apiKeyCommand` or a long parse keeps
one busy for minutes. So the process leaves by `os._exit`, after its children have ended and the log
is written; and a watchdog that needs no lock of the interpreter ends it where even that hangs.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeGuard

from server_bridge.machine import processes

LEAVE_S = 0.9  # from the end of the client to the watchdog's: an editor's restart waits a second
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # as far as the system has them
_NOWHERE = os.open(os.devnull, os.O_WRONLY)


@functools.cache  # a second cause does not restart the timer
def end_soon() -> None:
    """
    Begin to count: the process ends within `LEAVE_S` from now, whatever it does. For any thread.
    """
    faulthandler.dump_traceback_later(LEAVE_S, exit=True, file=_NOWHERE)


def on_signals(leave: Callable[[], None]) -> None:
    """Call *leave*, on the main thread, when a signal asks the process to end."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup, `&`
            signal.signal(number, lambda *_: leave())


def is_there(pid: int | None) -> TypeGuard[int]:
    """
    Return whether the client *pid* is a process that can be waited for.

    A client in another container has a process id that means nothing here. Windows tells of its end
    by that of our input.
    """
    return os.name == "posix" and bool(pid and pid > 1) and processes.cpu_s(pid or 0) is not None


async def on_death(pid: int, leave: Callable[[], None]) -> None:
    """Call *leave* when the process *pid* has ended."""
    await processes.wait_ended(pid)
    leave()


def leave(code: int) -> NoReturn:
    """End the process now, and what it started before."""
    end_children()
    logging.shutdown()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def end_children() -> None:
    """End what this process started, where the system lists it (Linux)."""
    if sys.platform == "linux":
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes that *pid* started, and theirs."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            for child in map(int, file.read_text("ascii").split()):
                yield from _descendants(child)
                yield child

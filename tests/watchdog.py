"""
No callback of an event loop computes for longer than `LONGEST_S` in our packages: no key is
answered meanwhile.

A timer of this process' own processor time looks where the main thread is, so a busy machine makes
nothing longer, and what a test itself computes does not count. A process that is forked watches
itself, too, and reports to the same file.
"""

from __future__ import annotations

import asyncio
import atexit
import signal
import traceback
import tracemalloc
from pathlib import Path
from time import thread_time
from types import FrameType
from typing import ClassVar

from tests import disk_calls
from tests.disk_calls import PACKAGES

LONGEST_S = 0.1
HELD_UP = "the event loop was held up"
LOOK_S = 0.02
LOOKS = round(LONGEST_S / LOOK_S) + 1  # between the first and the last of them lies that time
# Once in a process, before there is an answer that could be late, an import too; and what a loop of the tests, which has
# no threads, computes in place of one (tests/clock.py).
START = {"lsp_initialize", "initialize", "_find_and_load", "run_in_executor"}
CAN_WATCH = hasattr(signal, "setitimer")  # not on Windows

run = asyncio.Handle._run


class Callback:
    """
    The one that runs now, if any; *looks* are where it was, whenever it was looked at, and *since* when.

    It costs two assignments: there are millions of callbacks, and each call of the system would be felt.
    """

    is_running = False
    since = 0.0
    looks: ClassVar[list[str]] = []


def watch(report: Path) -> None:
    """Watch the event loops of the main thread; each callback that is too long adds its calls to *report*."""

    def timed(handle: asyncio.Handle) -> None:
        Callback.is_running = True
        try:
            run(handle)
        finally:
            Callback.is_running = False
            if Callback.looks:
                tell(handle)

    def tell(handle: asyncio.Handle) -> None:
        seconds = thread_time() - Callback.since
        is_traced = tracemalloc.is_tracing()  # that takes several times as long
        if len(Callback.looks) >= LOOKS and seconds > LONGEST_S - LOOK_S and not is_traced:
            with report.open("a") as file:
                file.write(f"{seconds:.2f} s in {handle!r}\n{Callback.looks[-1]}\n")
        Callback.looks.clear()

    def tell_of_disk(where: str) -> None:
        with report.open("a") as file:
            file.write(f"a disk is asked on the loop's thread: {where}\n")

    disk_calls.watch(tell_of_disk)
    if CAN_WATCH:
        signal.signal(signal.SIGPROF, _look)
        asyncio.Handle._run = timed  # type: ignore[method-assign, assignment]
        look_now_and_then()


def look_now_and_then() -> None:
    """Look until this process ends, which takes its handlers before; one that was forked has no timer yet."""
    if CAN_WATCH:
        signal.setitimer(signal.ITIMER_PROF, LOOK_S, LOOK_S)
        atexit.register(signal.setitimer, signal.ITIMER_PROF, 0)


def _look(_: int, frame: FrameType | None) -> None:
    """Note that the callback is in our packages, if it is, and in which calls."""
    if not Callback.is_running:
        return
    codes = [at.f_code for at, _ in traceback.walk_stack(frame)]
    is_ours = any(code.co_filename.startswith(PACKAGES) for code in codes)
    if is_ours and START.isdisjoint(code.co_name for code in codes):
        looks = Callback.looks
        if not looks:
            Callback.since = thread_time()
        is_late = len(looks) >= LOOKS - 2
        looks.append("".join(traceback.format_stack(frame, 12)) if is_late else "")

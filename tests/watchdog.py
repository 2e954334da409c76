"""
No callback of an event loop computes for longer than `LONGEST_S` in our packages: no key is
answered meanwhile.

A timer of this process' own processor time looks where the main thread is, so a busy machine makes
nothing longer, and what a test itself computes does not count. A process that is forked watches
itself, too, and reports to the same file.
"""

from __future__ import annotations

import asyncio
import signal
import traceback
import tracemalloc
from pathlib import Path
from time import thread_time
from types import FrameType

LONGEST_S = 0.1
HELD_UP = "the event loop was held up"
LOOK_S = 0.02
PACKAGES = tuple(str(Path(__file__).parents[1] / name) for name in ("fim_lsp", "server_bridge"))
# Once in a process, before there is an answer that could be late, an import too; and what a loop of the tests, which has
# no threads, computes in place of one (tests/clock.py).
START = {"lsp_initialize", "initialize", "_find_and_load", "run_in_executor"}
CAN_WATCH = hasattr(signal, "setitimer")  # not on Windows

run = asyncio.Handle._run
stacks: list[str] = []  # where the callback was that runs now, whenever it was looked at


def watch(report: Path) -> None:
    """Watch the event loops of the main thread; each callback that is too long adds its calls to *report*."""

    def timed(handle: asyncio.Handle) -> None:
        stacks.clear()
        begun = thread_time()
        signal.setitimer(signal.ITIMER_PROF, LOOK_S, LOOK_S)
        try:
            run(handle)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            seconds = thread_time() - begun
            is_traced = tracemalloc.is_tracing()  # that takes several times as long
            if len(stacks) * LOOK_S >= LONGEST_S and seconds > LONGEST_S and not is_traced:
                with report.open("a") as file:
                    file.write(f"{seconds:.2f} s in {handle!r}\n{stacks[-1]}\n")

    if CAN_WATCH:
        signal.signal(signal.SIGPROF, _look)
        asyncio.Handle._run = timed  # type: ignore[method-assign, assignment]


def _look(_: int, frame: FrameType | None) -> None:
    """Note that the main thread is in our packages, if it is, and in which calls."""
    codes = [at.f_code for at, _ in traceback.walk_stack(frame)]
    is_ours = any(code.co_filename.startswith(PACKAGES) for code in codes)
    if is_ours and START.isdisjoint(code.co_name for code in codes):
        is_late = len(stacks) * LOOK_S >= LONGEST_S - LOOK_S
        stacks.append("".join(traceback.format_stack(frame, 12)) if is_late else "")

"""
The end of a process whose event loop does not come back, so that the editor starts another.

A thread asks the loop for an answer every `LOOK_S`. While there is none, it counts what the loop's
own thread did: processor time, or looks at which it had used none at all, since it waits for a lock
or a disk. So a sleeping machine, a stopped process and one that gets no processor are not stuck:
the first two let no look happen, the third uses a little time in each. Native code that holds
Python's lock keeps this thread from looking, too; a timer of processor time does it there, set
again at each look, which needs no lock but leaves children to end by themselves: they do when
their input ends.

The stacks go to one file, names and line numbers only. Nothing else is written there, so the time
of the file is the time of the last end.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import NamedTuple

from fim_lsp.lsp import ending
from fim_lsp.settings.files import STACKS, cache_folder
from server_bridge.machine import private_files
from server_bridge.machine.executables import PACKAGES

LOOK_S = 2.0  # a wake-up of 0.1 ms; with `MOST_S` a loop that hangs is noticed after 10 to 14 s
MOST_S = 10.0
BUSY_S = 3.0  # of processor time: no callback computes for 0.1 s (`tests/watchdog.py`)
NOTHING_S = 0.001  # of processor time between two looks; a busy machine gives any process more
MOST_BYTES = 65_536  # of stacks in a file, some twenty ends; one older file is kept
MOST_READ = 1 << 21  # a hundred threads with as many frames each are 1 MB

_MAIN = "(most recent call first):"  # above each thread; that of the loop is the last
_FRAME = re.compile(r'File "([^"\n]{1,4096})", line (\d{1,9}) in (\S{1,256})')
_OURS = re.compile(re.escape(str(PACKAGES)) + r"[\\/]((?:fim_lsp|server_bridge)[\\/].*)")

log = logging.getLogger(__name__)


class Silence(NamedTuple):
    """How long the loop gave no answer; its processor time meanwhile, how long it used none."""

    all_s: float = 0.0
    busy_s: float = 0.0
    idle_s: float = 0.0

    def add(self, used_s: float) -> Silence:
        """Return it after one more look, since the last of which the loop used so much time."""
        idle_s = self.idle_s + LOOK_S if used_s < NOTHING_S else 0.0
        return Silence(self.all_s + LOOK_S, self.busy_s + used_s, idle_s)

    @property
    def is_end(self) -> bool:
        """Return whether the loop will not come back, rather than had no processor."""
        return self.all_s >= MOST_S and (self.busy_s >= BUSY_S or self.idle_s >= MOST_S)


def watch() -> None:
    """Watch the event loop that runs here to the end; stacks go to a file in our cache folder."""
    clock = time.process_time
    if sys.platform == "linux":  # elsewhere the time of all threads has to do
        clock = partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
    look = partial(_watch, asyncio.get_running_loop(), clock, threading.get_ident())
    threading.Thread(target=look, name="watchdog", daemon=True).start()


def describe_last_end(cache: Path, within_s: float = inf) -> str:
    """Return when and where a server of this user was ended so; "" where none was lately."""
    for path in (cache / STACKS, cache / f"old-{STACKS}"):  # a full one is moved at the start
        with contextlib.suppress(OSError):
            at = path.stat().st_mtime
            text = private_files.read(path, MOST_READ)
            frames = _FRAME.findall(text.decode(errors="replace").rpartition(_MAIN)[2])
            if frames and time.time() - at <= within_s:
                break
    else:
        return ""
    ours = ((found[1], line, name) for file, line, name in frames if (found := _OURS.match(file)))
    file, line, name = next(ours, frames[0])
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    return (
        f"a server did not come back for {MOST_S:.0f} s and was ended at {when}, "
        f"in {name} ({file}:{line}); its stack is in {path}"
    )


def open_stacks(path: Path) -> int:
    """Return a file for stacks, only for this user; the error output where there can be none."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MOST_BYTES:
            path.replace(path.with_name(f"old-{STACKS}"))
        # Without waiting: a named pipe would hold the start until it is read.
        careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | careful, 0o600)
    return 2


def _watch(loop: asyncio.AbstractEventLoop, clock: Callable[[], float], thread: int) -> None:
    """Watch the loop of a *thread*, once the disk of the stacks has answered."""
    cache = cache_folder()
    file = open_stacks(cache / STACKS)
    if sys.platform != "win32":
        faulthandler.register(signal.SIGVTALRM, file, chain=True)  # chain: and then it ends
    _look(loop, clock, partial(_end, cache, file, thread))


def _look(
    loop: asyncio.AbstractEventLoop, clock: Callable[[], float], end: Callable[[], None]
) -> None:
    """Ask, and ask again once there was an answer; *end* where there is none for too long."""
    answered = threading.Event()
    silence = Silence()
    before = 0.0
    answered.set()
    while not silence.is_end:
        if loop.is_closed():
            _limit_native(0.0)  # or its last timer would end a process that goes on without it
            return
        _limit_native(MOST_S)  # this thread has Python's lock, so native code does not keep it
        if answered.is_set():
            answered.clear()
            silence = Silence()
            before = clock()
            with contextlib.suppress(RuntimeError):  # it is closed now
                loop.call_soon_threadsafe(answered.set)
        time.sleep(LOOK_S)
        now = clock()
        silence = Silence() if answered.is_set() else silence.add(now - before)
        before = now
    end()


def _stack(thread: int) -> str:
    """Return the stack of a *thread*, in the form of faulthandler."""
    frames = traceback.walk_stack(sys._current_frames()[thread])  # noqa: SLF001
    lines = (f'  File "{f.f_code.co_filename}", line {n} in {f.f_code.co_name}' for f, n in frames)
    return "\n".join((f"\nThread {thread:#x} {_MAIN}", *lines, ""))


def _limit_native(seconds: float) -> None:
    """End the process after so many seconds of processor time, which no lock keeps; 0: do not."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def _end(cache: Path, file: int, thread: int) -> None:
    """
    End the process and what it started, also where the log or a lock hangs; *thread* is the loop's.
    """
    _limit_native(0.0)  # it is no native code that keeps the lock
    ending.end_soon()
    faulthandler.dump_traceback(file)  # of a hundred threads at most, the newest
    os.write(file, _stack(thread).encode(errors="replace"))
    ending.end_children()
    log.error("%s", describe_last_end(cache, MOST_S))
    ending.leave(1)

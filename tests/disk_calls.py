"""
Each call that asks a disk is taken to last for 0.2 s, as on a slow network: longer than a callback
of the event loop may (tests/watchdog.py). So in our packages there is none on the loop's thread.

What `os` and `io` offer is patched for good, here and in processes that are forked. The kernel's
own files are on no disk.
"""

from __future__ import annotations

import asyncio
import builtins
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

CALLS = (
    "access", "chmod", "fsync", "link", "listdir", "lstat", "mkdir", "open", "readlink", "remove", "rename", "replace",
    "rmdir", "scandir", "stat", "statvfs", "symlink", "truncate", "unlink", "utime",
)  # fmt: skip
IN_MEMORY = ("/proc", "/sys", "/dev")
TESTS = str(Path(__file__).parent)
LOOPS = (TESTS, str(Path(__file__).parents[1] / "benchmarks"))  # where loops without threads are
PACKAGES = tuple(str(Path(__file__).parents[1] / name) for name in ("fim_lsp", "server_bridge"))
# A command in a terminal answers no key; the kernel tells of processes.
FREE = (f"{PACKAGES[0]}/cli/", f"{PACKAGES[1]}/machine/processes.py")
CLIENT = f"{TESTS}/convergence/"  # whose steps are a client's messages
# Before there is an answer that could be late; an import; the lines of a traceback, which is logged once; what coverage
# asks of a file at its first line (tests/mutants.py).
NOT_YET = {
    "lsp_initialize", "initialize", "_find_and_load", "checkcache", "updatecache", "_should_trace",
}  # fmt: skip
# What a loop without threads runs in place of one.
THREADS = {"run_in_executor", "work", "submit"}
CALLED_BACK = asyncio.Handle._run.__code__
AWAITED = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

tellers: list[Callable[[str], object]] = []  # the last one is told


def watch(tell: Callable[[str], object]) -> None:
    """Tell of each such call from now on."""
    if not tellers:
        for name in CALLS:
            _patch(os, name)
        builtins.open = _patch(io, "open")
        if sys.platform != "win32":
            import fcntl  # noqa: PLC0415 (not on Windows)

            _patch(fcntl, "flock")
    tellers.append(tell)


@contextmanager
def told(tell: Callable[[str], object]) -> Iterator[None]:
    """Tell of them here meanwhile, if they are watched."""
    if not tellers:
        yield
        return
    tellers.append(tell)
    try:
        yield
    finally:
        tellers.pop()


def _patch(module: Any, name: str) -> Any:
    real = getattr(module, name)

    def call(*arguments: Any, **options: Any) -> Any:
        if asyncio._get_running_loop() is not None:
            _look(name, arguments[0] if arguments else None, sys._getframe(1))
        return real(*arguments, **options)

    call.__name__ = name
    for group in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if real in group:
            group.add(call)
    setattr(module, name, call)
    return call


def _look(name: str, what: object, frame: FrameType | None) -> None:
    is_a_file = not isinstance(what, int) or name == "flock"
    if is_a_file and not str(what).startswith(IN_MEMORY) and (where := find_caller(frame)):
        tellers[-1](f"os.{name} in {where}")


def find_caller(frame: FrameType | None) -> str:
    """Return the function of ours that calls from the loop's thread, "" where a test or another thread does."""
    ours = list[str]()
    is_awaited = False
    while frame is not None:
        code = frame.f_code
        is_test = code.co_filename.startswith(TESTS)
        if code is CALLED_BACK:
            break
        is_inline = code.co_name in THREADS and code.co_filename.startswith(LOOPS)
        if code.co_name in NOT_YET or is_inline:
            return ""
        if code.co_filename.startswith(FREE) and not ours:
            return ""
        if code.co_filename.startswith(PACKAGES):
            ours.append(f"{Path(code.co_filename).stem}.{code.co_name}")
            is_awaited |= bool(code.co_flags & AWAITED)
        elif (is_test and not ours) or (
            is_test and not (is_awaited or code.co_filename.startswith(CLIENT))
        ):
            return ""
        frame = frame.f_back
    return " of ".join(ours[:3])

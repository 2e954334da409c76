"""
One child process: started, watched, started again less and less often, ended with its group.

Both the embedded engine and `fim-lsp serve` use it. An end is asked for, and after a short grace
made: nothing is lost with a model server, and an editor that closes is not to wait for one that
hangs or was stopped.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from server_bridge.http.client import Http, Trust
from server_bridge.machine import processes
from server_bridge.machine.executables import KILL, signal_group, start_async
from server_bridge.process.programs import KEY_ENV, Program
from server_bridge.protocol import BackendUnavailable

NAME = "the engine"  # in messages: its port says nothing to a user
GRACE_S = 0.5  # an engine ends within 50 ms; all of an exit is to take less than a second
STEADY_S = 60.0  # running this long resets the restart back-off
LONGEST_WAIT_S = 30.0
# llama.cpp's threads wait for each other several hundred times a token. libgomp lets them spin for
# milliseconds, each time that another program has the core of one: two threads on two busy cores
# then decode at a tenth of one thread's speed. Those that sleep after 10 µs are as fast on idle
# cores, and on busy ones (benchmarks/HISTORY.md).
SPINS = {"GOMP_SPINCOUNT": "1000"}
SPIN_ENV = {*SPINS, "OMP_WAIT_POLICY"}  # a user who sets one of these knows better
PR_SET_PDEATHSIG = 1  # linux/prctl.h
LIBC: Any = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before any fork


class Supervisor:
    """State: the child, when it was started, and how often in a row it did not last."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._started = 0.0
        self._n_deaths = 0

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if self._process is not None and running else None

    @property
    def wait_s(self) -> float:
        """Seconds until it may be started again."""
        self._note_death()
        return max(0.0, self._started + restart_delay(self._n_deaths) - time.monotonic())

    def cpu_s(self) -> float | None:
        """Return the seconds that the child has computed; None once it has ended."""
        return processes.cpu_s(self.pid) if self.pid is not None else None

    def http(self, url: str, key: str) -> Http:
        """Return a connection to the child, which listens at *url*."""
        return Http(url, key, trust=Trust(guard=self._check_running, name=NAME))

    async def _check_running(self) -> None:
        """Raise BackendUnavailable once the child has ended: another may have its port by now."""
        if self.pid is None:
            raise BackendUnavailable(f"{NAME} ended")

    async def start(self, program: Program) -> asyncio.subprocess.Process:
        """Run *program* in place of a child that ended. Raises OSError where that cannot be."""
        self._note_death()
        self._started = time.monotonic()
        self._process = await _spawn(program)
        return self._process

    async def wait_ended(self) -> str:
        """Wait until the child ends by itself; how it did, as a sentence."""
        assert self._process is not None
        return ending(await self._process.wait())

    async def end(self) -> None:
        """End the child, by force where it does not go at once."""
        process, self._process = self._process, None
        if process is not None:
            await asyncio.shield(_end(process))

    async def fail(self) -> None:
        """End a child that does not work; it counts as one that died."""
        await self.end()
        self._n_deaths += 1

    def _note_death(self) -> None:
        """Count a child that ended by itself, once."""
        if self._process is not None and self.pid is None:
            self._process = None
            lived = time.monotonic() - self._started
            self._n_deaths = 1 if lived >= STEADY_S else self._n_deaths + 1


def restart_delay(n_deaths: int) -> float:
    """Return seconds to wait after the last start when the child died *n_deaths* times in a row."""
    return 0.0 if n_deaths <= 1 else min(2.0 ** (n_deaths - 2), LONGEST_WAIT_S)


def ending(code: int) -> str:
    """Describe how a process ended with exit *code*."""
    if code >= 0:
        return f"the server ended with code {code}"
    return f"the server was ended by {signal.Signals(-code).name}"


async def _spawn(program: Program) -> asyncio.subprocess.Process:
    """Start *program* and write its settings to it."""
    with Path(program.log or os.devnull).open("ab") as log:  # noqa: ASYNC230 (a thread would lose it when cancelled)
        process = await start_async(
            program.argv,
            program.cwd,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if program.answers else log,
            stderr=log,
            env=_environment(),
            umask=0o077,  # what it saves of prompts, other users may not read
            preexec_fn=_die_with_us if program.is_foreign and LIBC else None,
        )
    assert process.stdin is not None
    process.stdin.write(program.settings)
    return process


def _environment() -> dict[str, str]:
    """Return our environment without the key, and how long threads spin."""
    ours = {name: value for name, value in os.environ.items() if name != KEY_ENV}
    return ours if SPIN_ENV & ours.keys() else ours | SPINS


def _die_with_us() -> None:
    """
    Have the child die with us, before it becomes another program: no orphan with gigabytes, however
    we die.
    """
    LIBC.prctl(PR_SET_PDEATHSIG, KILL)  # SIGTERM hangs one that loads its model


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask a process to end, then make it and all that it started."""
    assert process.stdin is not None
    process.stdin.close()
    _send(process, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), GRACE_S)
    except TimeoutError:
        _send(process, KILL)
        await process.wait()


def _send(process: asyncio.subprocess.Process, signal_number: int) -> None:
    """Signal a process and its group, unless it has ended."""
    if process.returncode is None:
        signal_group(process.pid, signal_number)

"""
One child process: started, watched, started again less and less often, ended with its group.

An end is made, not asked for: nothing is lost with a model server, and an editor that closes is not
to wait for one that hangs or was stopped.
"""

from __future__ import annotations

import asyncio
import time

from server_bridge.machine.disks import in_disk_thread
from server_bridge.machine.executables import KILL, signal_group, start_async
from server_bridge.process.programs import Program, make_environment

STEADY_S = 60.0  # running this long resets the restart back-off
LONGEST_WAIT_S = 30.0


class Supervisor:
    """State: the child, when it was started, and how often in a row it did not last."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._started = 0.0
        self._n_deaths = 0

    @property
    def wait_s(self) -> float:
        """Seconds until it may be started again."""
        return max(0.0, self._started + restart_delay(self._n_deaths) - time.monotonic())

    async def start(self, program: Program) -> asyncio.subprocess.Process:
        """Run *program* in place of a child that ended. Raises OSError where that cannot be."""
        self._started = time.monotonic()
        with await in_disk_thread(program.log.open, "ab") as log_file:
            process = self._process = await start_async(
                program.argv,
                program.cwd,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log_file,
                env=make_environment(),
                umask=0o077,  # what it saves of prompts, other users may not read
                pass_fds=() if program.lock is None else (program.lock,),
            )
        assert process.stdin is not None
        process.stdin.write(program.settings)
        return process

    async def end(self) -> None:
        """End the child."""
        process = self._process
        self._process = None
        if process is not None:
            await asyncio.shield(_end(process))

    async def fail(self) -> None:
        """End a child that does not work; it counts as one that died."""
        await self.end()
        self._n_deaths += 1

    def note_death(self) -> None:
        """Count a process that ended by itself."""
        n = self._n_deaths
        lived_s = time.monotonic() - self._started
        self._process = None
        self._n_deaths = 1 if lived_s >= STEADY_S else n + 1


def restart_delay(n_deaths: int) -> float:
    """Return seconds to wait after the last start when the child died *n_deaths* times in a row."""
    return 0.0 if n_deaths <= 1 else min(2.0 ** (n_deaths - 2), LONGEST_WAIT_S)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and all that it started."""
    assert process.stdin is not None
    process.stdin.close()
    if process.returncode is None:
        signal_group(process.pid, KILL)
    await process.communicate()  # its end, and that of its output

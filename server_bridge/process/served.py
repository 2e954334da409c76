"""
A model server as a child process: started, watched, started again when it dies, ended with us.

The program is a llama-server or our own child with llama.cpp inside (see `programs`). `keep` says
how it is as one `State` after the other; whoever lets go of it ends the server, by its process id.
Its log goes to a file, and what it said first when it failed into a sentence.
"""

from __future__ import annotations

import asyncio
import ctypes
import re
import signal
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from server_bridge import launch
from server_bridge.embedded import PACKAGE, STEADY_S, restart_delay
from server_bridge.embedded_child import PR_SET_PDEATHSIG
from server_bridge.http import Http
from server_bridge.keys import Key
from server_bridge.llama import LlamaServer
from server_bridge.programs import KEY_ENV, Program
from server_bridge.protocol import (
    BackendError,
    BackendUnusable,
    Health,
    Prompt,
    Request,
    State,
)

POLL_S = 0.2  # a person sees progress move; a model that is loaded is noticed at once
STOP_S = 5.0  # it frees the model and ends; after this it is stuck
LOG_BYTES = 65_536  # of the log's end: what one start says
LIBC: Any = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before any fork
TRIAL = Prompt("trial", (), "trial.py", "def add(a, b):\n", "\n", "    return ")


async def keep(program: Program) -> AsyncGenerator[State, None]:
    """
    Run *program* for as long as this is iterated.

    Yields `LOADING` again and again, `READY` once it has completed something, `DOWN` when it died
    and is to be started again, and, last, `UNUSABLE` when it cannot be started at all.
    """
    for folder in program.folders:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    program.log.write_bytes(b"")
    n_deaths, has_worked = 0, False
    while not await _is_taken(program):
        n_logged = program.log.stat().st_size
        async with _running(program) as process:
            async with aclosing(_first_words(process, program)) as states:
                async for state in states:
                    yield state
                    if state.health is Health.UNUSABLE:
                        return
                    has_worked |= state.health is Health.READY
            started = time.monotonic()
            await process.wait()
        said = f"{_ending(process.returncode)}{_complaint(program.log, n_logged)}"
        if not has_worked:
            yield _state(Health.UNUSABLE, program, said)
            return
        n_deaths = 1 if time.monotonic() - started >= STEADY_S else n_deaths + 1
        wait = restart_delay(n_deaths)
        again = f"started again in {wait:.0f} s" if wait else "started again"
        yield _state(Health.DOWN, program, f"{said}; it is {again}")
        await asyncio.sleep(wait)
    yield _state(
        Health.UNUSABLE,
        program,
        f"something listens at {program.url} already: end it, or choose another --port",
    )


async def _first_words(
    process: asyncio.subprocess.Process, program: Program
) -> AsyncGenerator[State, None]:
    """How it comes up, until it is ready, cannot be used, or has ended."""
    server = LlamaServer(Http(program.url, Key(KEY_ENV)))
    try:
        while process.returncode is None:
            try:
                await server.connect()
                await server.complete(Request(TRIAL, 2))
                yield server.state
                return
            except BackendUnusable as error:
                yield _state(Health.UNUSABLE, program, str(error))
                return
            except BackendError:
                yield _state(Health.LOADING, program, "")
            await asyncio.sleep(POLL_S)
    finally:
        await server.aclose()


@asynccontextmanager
async def _running(program: Program) -> AsyncIterator[asyncio.subprocess.Process]:
    with program.log.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *program.argv,
            stdin=asyncio.subprocess.PIPE,
            # llama-server shows the progress of a download there, if it is a terminal.
            stdout=log if program.settings else None,
            stderr=log,
            cwd=PACKAGE.parent if program.settings else None,  # -m looks there first
            umask=0o077,  # what it saves of prompts is nobody else's
            start_new_session=True,  # Ctrl-C is for us, and we end it
            preexec_fn=_die_with_us if sys.platform == "linux" else None,
        )
    assert process.stdin is not None
    try:
        process.stdin.write(program.settings)
        yield process
    finally:
        await _end(process)


def _die_with_us() -> None:
    """In the child, before it becomes another program: no orphan with gigabytes, however we die."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask it to end, then make it."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_S)
    except asyncio.TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _is_taken(program: Program) -> bool:
    """Whether somebody listens at the port: we would take him for our child."""
    try:
        _, writer = await asyncio.open_connection(launch.HOST, program.port)
    except OSError:
        return False
    writer.close()
    return True


def _state(health: Health, program: Program, message: str) -> State:
    return State(health, "llama-server", program.url, message=message)


def _ending(code: int | None) -> str:
    """How a process ended, as a person would say it."""
    if code is None or code >= 0:
        return f"the server ended with code {code}"
    return f"the server was ended by {signal.Signals(-code).name}"


def _complaint(log: Path, n_before: int) -> str:
    """The first error in what was logged after *n_before* bytes: the others follow from it."""
    with log.open("rb") as file:
        file.seek(max(n_before, log.stat().st_size - LOG_BYTES))
        said = file.read().decode(errors="replace")
    first = re.search(r"^(?:[\d.]+ E |error:? )\s*(.*\S)", said, re.MULTILINE)
    return f" ({first[1]})" if first else ""

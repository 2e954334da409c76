"""
The model server of `fim-lsp serve`, kept running: one `State` after the other.

The program is a llama-server or the embedded engine (see `programs`). Closing the
generator ends the server. Its log goes to a file, and its first error into a sentence; its key into
another, where editors of the same user look for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

from server_bridge.llama.backend import LlamaServer
from server_bridge.machine import private_files
from server_bridge.process.programs import Program
from server_bridge.process.supervisor import Supervisor
from server_bridge.protocol import BackendError, BackendUnusable, Health, Prompt, Request, State

POLL_S = 0.2  # a person sees progress move; a model that is loaded is noticed at once
LOG_BYTES = 65_536  # of the log's end: what one start says
COLOUR = re.compile(r"\x1b\[[\d;]*m")  # some builds colour what they log, terminal or not
TRIAL = Prompt("trial", (), "trial.py", "def add(a, b):\n", "\n", "    return ")


async def keep(program: Program) -> AsyncGenerator[State, None]:
    """
    Run *program* for as long as this is iterated. Raises OSError where its files cannot be written.

    Yields `LOADING` again and again, `READY` once it has completed something, `DOWN` when it died
    and is to be started again, and, last, `UNUSABLE` when it cannot be started at all.
    """
    if await program.is_taken():
        yield _report_taken(program)
        return
    _prepare(program)
    supervisor = Supervisor()
    try:
        async with aclosing(_runs(program, supervisor)) as states:
            async for state in states:
                yield state
    finally:
        await supervisor.end()
        _forget_key(program)


async def _runs(program: Program, supervisor: Supervisor) -> AsyncGenerator[State, None]:
    """Run *program* again and again."""
    assert program.log is not None
    has_worked = False
    while True:
        n_logged = program.log.stat().st_size
        await supervisor.start(program)
        async with aclosing(_start(program, supervisor)) as states:
            async for state in states:
                yield state
                if state.health is Health.UNUSABLE:
                    return
                has_worked |= state.is_ready
        end = f"{await supervisor.wait_ended()}{_complaint(program.log, n_logged)}"
        if not has_worked:
            yield _state(Health.UNUSABLE, program, f"{end}; its log is {program.log}")
            return
        wait = supervisor.wait_s
        again = f"started again in {wait:.0f} s" if wait else "started again"
        yield _state(Health.DOWN, program, f"{end}; it is {again}")
        await asyncio.sleep(wait)
        if await program.is_taken():
            yield _report_taken(program)
            return


async def _start(program: Program, supervisor: Supervisor) -> AsyncGenerator[State, None]:
    """Yield the states of a starting run, until it is ready, cannot be used, or has ended."""
    server = LlamaServer(supervisor.http(program.url, program.key))
    try:
        while supervisor.pid is not None:
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


def _prepare(program: Program) -> None:
    """Make the folders, an empty log, and the key where editors look for it."""
    assert program.log is not None
    assert program.key_file is not None
    for folder in program.folders:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    program.log.write_bytes(b"")
    private_files.write(program.key_file, program.key.encode() + b"\n")


def _forget_key(program: Program) -> None:
    """Delete the key, unless another server has left its own there."""
    assert program.key_file is not None
    with suppress(OSError):
        if private_files.read(program.key_file).decode().strip() == program.key:
            program.key_file.unlink()


def _report_taken(program: Program) -> State:
    message = f"something listens at {program.url} already: end it, or choose another --port"
    return _state(Health.UNUSABLE, program, message)


def _state(health: Health, program: Program, message: str) -> State:
    return State(health, "llama-server", program.url, message=message)


def _complaint(log: Path, n_before: int) -> str:
    """
    Return the first error in what was logged after *n_before* bytes: the others follow from it.
    """
    with log.open("rb") as file:
        file.seek(max(n_before, log.stat().st_size - LOG_BYTES))
        logged = COLOUR.sub("", file.read().decode(errors="replace"))
    first = re.search(r"^(?:[\d.]{1,20} E |error:? )[ \t]{0,40}(\S.*)", logged, re.MULTILINE)
    return f" ({first[1].rstrip()})" if first else ""

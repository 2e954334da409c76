"""A real llama-server, started as `fim-lsp serve` does, and attached to as an editor does."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.machine import private_files
from server_bridge.process import programs
from server_bridge.process.command_line import Machine, Plan
from server_bridge.process.programs import Served
from server_bridge.protocol import BackendUnavailable
from tests.llama_server import PROGRAM, free_port

PATIENCE_S = 60.0  # the slowest of Debian's CPU backends on a busy machine


@asynccontextmanager
async def running(program: Served) -> AsyncIterator[tuple[LlamaServer, int]]:
    """Yield the server once its model is loaded, and its process."""
    if program.slots_dir:
        Path(program.slots_dir).mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
    private_files.write(program.key_file, program.key.encode())
    environment = programs.make_environment()
    with subprocess.Popen(  # noqa: ASYNC220
        program.argv, env=environment, stderr=subprocess.DEVNULL
    ) as process:
        server = LlamaServer(Http(program.url, program.key, PATIENCE_S))
        try:
            while not server.state.is_ready:
                try:
                    await server.connect()
                except BackendUnavailable:
                    assert process.poll() is None
                    await asyncio.sleep(0.1)
            yield server, process.pid
        finally:
            await server.aclose()
            process.kill()


@asynccontextmanager
async def served(
    tmp_path: Path, machine: Machine | None = None, **wishes: Any
) -> AsyncIterator[LlamaServer]:
    """A running llama-server that is started as `fim-lsp serve` does on *machine*, here with one thread."""
    plan = replace(Plan(port=free_port()), **wishes)
    machine = machine or (await asyncio.to_thread(programs.machine, None))._replace(cores=1)
    build = await asyncio.to_thread(programs.build, PROGRAM)
    program = programs.outside(PROGRAM, machine, build, plan, tmp_path)
    async with running(program) as (server, _):
        yield server

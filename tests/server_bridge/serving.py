"""A real llama-server, started as `fim-lsp serve` does, and attached to as an editor does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.process import programs
from server_bridge.process.command_line import Machine, Plan
from server_bridge.process.served import keep
from server_bridge.protocol import Health
from tests.llama_server import PROGRAM, free_port
from tests.server_bridge.keys import giving

PATIENCE_S = 60.0  # the slowest of Debian's CPU backends on a busy machine


@asynccontextmanager
async def served(
    tmp_path: Path, machine: Machine | None = None, **wishes: Any
) -> AsyncIterator[LlamaServer]:
    """A running llama-server that is started as `fim-lsp serve` does on *machine*, here with one thread."""
    plan = replace(Plan(port=free_port()), **wishes)
    machine = machine or programs.machine(None)._replace(cores=1)
    program = programs.outside(PROGRAM, machine, programs.build(PROGRAM), plan, tmp_path)
    states = keep(program)
    server = LlamaServer(Http(program.url, giving(program.key), PATIENCE_S))
    try:
        async for state in states:
            assert state.health in {Health.LOADING, Health.READY}, state.message
            if state.health is Health.READY:
                break
        yield server
    finally:
        await server.aclose()
        await states.aclose()

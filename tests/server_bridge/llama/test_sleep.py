"""A real server whose model is out of memory after a rest, and what is asked of it then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from server_bridge.http.client import Http
from server_bridge.llama import backend
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.checkpoints import ModelMemory
from server_bridge.llama.identity import open_to_pages
from server_bridge.llama.own import Own
from server_bridge.process import programs
from server_bridge.process.command_line import Plan
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import BackendUnavailable, Health, Request
from tests.llama_server import PROGRAM, free_port
from tests.models import BUNDLED
from tests.server_bridge.prompts import prompt
from tests.server_bridge.serving import running

SLEEP_S = 6  # longer than llama.cpp keeps a silent connection: as with any setting in minutes
PROMPT = prompt("    def __init__(self, option", at=500)
OUTSIDE = pytest.param(PROGRAM, marks=pytest.mark.server, id="llama-server")
ENGINES = [pytest.param("", id="embedded"), *([OUTSIDE] if PROGRAM else [])]


@asynccontextmanager
async def sleeping(engine: str, folder: Path) -> AsyncIterator[tuple[LlamaServer, Http]]:
    """
    A server that sleeps after `SLEEP_S`, as `fim-lsp serve` starts it, and another look at it.
    """
    slots = str(folder / "slots")
    plan = Plan(str(BUNDLED), port=free_port(), slots_dir=slots, unload_s=SLEEP_S)
    machine = (await asyncio.to_thread(programs.machine, None))._replace(cores=1)
    async with AsyncExitStack() as stack:
        if engine:
            build = await asyncio.to_thread(programs.build, engine)
            program = programs.outside(engine, machine, build, plan, folder)
            await stack.enter_async_context(running(program))
            url = program.url
            key = program.key
        else:
            ours = Embedded(EmbeddedSettings(slots_dir=slots, unload_s=SLEEP_S))
            url = (await (await stack.enter_async_context(aclosing(ours))).connect()).state.url
            key = str(ours._server._link._http._key)
            await ours.disconnect()
        http = Http(url, key, 60.0)
        server = LlamaServer(http, own=Own("ours", ModelMemory()), state_dir=slots)
        look = Http(url, key)
        yield server, look
        await server.aclose()
        await look.aclose()


async def is_asleep(look: Http) -> bool:
    """Return whether the model is out of memory; asking changes nothing."""
    return (await look.get("/props")).get("is_sleeping") is True


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_server_that_slept_gets_its_slots_back(engine: str, tmp_path, monkeypatch) -> None:
    """
    It is told that it sleeps. The request that finds it so wakes nothing and says so; then nothing
    is evaluated again.
    """
    monkeypatch.setattr(backend, "REST_S", 0.5)
    told: list[Health] = []
    async with sleeping(engine, tmp_path) as (server, look):
        server.on_change = lambda: told.append(server.state.health)
        model = await server.connect()
        whole = (await model.complete(Request(PROMPT, 2))).timings
        assert await model.save(PROMPT) == whole.prompt_n + whole.cache_n
        while not told:
            await asyncio.sleep(0.2)
        assert told == [Health.ASLEEP]

        await open_to_pages(server.state.url)  # the doctor's look, and the page's
        assert await server.connect() is model
        with pytest.raises(BackendUnavailable, match="loads its model again"):
            await model.complete(Request(PROMPT, 2))
        assert server.state.health is Health.LOADING
        assert await is_asleep(look)

        woken = await server.connect()
        typed = replace(PROMPT, middle=PROMPT.middle + "s")
        cost = (await woken.complete(Request(typed, 2))).timings
        assert cost.prompt_n <= 8
        assert cost.cache_n == cost.expected_n
        assert not await is_asleep(look)

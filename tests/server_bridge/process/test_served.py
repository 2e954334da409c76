"""A model server and its parent: it comes up, it comes back, it goes with us, and failing it says why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from server_bridge import parent, programs
from server_bridge.launch import Plan
from server_bridge.parent import keep
from server_bridge.programs import KEY_ENV, Program
from server_bridge.protocol import BackendUnusable, Health, State
from tests.llama_server import PROGRAM, free_port

INSIDE = "the engine of this package"
# A llama-server of its own where there is one, see scripts/test-server.
OUTSIDE = pytest.param(PROGRAM, marks=pytest.mark.server, id="llama-server")
ENGINES = [INSIDE, *([OUTSIDE] if PROGRAM else [])]
ORPHAN = """
import asyncio, pathlib
from server_bridge import parent, programs
async def main():
    log = pathlib.Path({log!r})
    program = programs.Program({argv!r}, {port}, log, (), {settings!r})
    async for state in parent.keep(program):
        if state.model:
            print(state.model, flush=True)
asyncio.run(main())
"""

Make = Callable[[Plan], Program]


@pytest.fixture(params=ENGINES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """A plan into a program of either kind."""
    machine = programs.machine(None)._replace(cores=1)
    if request.param == INSIDE:
        return lambda plan: programs.inside(machine, plan, tmp_path)
    build = programs.build(request.param)
    return lambda plan: programs.outside(request.param, machine, build, plan, tmp_path)


@asynccontextmanager
async def kept(program: Program) -> AsyncIterator[AsyncIterator[State]]:
    """The states of a running program, without how long it loads."""
    states = keep(program)
    try:
        yield (state async for state in states if state.health is not Health.LOADING)
    finally:
        await states.aclose()


def children() -> list[psutil.Process]:
    return psutil.Process().children()


async def test_it_comes_up_comes_back_and_goes_with_us(make: Make) -> None:
    """Ready at its fixed port; ready again when it was killed; gone when nobody keeps it."""
    port = free_port()
    before = children()
    async with kept(make(Plan(port=port))) as states:
        ready = await anext(states)
        assert (ready.health, ready.url) == (Health.READY, f"http://127.0.0.1:{port}")
        assert (ready.model, ready.slots) == ("fim-tiny-q8_0.gguf", 2)
        (child,) = set(children()) - set(before)
        os.kill(child.pid, signal.SIGKILL)
        down = await anext(states)
        assert down.health is Health.DOWN
        assert down.message == "the server was ended by SIGKILL; it is started again"
        again = await anext(states)
        assert (again.health, again.model) == (Health.READY, ready.model)
    assert set(children()) == set(before)


async def test_the_key_stays_out_of_sight(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server asks for the key in the environment, which is on no command line and in no log."""
    monkeypatch.setenv(KEY_ENV, "open-sesame")
    program = make(Plan(port=free_port()))
    async with kept(program) as states:
        assert (await anext(states)).health is Health.READY
        assert "sesame" not in repr(program) + program.log.read_text()
        monkeypatch.setenv(KEY_ENV, "another")
        server = parent.LlamaServer(parent.Http(program.url, parent.Key(KEY_ENV)))
        with pytest.raises(BackendUnusable, match="key"):
            await server.connect()
        await server.aclose()


@pytest.mark.parametrize("model", ["/nowhere/model.gguf", __file__])
async def test_what_cannot_start_says_why_once(make: Make, model: str) -> None:
    """A missing or broken model is not tried again and again."""
    async with kept(make(Plan(model=model, port=free_port()))) as states:
        (state,) = [state async for state in states]
    assert state.health is Health.UNUSABLE
    assert state.message.startswith("the server ended with code 1 (")


async def test_a_taken_port_is_told(make: Make) -> None:
    """Somebody else at the port would be taken for our child."""
    port = free_port()
    async with kept(make(Plan(port=port))) as first:
        assert (await anext(first)).health is Health.READY
        async with kept(make(Plan(port=port))) as second:
            (state,) = [state async for state in second]
    assert state.health is Health.UNUSABLE
    assert "choose another --port" in state.message


async def test_a_model_without_gaps_is_refused(make: Make, no_fim_model: Path) -> None:
    """It would start, and complete nothing."""
    async with kept(make(Plan(model=str(no_fim_model), port=free_port()))) as states:
        (state,) = [state async for state in states]
    assert "cannot fill in the middle" in state.message


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_a_killed_parent_leaves_no_server(make: Make) -> None:
    """SIGKILL gives us no time to clean up; the server goes all the same."""
    program = make(Plan(port=free_port()))
    source = ORPHAN.format(
        argv=program.argv, port=program.port, log=str(program.log), settings=program.settings
    )
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        (child,) = psutil.Process(process.pid).children()
        process.kill()
    child.wait(5)


@pytest.mark.parametrize("name", ["/nowhere/llama-server", sys.executable])
def test_something_else_is_no_llama_server(name: str) -> None:
    """It is asked for its options before it is started."""
    with pytest.raises(BackendUnusable, match="does not read like llama-server's"):
        programs.build(name)

"""The server of `fim-lsp serve`: it comes up, it comes back, it goes with us, and failing it says why."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import psutil
import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.api_key import Key
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.machine import private_files
from server_bridge.process import programs
from server_bridge.process.command_line import Plan
from server_bridge.process.programs import KEY_ENV, Program
from server_bridge.process.served import _complaint, keep
from server_bridge.protocol import BackendUnusable, Health, Request, State
from tests.llama_server import PROGRAM, free_port
from tests.server_bridge.prompts import short

INSIDE = "the engine of this package"
# A llama-server of its own where there is one, see scripts/test-server.
OUTSIDE = pytest.param(PROGRAM, marks=pytest.mark.server, id="llama-server")
ENGINES = [INSIDE, *([OUTSIDE] if PROGRAM else [])]
ORPHAN = """
import asyncio
from pathlib import PosixPath
from server_bridge.process import served
from server_bridge.process.programs import EmbeddedSettings, Program
async def main():
    program = Program(**{fields!r})
    async for state in served.keep(program):
        if state.model:
            print(state.model, flush=True)
asyncio.run(main())
"""

Make = Callable[[Plan], Program]


@pytest.fixture(params=ENGINES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Return a plan into a program of either kind."""
    machine = programs.machine(None)._replace(cores=1)
    if request.param == INSIDE:
        return lambda plan: programs.inside(machine, plan, tmp_path)
    build = programs.build(request.param)
    return lambda plan: programs.outside(request.param, machine, build, plan, tmp_path)


@asynccontextmanager
async def kept(program: Program) -> AsyncIterator[AsyncIterator[State]]:
    """The states of a running program, without how long it loads."""
    async with aclosing(keep(program)) as states:
        yield (state async for state in states if state.health is not Health.LOADING)


def children() -> list[psutil.Process]:
    return psutil.Process().children()


async def test_it_comes_up_comes_back_and_goes_with_us(make: Make) -> None:
    """Ready at its fixed port; ready again when it was killed; gone when its states are closed."""
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


async def ready(states: AsyncGenerator[State, None]) -> AsyncIterator[State]:
    """The states of a program until it is ready; then it is ended."""
    async with aclosing(states):
        async for state in states:
            yield state
            if state.health is Health.READY:
                return


async def test_every_run_has_a_key_that_editors_of_the_user_find(make: Make) -> None:
    """It is random, in a file of the user's alone, on no command line, in no log, and gone with the run."""
    first, second = (make(Plan(port=free_port())) for _ in range(2))
    assert len({first.key, second.key}) == 2
    async with kept(first) as states:
        assert (await anext(states)).health is Health.READY
        assert first.key_file is not None
        assert private_files.read(first.key_file).decode().strip() == first.key
        [child] = [each for each in children() if f"{first.port}" in str(each.net_connections())]
        seen = repr(first) + first.log.read_text() + repr(child.cmdline()) + repr(child.environ())
        assert first.key not in seen
        client = LlamaServer(first.url)
        with pytest.raises(BackendUnusable, match="key"):
            await client.connect()
        await client.aclose()
        assert await used_by_an_editor(first) == first.url
    assert not first.key_file.exists()


async def used_by_an_editor(program: Program) -> str:
    """Return where an editor's completion comes from that looks at this port unasked."""
    cache = str(program.key_file.parent)
    backend = open_backend(BackendSettings(usual_urls=(program.url,), keys_dir=cache))
    assert (await backend.complete(Request(short("    def "), 2))).text
    await backend.aclose()
    return backend.state.url


async def test_a_key_of_the_users_is_taken(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLAMA_API_KEY is the key, and the child has it from its file or its stdin alone."""
    monkeypatch.setenv(KEY_ENV, "open-sesame")
    program = make(Plan(port=free_port()))
    async with kept(program) as states:
        assert (await anext(states)).health is Health.READY
        assert "sesame" not in repr(program) + program.log.read_text()
        assert not any("sesame" in repr(each.environ()) for each in children())
        server = LlamaServer(Http(program.url, Key(KEY_ENV)))
        assert (await server.connect()).state.health is Health.READY
        await server.aclose()


@pytest.mark.parametrize("key", ["#sesame", "open sesame", "s\u00e9same", "a\nb"])
def test_what_cannot_be_a_key_is_refused(
    make: Make, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llama-server reads a line that begins with # as a comment: it would serve without a key."""
    monkeypatch.setenv(KEY_ENV, key)
    with pytest.raises(BackendUnusable, match=KEY_ENV):
        make(Plan(port=free_port()))


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("0.00.01 I srv  hello\n0.00.02 E srv  first\n0.00.03 E srv  second\n", " (srv  first)"),
        ("\x1b[34m0.00.01\x1b[0m \x1b[31mE\x1b[0m \x1b[31mfirst\x1b[0m\n", " (first)"),
        ("error: first\n", " (first)"),
        ("0.00.01 I srv  hello\n", ""),
    ],
)
def test_the_first_error_is_quoted(said: str, quoted: str, tmp_path: Path) -> None:
    """Also where a build colours its log."""
    log = tmp_path / "serve.log"
    log.write_text("0.00.01 E of an earlier run\n" + said)
    assert _complaint(log, 28) == quoted


@pytest.mark.parametrize("model", ["/nowhere/model.gguf", __file__])
async def test_what_cannot_start_says_why_once(make: Make, model: str) -> None:
    """A missing or broken model is not tried again and again."""
    async with kept(make(Plan(model=model, port=free_port()))) as states:
        (state,) = [state async for state in states]
    assert state.health is Health.UNUSABLE
    assert state.message.startswith("the server ended with code 1 (")
    assert "; its log is /" in state.message


async def test_a_taken_port_is_told(make: Make) -> None:
    """Another server at the port would be taken for our child; its key stays as it is."""
    port = free_port()
    async with kept(make(Plan(port=port))) as first:
        assert (await anext(first)).health is Health.READY
        key = make(Plan(port=port)).key_file.read_text()
        async with kept(make(Plan(port=port))) as second:
            (state,) = [state async for state in second]
        assert make(Plan(port=port)).key_file.read_text() == key
    assert state.health is Health.UNUSABLE
    assert state.message.startswith("something listens at")
    assert "choose another --port" in state.message


async def test_a_model_without_tokens_for_a_gap_is_served(make: Make, no_fim_model: Path) -> None:
    """It is second best, and the state says so."""
    async with kept(make(Plan(model=str(no_fim_model), port=free_port()))) as states:
        state = await anext(states)
        while state.health is Health.LOADING:
            state = await anext(states)
    assert (state.health, bool(state.second_best)) == (Health.READY, True)


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_a_killed_parent_leaves_no_server(make: Make) -> None:
    """SIGKILL gives us no time to clean up; the server goes all the same."""
    program = make(Plan(port=free_port()))
    fields = {field.name: getattr(program, field.name) for field in dataclasses.fields(program)}
    source = ORPHAN.format(fields=fields)
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


@pytest.mark.parametrize("missing", ["--host", "--api-key-file"])
def test_a_build_that_would_serve_others_is_not_started(missing: str, tmp_path: Path) -> None:
    """One that cannot be told where to listen, or to ask for a key, is refused, not started without."""
    options = {"--model", "--port", "--host", "--api-key-file"} - {missing}
    program = tmp_path / "llama-server"
    lines = "\n".join(f"{option} VALUE  text" for option in options)
    program.write_text(f"#!/bin/sh\ncat <<END\n{lines}\nEND\n")
    program.chmod(0o755)
    with pytest.raises(BackendUnusable, match=rf"too old, it has no {missing}"):
        programs.build(str(program))

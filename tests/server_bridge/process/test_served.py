"""The server of `fim-lsp serve`: its key, where editors find it, and what is not started."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.machine import private_files
from server_bridge.process import programs
from server_bridge.process.command_line import Build, Plan
from server_bridge.process.programs import KEY_ENV, NEEDED, Served
from server_bridge.protocol import BackendUnusable, Request
from tests.llama_server import PROGRAM, free_port
from tests.server_bridge.prompts import short
from tests.server_bridge.serving import running

pytestmark = pytest.mark.promise("readable-by-you-only")

Make = Callable[[Plan], Served]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a plan into the command of a real llama-server, if there is one."""
    machine = programs.machine(None)._replace(cores=1)
    build = programs.build(PROGRAM) if PROGRAM else Build(frozenset(NEEDED), frozenset())
    return lambda plan: programs.outside(PROGRAM or sys.executable, machine, build, plan, tmp_path)


@pytest.mark.parametrize("ours", ["", "open-sesame"], ids=["random", "of the user"])
@pytest.mark.server
@pytest.mark.skipif(not PROGRAM, reason="needs llama-server: scripts/test-server")
async def test_every_run_has_a_key_that_editors_of_the_user_find(make, ours: str, monkeypatch):
    """It is random or LLAMA_API_KEY, in a file of the user's alone, and on no command line."""
    monkeypatch.setenv(KEY_ENV, ours)
    first, second = (make(Plan(port=free_port())) for _ in range(2))
    assert len({first.key, second.key}) == 2 - bool(ours)
    async with running(first) as (_, pid):
        assert private_files.read(first.key_file).decode().strip() == first.key
        child = psutil.Process(pid)
        assert first.key not in repr(first) + repr(child.cmdline()) + repr(child.environ())
        client = LlamaServer(Http(first.url))
        with pytest.raises(BackendUnusable, match="key"):
            await client.connect()
        await client.aclose()
        # An editor looks at this port unasked.
        cache = str(first.key_file.parent)
        backend = open_backend(BackendSettings(usual_urls=(first.url,), keys_dir=cache))
        assert (await backend.complete(Request(short("    def "), 2))).text
        assert backend.state.url == first.url
        await backend.aclose()


@pytest.mark.parametrize("key", ["#sesame", "open sesame", "s\u00e9same", "a\nb"])
def test_what_cannot_be_a_key_is_refused(make, key: str, monkeypatch) -> None:
    """llama-server reads a line that begins with # as a comment: it would serve without a key."""
    monkeypatch.setenv(KEY_ENV, key)
    with pytest.raises(BackendUnusable, match=KEY_ENV):
        make(Plan(port=free_port()))


@pytest.mark.parametrize("n_waiting", [0, 3], ids=["it answers", "it hangs"])
def test_a_taken_port_is_told(make: Make, tmp_path: Path, n_waiting: int) -> None:
    """Editors would take the other server for this one; its key stays as it is."""
    with ExitStack() as stack:
        other = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(n_waiting):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(other.getsockname())
        served = make(Plan(port=other.getsockname()[1]))
        with pytest.raises(OSError, match=r"something listens at .* choose another --port"):
            served.run()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["/nowhere/llama-server", sys.executable])
def test_something_else_is_no_llama_server(name: str) -> None:
    """It is asked for its options before it is started."""
    with pytest.raises(BackendUnusable, match="does not read like llama-server's"):
        programs.build(name)


@pytest.mark.promise("your-programs-only")
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

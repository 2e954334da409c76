"""llama.cpp's router, a server with several models, as on a user's machine."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover.endpoints import Endpoints
from server_bridge.protocol import BackendUnavailable, Reply, Request
from tests.llama_server import PROGRAM, free_port
from tests.models import BUNDLED
from tests.server_bridge.prompts import short

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not PROGRAM, reason="needs llama-server: scripts/test-server"),
]
REQUEST = Request(short("    def "), n_predict=4)


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return a router with two models, none of them loaded."""
    folder = tmp_path_factory.mktemp("models")
    port = free_port()
    for name in ("coder", "writer"):
        shutil.copy(BUNDLED, folder / f"{name}.gguf")
    command = [PROGRAM, "--models-dir", str(folder), "--port", str(port), "--offline"]
    options = ["--threads", "1", "--parallel", "2", "--ctx-size", "4096"]
    null = subprocess.DEVNULL
    with subprocess.Popen([*command, *options], stdout=null, stderr=null) as process:
        yield f"http://127.0.0.1:{port}"
        process.terminate()


async def patiently(backend: Endpoints, request: Request) -> Reply:
    """Return the answer, once the server is up."""
    for _ in range(100):
        try:
            return await backend.complete(request)
        except BackendUnavailable:
            await asyncio.sleep(0.2)
    raise AssertionError("the router does not come up")


async def test_the_model_that_is_named_is_loaded_and_keeps_its_cache(router: str) -> None:
    """It is loaded by the first request; from then on a key costs what was typed."""
    backend = open_backend(BackendSettings("llama-server", router, model="coder"))
    assert (await patiently(backend, REQUEST)).text
    assert backend.state.model == "coder.gguf"
    again = await backend.complete(replace(REQUEST, prompt=short("    def x")))
    assert again.timings.prompt_n <= 4
    assert again.timings.cache_n == again.timings.expected_n
    await backend.aclose()

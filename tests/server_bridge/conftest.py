"""Real llama.cpp servers, one per module at most: they are quick to start, not free."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.tests import vllm_server
from server_bridge.http import client
from tests import real_code
from tests.llama_server import free_port, llama_server
from tests.mlx_server import mlx_server
from tests.models import BUNDLED, SPECIALS, write_model
from tests.server_bridge.waiting import be_patient

PATIENCE_S = 600.0


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is late, so that a busy machine says nothing where a test is of something else."""
    monkeypatch.setattr(client, "LATE_S", PATIENCE_S)


@pytest.fixture(scope="module")
def patient() -> Iterator[None]:
    """As much time for every answer as a busy machine takes, for tests of what is answered."""
    with pytest.MonkeyPatch.context() as patch:
        be_patient(patch, PATIENCE_S)
        yield


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return a llama.cpp server that a user runs, with the bundled model and two slots."""
    with llama_server(BUNDLED) as url:
        yield url


@pytest.fixture(scope="session")
def mlx_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """mlx_lm.server with a random model."""
    folder = tmp_path_factory.mktemp("mlx")
    with mlx_server(folder, free_port(), real_code.paths()[:40]) as url:
        yield url


@pytest.fixture(scope="session")
def vllm_url() -> Iterator[str]:
    """vLLM with the bundled model, and blocks of 32 tokens."""
    server = vllm_server.replica(free_port())
    with vllm_server.running(server):
        yield server.url


@pytest.fixture(scope="session")
def no_fim_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model that was never trained to fill in the middle."""
    return write_model(
        tmp_path_factory.mktemp("models") / "chat.gguf", specials=[""] * len(SPECIALS)
    )

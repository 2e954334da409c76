"""Real llama.cpp servers, one per module at most: they are quick to start, not free."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llama_server import free_port, llama_server
from tests.mlx_server import mlx_server
from tests.models import BUNDLED, SPECIALS, write_model


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A llama.cpp server that a user runs, with the bundled model and two slots."""
    with llama_server(BUNDLED) as url:
        yield url


@pytest.fixture(scope="session")
def mlx_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """mlx_lm.server with a random model."""
    with mlx_server(tmp_path_factory.mktemp("mlx"), free_port()) as url:
        yield url


@pytest.fixture(scope="session")
def no_fim_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was never trained to fill in the middle."""
    return write_model(
        tmp_path_factory.mktemp("models") / "chat.gguf", specials=[""] * len(SPECIALS)
    )

"""Two vLLM replicas with the bundled model; see scripts/test-cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.tests import vllm_server
from deploy.tests.vllm_server import Running, running
from tests.llama_server import free_port


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder need vLLM."""
    missing = pytest.mark.skipif(not vllm_server.PYTHON, reason="needs vLLM: scripts/test-cluster")
    for item in items:
        if "deploy/tests/cluster/" in item.nodeid:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(missing)


@pytest.fixture(scope="session")
def pair() -> Iterator[list[Running]]:
    """Two replicas, with blocks of 32 tokens; a test that ends one starts it again."""
    replicas = [vllm_server.replica(free_port()) for _ in range(2)]
    with running(*replicas):
        yield replicas

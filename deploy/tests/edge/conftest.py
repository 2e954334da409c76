"""nginx as deploy/ sets it up; see scripts/test-edge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from deploy.tests.edge.nginx import PROGRAM, Edge, edge
from deploy.tests.edge.upstream import Upstream, upstream
from deploy.tests.test_deploy import ALLOWED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder need nginx."""
    missing = pytest.mark.skipif(not PROGRAM, reason="needs nginx: scripts/test-edge")
    for item in items:
        if "deploy/tests/edge/" in item.nodeid:
            item.add_marker(pytest.mark.edge)
            item.add_marker(missing)


@pytest.fixture(scope="module")
def behind() -> Iterator[Upstream]:
    """Return a server that notes what nginx passes on."""
    with upstream() as found:
        yield found


@pytest.fixture(scope="module")
def fronts(behind: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Edge]]:
    """nginx of each deployment, in front of `behind`."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(edge(name, behind.address, tmp_path_factory.mktemp("nginx")))
            for name in ALLOWED
        }

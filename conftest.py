"""No test sees the user's settings and saved state, or writes any."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import lost_exceptions
from tests.again import pytest_runtest_logreport, pytest_sessionfinish  # noqa: F401  (hooks)
from tests.fuzz import EXAMPLES, FUZZ
from tests.longest import begin_with_the_longest

# Machines are shared: a slow one is no failure.
settings.register_profile("untimed", deadline=None, max_examples=EXAMPLES * FUZZ)
settings.load_profile("untimed")


lost_exceptions.hear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of the longest files come first."""
    begin_with_the_longest(items)


@pytest.fixture(scope="session", autouse=True)
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary config, cache and state folders, for this process and those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "CACHE", "STATE"):
            patch.setitem(os.environ, f"XDG_{name}_HOME", str(tmp_path_factory.mktemp(name)))
        yield


@pytest.fixture(autouse=True)
def no_exception_is_lost() -> Iterator[None]:
    """Each exception of a task reaches code that asks for it."""
    yield
    assert lost_exceptions.take() == []


@pytest.fixture(autouse=True)
def levels_stay() -> Iterator[None]:
    """A session in this process sets how much is logged; the next test hears as much as before."""
    loggers = [logging.getLogger(name) for name in ("fim_lsp", "server_bridge", "pygls")]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)

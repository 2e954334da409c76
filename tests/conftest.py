"""Nothing of the user's own settings or saved state gets into the tests, nor of theirs into his."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # machines are shared: slow is no failure
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Config, cache and state folders of our own, for this process and those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "CACHE", "STATE"):
            patch.setitem(os.environ, f"XDG_{name}_HOME", str(tmp_path_factory.mktemp(name)))
        yield

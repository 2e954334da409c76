"""What tests of sessions have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fim_lsp.session import prefill
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config
from server_bridge.protocol import Backend
from tests.fake_backend import FakeBackend
from tests.typist import QUICK

OpenSession = Callable[..., Session]


@pytest.fixture
async def open_session() -> AsyncIterator[OpenSession]:
    """Opens sessions, on the backend without a model or another one, and closes them at the end."""
    opened: list[Session] = []

    def begin(
        config: Config = QUICK,
        backend: Backend | Callable[[], Backend] = FakeBackend,
        cache: Path | None = None,
    ) -> Session:
        start = backend if callable(backend) else lambda: backend
        opened.append(Session(config, lambda _: start(), cache))
        return opened[-1]

    yield begin
    for session in opened:
        await session.aclose()


@pytest.fixture
def backend() -> FakeBackend:
    """Return that of `session`."""
    return FakeBackend()


@pytest.fixture
async def session(open_session: OpenSession, backend: FakeBackend) -> Session:
    return open_session(backend=backend)


@pytest.fixture
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause that is as good as none is a rest, for tests that wait for the end of the work after each step."""
    monkeypatch.setattr(prefill, "IDLE_S", 0.01)
    monkeypatch.setattr(prefill, "REST_S", 0.01)

"""What tests of sessions have in common."""

from __future__ import annotations

import pytest

from fim_lsp.session import prefill


@pytest.fixture
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause that is as good as none is a rest, for tests that wait for the end of the work after each step."""
    monkeypatch.setattr(prefill, "IDLE_S", 0.01)
    monkeypatch.setattr(prefill, "REST_S", 0.01)

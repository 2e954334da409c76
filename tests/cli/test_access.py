"""Whom a server on another machine serves."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fim_lsp.cli.checks import Patient, access
from fim_lsp.settings import Layer, configured
from server_bridge.protocol import Health, State

THERE, HERE = "http://10.0.0.7:8012", "http://127.0.0.1:8012"


@pytest.mark.parametrize(
    ("backend", "health", "warned"),
    [
        ({"url": THERE}, Health.READY, True),
        ({"url": THERE + "/"}, Health.READY, True),
        ({"endpoints": [{"url": HERE}, {"url": THERE}]}, Health.READY, True),
        ({"url": THERE, "apiKeyEnv": "KEY"}, Health.READY, False),
        ({"url": THERE}, Health.DOWN, False),
        ({"url": HERE}, Health.READY, False),
    ],
)
async def test_a_server_for_everybody_is_warned_of(
    backend: dict[str, object], health: Health, *, warned: bool
) -> None:
    """It answered without a key, and is not this machine."""
    config, _ = configured([Layer("file", {"backend": backend})])
    state = State(health, "llama-server", HERE if backend.get("url") == HERE else THERE)
    found = await access(Patient(config, (), SimpleNamespace(state=state)))  # type: ignore[arg-type]
    assert [finding.level for finding in found] == ["warn"] * warned
    assert all("--api-key-file" in finding.fix for finding in found)

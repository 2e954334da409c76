"""Servers that answer others than the user: warned of, with the fix."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fim_lsp.cli.checks import Target, access
from fim_lsp.cli.doctor import hung
from fim_lsp.settings.files import STACKS, cache_folder
from fim_lsp.settings.merge import Layer, merge_layers
from server_bridge.llama.link import open_to_pages
from server_bridge.machine import private_files
from server_bridge.protocol import Health, State
from tests.llama_server import llama_server
from tests.models import BUNDLED

pytestmark = pytest.mark.promise("no-web-page")

THERE, HERE = "http://10.0.0.7:8012", "http://127.0.0.1:8012"


@pytest.mark.parametrize(
    ("backend", "to_pages", "fix"),
    [
        ({"url": THERE}, False, "--api-key-file"),
        ({"endpoints": [{"url": HERE}, {"url": THERE}]}, False, "--api-key-file"),
        ({"url": THERE, "apiKeyEnv": "KEY"}, False, ""),
        ({"url": HERE}, False, ""),
        ({"url": HERE}, True, "--cors-origins localhost"),
        ({"url": HERE, "apiKeyEnv": "KEY"}, True, ""),
    ],
)
async def test_a_server_that_answers_everyone_is_warned_of(
    backend: dict[str, object], *, to_pages: bool, fix: str
) -> None:
    """It answered without a key, and is not this machine or listens to every web page."""
    config, _ = merge_layers([Layer("file", {"backend": backend})])
    state = State(Health.READY, "llama-server", HERE if backend.get("url") == HERE else THERE)

    async def open_to_pages(url: str) -> bool:
        assert url == state.url
        return to_pages

    server = SimpleNamespace(state=state)
    found = await access(Target(config, (), server, open_to_pages))
    assert [finding.level for finding in found] == ["warn"] * bool(fix)
    assert all(fix in finding.fix for finding in found)


@pytest.mark.parametrize(
    ("settings", "answer"),
    [({}, True), ({"cors_origins": "localhost"}, False), ({"api_keys": ["secret"]}, False)],
)
async def test_whether_pages_may_ask_is_seen_on_the_server(
    settings: dict[str, object], *, answer: bool
) -> None:
    """llama.cpp's own answer to a page of another origin; a server with a key answers no page."""
    with llama_server(BUNDLED, **settings) as url:
        assert await open_to_pages(url) is answer
    assert not await open_to_pages(url)


async def test_the_doctor_names_a_server_that_hung(tmp_path, monkeypatch) -> None:
    """Where it was, and what to do; nothing of a user who had none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    target = Target(merge_layers([])[0], (), SimpleNamespace(), open_to_pages)
    assert await hung(target) == []
    stack = 'Thread 0x1 (most recent call first):\n  File "/a.py", line 3 in loop\n'
    private_files.write(cache_folder() / STACKS, stack.encode())
    [finding] = await hung(target)
    assert "in loop (/a.py:3)" in finding.says
    assert "report it" in finding.fix

"""A server that forgets is found out: by `fim/stats`, by `doctor`, and once in the log."""

from __future__ import annotations

import logging

import pytest

from fim_lsp.cli.checks import Patient, cache
from fim_lsp.config import Config
from server_bridge.identity import open_to_pages
from server_bridge.llama import LlamaServer
from tests.llama_server import llama_server
from tests.models import BUNDLED


@pytest.mark.parametrize("forgets", [False, True])
async def test_doctor_says_why_too_much_is_evaluated(
    forgets: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """With every slot emptied behind our back, the likely cause is named, once."""
    with llama_server(BUNDLED, endpoint_slots=True, slot_save_path="/tmp/") as url:
        backend = LlamaServer(url)
        await backend.connect()
        send = backend._cache._server.send

        async def forgetful(path: str, body: str):
            for slot in range(2 if forgets else 0):
                await send(f"/slots/{slot}?action=erase", "{}")
            return await send(path, body)

        backend._cache._server = backend._cache._server._replace(send=forgetful)
        [finding] = await cache(Patient(Config(), (), backend, open_to_pages))
        assert finding.level == ("warn" if forgets else "ok")
        assert bool(finding.fix) == forgets
        assert finding.fix == backend.state.doubt
        warnings = [r for r in caplog.records if r.levelno >= logging.WARNING]
        assert len(warnings) == forgets
        await backend.aclose()

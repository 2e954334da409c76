"""A server that loads its model at the first request: a request that waits is answered."""

from __future__ import annotations

import asyncio

import pytest

from fim_lsp.session.session import Session
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.openai import waking
from server_bridge.protocol import Health
from tests.server_bridge.cold_server import cold_server
from tests.typist import QUICK, Typist


@pytest.mark.parametrize(("invoked", "keys"), [(True, ""), (False, ""), (False, "value")])
async def test_the_suggestion_comes_when_the_model_is_loaded(
    monkeypatch: pytest.MonkeyPatch, keys: str, *, invoked: bool
) -> None:
    """
    By hand and by typing, in two loads, of which one is given up; the status says so. Each key is a
    request that the client cancels; the load goes on, and the last one is answered.
    """
    monkeypatch.setattr(waking, "FIRST_S", 0.1)
    async with cold_server() as cold:
        session = Session(QUICK, lambda _: open_backend(BackendSettings("openai", cold.url)))
        await session.connection.wait_ready()
        seen: list[Health] = []
        session.on_status = lambda status: seen.append(status.state.health)
        typist = Typist(session, "def total(a, b):\n    value = ")
        asked = [asyncio.create_task(typist.ask(invoked=invoked))]
        while cold.n_begun < 2:
            await asyncio.sleep(0)
        for key in keys:
            typist.type(key)
            asked[-1].cancel()
            asked.append(asyncio.create_task(typist.ask()))
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not asked[-1].done()
        assert session.backend.state.health is Health.LOADING
        cold.finish_loading()
        assert [suggestion.text for suggestion in await asked[-1]] == [cold.says]
        await asyncio.gather(*asked, return_exceptions=True)
        await session.aclose()
    assert (cold.n_begun, cold.n_given_up) == (2, 1)
    assert seen[-1] is Health.READY

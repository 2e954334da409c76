"""A rule of privacy acts at once on what llama.cpp holds."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fim_lsp.settings.config import PrivacyConfig
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Backend, Request
from tests.asked import requests_to
from tests.session.conftest import OpenSession
from tests.session.test_late_rules import OTHER, PRIVATE
from tests.typist import QUICK, Typist, wait_judged

pytestmark = pytest.mark.promise("rules-act-at-once")

SEEN = 50  # tokens


async def test_the_engine_holds_nothing_of_it_any_more(open_session: OpenSession, tmp_path: Path):
    """The prompt of before the rule is evaluated from its beginning, not found in a slot or a copy of one."""
    requests: list[Request] = []

    def start() -> Backend:
        backend = open_backend(BackendSettings("embedded", slots_dir=str(tmp_path / "slots")))
        requests_to(backend, requests)
        return backend

    session = open_session(QUICK, start, tmp_path / "cache")
    for name, text in {"shop.py": PRIVATE, "main.py": OTHER}.items():
        (tmp_path / name).write_text(text)
        main = Typist(session, text, (tmp_path / name).as_uri(), root=tmp_path.as_uri())
    await session.connection.wait_ready()
    await wait_judged(session)
    for _ in range(2):
        await main.ask(invoked=True)
        await session.wait_idle()
    main.type("\n    return fre")
    await main.ask(invoked=True)
    request = requests[-1]
    assert "C4N4RY" in repr(request.prompt), "the ring must be at work"
    assert (await (await session.backend.connect()).measure(request.prompt)).cached > SEEN
    privacy = PrivacyConfig(exclude=("shop.py",))
    session.configure(dataclasses.replace(QUICK, privacy=privacy))
    await wait_judged(session)
    await session.connection.wait_ready()
    timings = (await (await session.backend.connect()).complete(request)).timings
    assert timings.cache_n <= 1 < SEEN < timings.prompt_n

"""On the battery, background work waits longer, or does not come at all."""

from __future__ import annotations

import asyncio
import math
import threading
from dataclasses import replace

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session.power import LOOK_S, Power, pace
from fim_lsp.session.session import Session
from fim_lsp.settings.config import BackendConfig
from tests.clock import run
from tests.session.test_prefill import CODE, Slow
from tests.typist import QUICK, Typist


@pytest.mark.parametrize(
    ("setting", "url", "on_battery", "expected"),
    [
        ("full", "", True, 1.0),
        ("less", "", True, 4.0),
        ("off", "", True, math.inf),
        ("off", "", False, 1.0),
        ("off", "http://127.0.0.1:8012", True, math.inf),
        ("off", "https://models.example.org", True, 1.0),
    ],
)
def test_how_much_more_rest_is_needed(
    setting: str, url: str, on_battery: bool, expected: float
) -> None:
    """By the setting, on the battery, for a model of this machine."""
    backend = BackendConfig(on_battery=setting, url=url)
    assert pace(backend, on_battery=on_battery) == expected
    servers = (BackendConfig(url="https://models.example.org"), BackendConfig(url=url))
    several = BackendConfig(on_battery=setting, endpoints=servers)
    assert pace(several, on_battery=on_battery) == expected


async def test_the_system_is_asked_off_the_loop() -> None:
    """
    What it says counts from then on; meanwhile the machine is not taken for one on its battery.
    """
    threads: list[threading.Thread] = []

    def read() -> bool:
        threads.append(threading.current_thread())
        return True

    power = Power(read)
    assert not power.is_on_battery()
    while not power.is_on_battery():
        await asyncio.sleep(0.001)
    [thread] = threads
    assert thread is not threading.main_thread()
    await power.aclose()


def test_it_is_asked_twice_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often work is left."""
    looks: list[float] = []

    def read() -> bool:
        looks.append(0.0)
        return False

    async def use() -> None:
        power = Power(read)
        for _ in range(100):
            power.is_on_battery()
            await asyncio.sleep(LOOK_S / 10)
        await power.aclose()

    run(use(), monkeypatch)
    assert 10 <= len(looks) <= 11


async def rest(setting: str, seconds: float) -> int:
    """Return the tokens that are evaluated ahead while the user rests for so long, twice."""
    config = replace(QUICK, backend=BackendConfig(on_battery=setting))
    session = Session(config, lambda _: Slow())
    typist = Typist(session, CODE)
    await asyncio.sleep(1.0)
    for line in (20, 235):
        session.handle(events.CursorMoved(typist.uri, Position(line, 4)))
        await asyncio.sleep(seconds)
    await session.aclose()
    return typist.counted("tokens", "background")


@pytest.mark.parametrize("seconds", [4.0, 20.0])
def test_what_is_evaluated_ahead(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as with a plug, less while the user does not rest for long, or nothing."""
    plugged = run(rest("off", seconds), monkeypatch)
    monkeypatch.setattr("fim_lsp.session.power.is_on_battery", lambda: True)
    full, less, off = (run(rest(name, seconds), monkeypatch) for name in ("full", "less", "off"))
    assert full == plugged > 0
    assert less < full
    assert off == 0

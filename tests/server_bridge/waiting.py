"""Waiting for what a test is about, for as long as a busy machine takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import psutil
import pytest

from server_bridge.failover import endpoints
from server_bridge.http import client, transport
from server_bridge.openai import waking

PATIENCE_S = 120.0  # only a test that fails waits so long
PAUSE_S = 0.02


async def until(done: Callable[[], Awaitable[bool] | bool]) -> None:
    """Return as soon as *done* is true."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        is_done = done()
        if is_done if isinstance(is_done, bool) else await is_done:
            return
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(PAUSE_S)


def has_ended(pid: int) -> bool:
    """Return whether a process is over; the system takes a moment to end what was killed."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def be_patient(patch: pytest.MonkeyPatch, patience_s: float) -> None:
    """Give every answer as much time as a busy machine takes."""
    init = client.Http.__init__

    def patiently(http: client.Http, *given: Any, **named: Any) -> None:
        init(http, *given, **named)
        http.patience_s = patience_s

    patch.setattr(client.Http, "__init__", patiently)
    patch.setattr(client, "SOON_S", patience_s)
    patch.setitem(transport.TIMES, "connect", patience_s)
    patch.setattr(waking, "FIRST_S", patience_s)
    for name in ("CONNECT_S", "CONNECT_ALL_S"):
        patch.setattr(endpoints, name, patience_s)

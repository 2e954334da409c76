"""`auto` beside a faulty model server: the embedded engine answers, and the user is told, once."""

from __future__ import annotations

import asyncio
import json

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Request
from tests.fault_proxy import fault_proxy
from tests.fuzz import FUZZ, in_turn
from tests.models import BUNDLED
from tests.server_bridge.prompts import short
from tests.server_bridge.waiting import until

REQUEST = Request(short("    def "), n_predict=4)
TOKENS = json.dumps({"tokens": [1]})
DIGITS = '{"tokens": [' + "9" * 5000 + "]}"
DEEP = '{"tokens": ' + "[" * 50_000
CONTENT = '{"content": null, "tokens": [], "stop_type": "limit"}'
TIMINGS = '{"content": "x", "timings": {"predicted_ms": Infinity}}'
ODD = {
    "no tokens": ("/tokenize", 200, "[]"),
    "an empty list of tokens": ("/tokenize", 200, '{"tokens": []}'),
    "one token for everything": ("/tokenize", 200, TOKENS),
    "tokens of thousands of digits": ("/tokenize", 200, DIGITS),
    "deep tokens": ("/tokenize", 200, DEEP),
    "no text": ("/completion", 200, CONTENT),
    "infinite timings": ("/completion", 200, TIMINGS),
    "completions refused": ("/completion", 400, "{}"),
    "completions failed": ("/completion", 500, "{}"),
}
# By default some of them, and in turn whether the user named the server or it was found; all by scripts/test-security.
CASES = in_turn(ODD if FUZZ > 1 else [*ODD][::3], (False, True))


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("odd", "named"), CASES)
async def test_an_odd_server_costs_no_completion_and_is_told_of_once(
    odd: str, named: bool, url: str
) -> None:
    """The engine answers the same request (with the user's model); then the server serves."""
    path, status, body = ODD[odd]
    async with fault_proxy(url) as proxy:
        proxy.odd[path] = (status, body)
        settings = BackendSettings(usual_urls=(proxy.url,))
        if named:
            settings = BackendSettings(url=proxy.url, model=str(BUNDLED))
        backend = open_backend(settings)
        messages = set()
        while sum(request.startswith(b"GET /props") for request in proxy.heard) < 4:
            assert (await backend.complete(REQUEST)).text
            assert backend.state.kind == "embedded"
            messages.add(backend.state.message)
            await asyncio.sleep(0)
        assert len(messages) == 1
        assert proxy.url in messages.pop()
        proxy.odd.clear()

        async def is_back() -> bool:
            await backend.complete(REQUEST)
            return backend.state.url == proxy.url

        await until(is_back)
        assert backend.state.message == ""
        await backend.aclose()

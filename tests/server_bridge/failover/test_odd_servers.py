"""
Servers of which a part is faulty. Beside one of the user's the embedded engine answers, and the user is told, once; of
a router with a dead replica the other one serves, whatever the router still says.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import BackendError, BackendUnavailable, Request
from tests.fault_proxy import fault_proxy
from tests.fuzz import FUZZ, in_turn
from tests.models import BUNDLED
from tests.server_bridge.prompts import short
from tests.server_bridge.recorder import Heard, recorder
from tests.server_bridge.waiting import until

REQUEST = Request(short("    def "), n_predict=4)
CONTENT = '{"content": null, "tokens": [], "stop_type": "limit"}'
TIMINGS = '{"content": "x", "timings": {"predicted_ms": Infinity}}'
ODD = {
    "no tokens": ("/tokenize", 200, "[]"),
    "an empty list of tokens": ("/tokenize", 200, '{"tokens": []}'),
    "one token for everything": ("/tokenize", 200, '{"tokens": [1]}'),
    "tokens of thousands of digits": ("/tokenize", 200, '{"tokens": [' + "9" * 5000 + "]}"),
    "deep tokens": ("/tokenize", 200, '{"tokens": ' + "[" * 50_000),
    "no text": ("/completion", 200, CONTENT),
    "infinite timings": ("/completion", 200, TIMINGS),
    "completions refused": ("/completion", 400, "{}"),
    "completions failed": ("/completion", 500, "{}"),
}
# By default some of them, and in turn whether the user named the server or it was found; all by scripts/test-security.
CASES = in_turn(ODD if FUZZ > 1 else [*ODD][::3], (False, True))


@pytest.mark.promise("answers-are-bounded")
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("odd", "named"), CASES)
async def test_an_odd_server_costs_no_completion_and_is_told_of_once(odd: str, named: bool, url):
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


MODELS = {"data": [{"id": "qwen", "owned_by": "vllm", "max_model_len": 4096}]}
TEXT = {"choices": [{"index": 0, "text": "total", "finish_reason": "stop"}]}
MOVES_AFTER = 2  # completions that fail: vllm-router's circuit breaker


class Router:
    """
    As vllm-router 0.1.17 with its own settings was seen to be: it goes on asking the dead replica
    which models there are, and moves completions on after a few that failed.
    """

    is_dead = False
    n_failed = n_models = 0

    def answer(self, request: Heard) -> tuple[int, bytes]:
        if request.method == "GET":
            self.n_models += 1
            return 500 if self.is_dead else 200, json.dumps(MODELS).encode()
        fails = self.is_dead and self.n_failed < MOVES_AFTER
        self.n_failed += fails
        return 500 if fails else 200, json.dumps(TEXT).encode()


@pytest.fixture
def router() -> Iterator[tuple[Router, str]]:
    router = Router()
    with recorder(answer=router.answer) as server:
        yield router, server.url


async def test_the_other_replica_serves_while_one_is_dead(router: tuple[Router, str]) -> None:
    """The model is known, so its completions are asked for, though the list of models fails."""
    replicas, url = router
    backend = open_backend(BackendSettings("openai", url))
    assert (await backend.complete(REQUEST)).text == "total"
    replicas.is_dead = True

    async def serves() -> bool:
        with suppress(BackendError):
            return (await backend.complete(REQUEST)).text == "total"
        return False

    await until(serves)
    assert (backend.state.model, backend.state.message) == ("qwen", "")
    await backend.aclose()


async def test_a_model_that_is_not_known_is_not_guessed(router: tuple[Router, str]) -> None:
    """A client that begins meanwhile sends no code before it knows what is there."""
    replicas, url = router
    replicas.is_dead = True
    backend = open_backend(BackendSettings("openai", url))
    with pytest.raises(BackendUnavailable, match="500"):
        await backend.complete(REQUEST)
    assert (replicas.n_models, replicas.n_failed) == (1, 0)
    await backend.aclose()

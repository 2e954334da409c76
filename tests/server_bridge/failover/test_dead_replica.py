"""A router with two replicas of which one is dead: the other one serves within seconds, whatever the router still says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import BackendError, BackendUnavailable, Request
from tests.server_bridge.prompts import short
from tests.server_bridge.recorder import Heard, recorder
from tests.server_bridge.waiting import until

REQUEST = Request(short("    def "), n_predict=4)
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

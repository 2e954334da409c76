"""A router with two replicas of which one is dead: the other one serves within seconds, whatever the router still says."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import BackendError, BackendUnavailable, Request
from tests.server_bridge.prompts import short

REQUEST = Request(short("    def "), n_predict=4)
MODELS = {"data": [{"id": "qwen", "owned_by": "vllm", "max_model_len": 4096}]}
TEXT = {"choices": [{"index": 0, "text": "total", "finish_reason": "stop"}]}
LIMIT_S = 5.0
MOVES_AFTER = 2  # completions that fail: vllm-router's circuit breaker


class Router(ThreadingHTTPServer):
    """
    As vllm-router 0.1.17 with its own settings was seen to be: it goes on asking the dead replica which models
    there are, and moves completions on after a few that failed.
    """

    is_dead = False
    n_failed = 0
    n_models = 0
    url = ""


class Handler(BaseHTTPRequestHandler):
    server: Router

    def do_GET(self) -> None:
        self.server.n_models += 1
        self._send(500 if self.server.is_dead else 200, json.dumps(MODELS).encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        fails = self.server.is_dead and self.server.n_failed < MOVES_AFTER
        self.server.n_failed += fails
        self._send(500 if fails else 200, json.dumps(TEXT).encode())

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def router() -> Iterator[Router]:
    with Router(("127.0.0.1", 0), Handler) as server:
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


async def test_the_other_replica_serves_while_one_is_dead(router: Router) -> None:
    """The model is known, so its completions are asked for, though the list of models fails."""
    backend = open_backend(BackendSettings("openai", router.url))
    assert (await backend.complete(REQUEST)).text == "total"
    router.is_dead = True
    end, text = time.monotonic() + LIMIT_S, ""
    while not text and time.monotonic() < end:
        with suppress(BackendError):
            text = (await backend.complete(REQUEST)).text
        await asyncio.sleep(0.05)
    assert text == "total"
    assert (backend.state.model, backend.state.message) == ("qwen", "")
    await backend.aclose()


async def test_a_model_that_is_not_known_is_not_guessed(router: Router) -> None:
    """A client that begins meanwhile sends no code before it knows what is there."""
    router.is_dead = True
    backend = open_backend(BackendSettings("openai", router.url))
    with pytest.raises(BackendUnavailable, match="500"):
        await backend.complete(REQUEST)
    assert (router.n_models, router.n_failed) == (1, 0)
    await backend.aclose()

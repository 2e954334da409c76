"""OpenAI-style answers with one thing wrong: errors of ours, and no absurd figures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from server_bridge.http.client import Http
from server_bridge.http.responses import Object, object_in
from server_bridge.openai.backend import OpenAiServer
from server_bridge.protocol import BackendError, BackendTimeout, Request, append_text
from tests.server_bridge.odd import ODD, places, some, with_odd
from tests.server_bridge.prompts import prompt

pytestmark = pytest.mark.promise("answers-are-bounded")

REQUEST = Request(prompt("    def f(self", " ret"), n_predict=4, stop=("\n",))
CACHED = {"cached_tokens": 890}
USAGE = {"prompt_tokens": 900, "completion_tokens": 2, "prompt_tokens_details": CACHED}
LLAMA = {"content": [{"id": 1, "bytes": list(b" return"), "logprob": -0.5}]}
VLLM = {"tokens": [" return"], "token_logprobs": [-0.5]}
ANSWERS = {
    "/v1/models": {"data": [
        {"id": "qwen", "owned_by": "vllm", "max_model_len": 8192, "meta": {"n_ctx": 4096}}]},
    "llama.cpp": {"choices": [{"text": " return", "finish_reason": None, "logprobs": LLAMA}]},
    "vllm": {"choices": [{"text": " x", "finish_reason": "length", "logprobs": VLLM}],
             "usage": USAGE},
}  # fmt: skip


class Replay(Http):
    """A server whose answer *path* has *odd* at a *place*."""

    def __init__(self, path: str, place: Any, odd: Any) -> None:
        super().__init__("http://127.0.0.1:1")
        self._odd = {path: with_odd(ANSWERS[path], place, odd)}

    def _answer(self, path: str) -> Object:
        answer = {**ANSWERS, **self._odd}.get(path, {})
        return object_in(path, 200, json.dumps(answer).encode())

    async def get(self, path: str, *, named: bool = True, opens: bool = True) -> Object:
        return self._answer(path)

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        for event in ("llama.cpp", "vllm"):
            await asyncio.sleep(0)  # what comes over a wire is waited for
            yield self._answer(event)


@pytest.mark.parametrize("path", ANSWERS)
async def test_no_answer_is_too_odd(path: str) -> None:
    """Each operation gives a result or an error of ours, and what was measured stays sensible."""
    for n, place in enumerate(places(ANSWERS[path])):
        for odd in some(n):
            server = OpenAiServer(Replay(path, place, odd))
            for _ in range(2):
                with suppress(BackendError):
                    await server.warm(REQUEST.prompt, 100)
                with suppress(BackendError):
                    reply = await server.complete(REQUEST)
                    assert all((t.logprob or 0) <= 0 for t in reply.tokens)
                    assert min(reply.timings.prompt_n, reply.timings.cache_n) >= 0
                    further = append_text(REQUEST.prompt, reply.text, reply.tokens)
                    await server.complete(replace(REQUEST, prompt=further))
                with suppress(BackendError):
                    async for reply in server.stream(REQUEST):
                        assert all((t.logprob or 0) <= 0 for t in reply.tokens)
            state = server.state
            what = f"{path} {place} {odd!r}"
            assert 0.1 <= state.chars_per_token <= 100, what
            assert 0.1 <= state.prefill_per_s <= 1e7, what
            assert 1e-3 <= state.decode_ms <= 60_000, what
            assert 0 < state.n_ctx < 2**31 or state.health.value != "ready", what


class Endless(Replay):
    """A server that goes on to send events without text."""

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        while True:
            await asyncio.sleep(0.01)
            yield {"choices": [{"text": ""}]}


async def test_a_whole_answer_without_an_end_is_given_up() -> None:
    """Each event comes soon enough, the answer does not."""
    server = OpenAiServer(Endless("vllm", (), None))
    server._http.patience_s = 0.1
    with pytest.raises(BackendTimeout, match="did not answer in time"):
        await asyncio.wait_for(server.complete(REQUEST), 5)


async def test_what_odd_details_spoil_is_done_without() -> None:
    """Probabilities and usage in an unknown shape cost no completion."""
    for place in (("choices", 0, "logprobs"), ("usage",)):
        for odd in ODD:
            server = OpenAiServer(Replay("vllm", place, odd))
            assert (await server.complete(REQUEST)).text == " return x"

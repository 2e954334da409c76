"""A server that gives the turn of a stream to another request, as llama-cpp-python's does by default."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from server_bridge.failover.endpoint import Endpoint
from server_bridge.failover.endpoints import Endpoints
from server_bridge.http.client import Http
from server_bridge.openai.backend import OpenAiServer
from server_bridge.openai.portions import PORTION
from server_bridge.openai.stream import TurnLost
from server_bridge.protocol import BackendUnavailable, Health, Request
from tests.server_bridge.prompts import prompt
from tests.server_bridge.recorder import Heard, Recorder, recorder, stream

pytestmark = pytest.mark.usefixtures("patient")
MODEL = {"id": "/m/qwen2.5-coder.gguf", "object": "model", "owned_by": "me", "permissions": []}
LISTED = json.dumps({"object": "list", "data": [MODEL]}).encode()
REQUEST = Request(prompt("    return "), n_predict=64, stop=("\n",))


def piece(text: str, why: str | None = None) -> str:
    """Return one event of that server, less what is the same in all of them."""
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": why}
    return json.dumps({"object": "text_completion", "choices": [choice]})


DONE = "[DONE]"
LOST = stream(piece("sel"), piece("f.na"), DONE)
REST = piece("me + 1", "stop").encode()
STREAMED = stream(piece("sel"), piece("f.name"), piece("", "stop"), DONE, is_whole=True)


@asynccontextmanager
async def server(*answers: bytes) -> AsyncIterator[tuple[Endpoints, Recorder]]:
    """A server that gives *answers* one after the other, the last one again and again, and what asks it."""
    left = [*answers]

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return 200, LISTED
        return 200, left.pop(0) if len(left) > 1 else left[0]

    with recorder(answer=answer) as running:
        endpoints = Endpoints([Endpoint(OpenAiServer(Http(running.url)))])
        async with aclosing(endpoints):
            yield endpoints, running


def asked(running: Recorder) -> list[dict[str, object]]:
    """Return the bodies of all requests for text."""
    return [json.loads(heard.body) for heard in running.heard if heard.method == "POST"]


ANSWERS = {  # what comes one after the other: the text, and how many requests that takes
    "a lost turn": ((LOST, REST), "self.name + 1", 2),
    "lost before any text": ((stream(piece(""), DONE), REST), "me + 1", 2),
    "a stream to its end": ((STREAMED,), "self.name", 1),
    "done without a reason": ((stream(piece("x"), DONE, is_whole=True),), "x", 1),
    "dropped behind the reason": ((stream(piece("x"), piece("", "stop")),), "x", 1),
    "dropped behind the end": ((stream(piece("x"), piece("", "stop"), DONE),), "x", 1),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_lost_turn_is_neither_an_end_nor_a_failure(name: str) -> None:
    """What is left is asked for at once, and not streamed; no message, and the server does not rest."""
    answers, text, n_requests = ANSWERS[name]
    async with server(*answers) as (endpoints, running):
        said = [reply.text async for reply in endpoints.stream(REQUEST)]
        assert "".join(said) == text
        bodies = asked(running)
        assert len(bodies) == n_requests
        assert (endpoints.state.health, endpoints.state.message) == (Health.READY, "")
        if n_requests == 2:
            assert "stream" not in bodies[1]
            assert bodies[1]["max_tokens"] == PORTION
            assert str(bodies[1]["prompt"]).endswith(text.removesuffix("me + 1"))


async def test_a_whole_answer_that_lost_its_turn_is_asked_for_again() -> None:
    """Whole answers are streamed only until a turn was lost: then every further one is not."""
    async with server(LOST, REST) as (endpoints, running):
        for _ in range(2):
            assert (await endpoints.complete(REQUEST)).text == "me + 1"
        assert ["stream" in body for body in asked(running)] == [True, False, False]


async def test_a_step_that_lost_its_turn_is_over() -> None:
    """What it evaluated makes room for the other prompt, and no user waits for it."""
    async with server(LOST) as (endpoints, _):
        assert await endpoints.warm(REQUEST.prompt, 100) == (0, 0)
        assert endpoints.state.health is Health.READY


async def test_a_turn_that_is_always_lost_ends_in_no_answer() -> None:
    """Without a message, a rest of the server or a further request."""
    async with server(LOST) as (endpoints, running):
        with pytest.raises(TurnLost):
            _ = [reply async for reply in endpoints.stream(REQUEST)]
        assert len(asked(running)) == 3
        assert (endpoints.state.health, endpoints.state.message) == (Health.READY, "")


async def test_a_stream_that_breaks_off_is_a_failure() -> None:
    """Where the server has not said that it is done, it may have died."""
    async with server(stream(piece("sel"))) as (endpoints, _):
        with pytest.raises(BackendUnavailable):
            _ = [reply async for reply in endpoints.stream(REQUEST)]
        assert endpoints.state.health is Health.DOWN

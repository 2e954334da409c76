"""What a server refuses of a request: left out, remembered, and as much shorter as it has to be."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from server_bridge.http.client import Http
from server_bridge.http.responses import SIGN
from server_bridge.openai import lengths
from server_bridge.openai.backend import TAIL, OpenAiServer
from server_bridge.openai.completion import GUIDE, OPTIONAL
from server_bridge.openai.text_client import TextServer
from server_bridge.protocol import BackendRejected, BackendUnavailable, PromptTooLong, Request
from tests.server_bridge.prompts import prompt
from tests.server_bridge.recorder import Heard, Recorder, events, recorder, stream

QWEN = "qwen2.5-coder-7b"
CHAT = "some-chat-70b"
HALF = Request(prompt("    x = ", "retur"), n_predict=4, stop=("\n\n",), sample=1)
SAY = "return"
BLOCK = "```\n    x = return\n```"


Refuse = Callable[[dict[str, Any]], tuple[int, str] | None]


def where(field: str, status: int, words: str) -> Refuse:
    return lambda body: (status, words) if field in body else None


@asynccontextmanager
async def server(refuse: Refuse, model: str = QWEN) -> AsyncIterator[tuple[OpenAiServer, Recorder]]:
    """A vLLM that answers a request unless *refuse* gives a status and its words, and what asks it."""

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            listed = [{"id": name, "owned_by": "vllm"} for name in (QWEN, CHAT)]
            return 200, json.dumps({"data": listed}).encode()
        body = json.loads(heard.body)
        if refusal := refuse(body):
            return refusal[0], refusal[1].encode()
        said = {"message": {"content": BLOCK}} if "messages" in body else {"text": SAY}
        whole = {"choices": [{**said, "finish_reason": "stop"}]}
        return 200, events(whole) if "stream" in body else json.dumps(whole).encode()

    with recorder(answer=answer) as running:
        async with aclosing(OpenAiServer(Http(running.url), model)) as backend:
            yield backend, running


WAYS: dict[str, tuple[int, str]] = {
    "by name": (400, '{"error": {"message": "Unrecognized request argument supplied: %s"}}'),
    "by place": (422, '{"detail": [{"type": "extra_forbidden", "loc": ["body", "%s"]}]}'),
    "in words": (400, "%s: not supported"),
    "by another name": (400, '{"error": {"message": "unknown option"}}'),
    "without a word": (422, ""),
    "as a page": (400, "<html><body>Bad Request</body></html>"),
}


REFUSALS = [  # each field in two ways, each way of some fields
    (field, way, (QWEN, CHAT)[(n_field + n_way) % 2])
    for n_field, field in enumerate(OPTIONAL)
    for n_way, way in enumerate(WAYS)
]


@pytest.mark.parametrize(("field", "way", "model"), REFUSALS[::3])
async def test_a_field_that_is_refused_is_left_out_from_then_on(field: str, way: str, model: str):
    """However the server says so, the same request is answered; also after a reconnection."""
    status, words = WAYS[way]
    said = words.replace("%s", field)
    async with server(where(field, status, said), model) as (backend, running):
        request = HALF if model == QWEN else replace(HALF, prompt=prompt("    x = "))
        assert SAY in (await backend.complete(request)).text
        n_asked = len(running.heard)
        assert SAY in (await backend.complete(request)).text
        await backend.aclose()
        assert SAY in (await backend.complete(request)).text
        bodies = [json.loads(h.body) for h in running.heard[n_asked:] if h.method == "POST"]
    assert not any(field in body for body in bodies)
    assert n_asked <= 3 + len(OPTIONAL)
    if "%s" in words and field != "stream":  # no other field was taken back
        others = {"logprobs", "temperature", "stop"} - {field} if model == QWEN else {"temperature"}
        assert all(others - {field} <= body.keys() for body in bodies)


@pytest.mark.parametrize("way", ["by name", "without a word"])
@pytest.mark.parametrize("fields", [("logprobs", "stream_options"), OPTIONAL])
async def test_several_fields_may_be_refused(fields: tuple[str, ...], way: str) -> None:
    """One after the other where they are named, else all at once."""
    status, words = WAYS[way]

    def refuse(body: dict[str, Any]) -> tuple[int, str] | None:
        there = [field for field in fields if field in body]
        return (status, words.replace("%s", there[0])) if there else None

    async with server(refuse) as (backend, running):
        assert SAY in (await backend.complete(HALF)).text
        n_asked = len(running.heard)
        assert SAY in (await backend.complete(HALF)).text
    assert n_asked <= 3 + len(OPTIONAL)
    assert len(running.heard) == n_asked + 1


async def test_later_models_have_another_name_for_the_length() -> None:
    """OpenAI's: the new name is sent where the refusal has it."""
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    async with server(where("max_tokens", 400, said), CHAT) as (backend, running):
        assert (await backend.complete(replace(HALF, prompt=prompt("    x = ")))).text
        assert "max_completion_tokens" in json.loads(running.heard[-1].body)


def error(words: str) -> str:
    return json.dumps({"error": {"message": words}})


FINAL = [  # what is asked again without a field, and what would be the same without one
    (400, "no", True),
    (404, "no such model", False),
    (301, "no such model", False),
    (400, error("CUDA out of memory"), True),
    (400, error("no tokens left"), True),
]


@pytest.mark.parametrize(("status", "words", "is_tried"), FINAL)
async def test_what_refuses_everything_is_not_asked_for_ever(
    status: int, words: str, is_tried: bool
) -> None:
    """Each field is tried once; then a refusal is one, at the first request; a shorter prompt would not help."""
    async with server(lambda _: (status, words)) as (backend, running):
        with pytest.raises(BackendRejected) as caught:
            await backend.complete(HALF)
        n_asked = len(running.heard)
        assert n_asked <= 3 + len(OPTIONAL) if is_tried else n_asked == 2
        assert not isinstance(caught.value, PromptTooLong)
        if status == 400:
            with pytest.raises(BackendRejected):
                await backend.complete(HALF)
            assert len(running.heard) == n_asked + 1


async def test_the_model_of_next_edits_is_asked_so_too() -> None:
    """And the answer may come whole where a stream is refused."""
    async with server(where("stream", 400, "")) as (_, running):
        model = TextServer(Http(running.url), QWEN)
        assert await model.continue_text("x", 8, ("\n",)) == SAY
        assert await model.continue_text("x", 8, ("\n",)) == SAY
        await model.aclose()
    assert "stream" not in json.loads(running.heard[-1].body)
    assert GUIDE not in json.loads(running.heard[-1].body)


class Queue(Http):
    """A server that says that a request waits its turn, and then refuses `logprobs` in its *words*."""

    def __init__(self, words: str) -> None:
        super().__init__("http://127.0.0.1:1")
        self._error = {"error": {"message": words, "code": 400}}
        self.bodies: list[dict[str, Any]] = []
        self.listed = {"id": QWEN, "owned_by": "vllm"}

    async def get(self, path: str, *, named: bool = True, opens: bool = True) -> dict[str, Any]:
        return {"data": [self.listed]}

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[dict[str, Any], None]:
        self.bodies.append(json.loads(body))
        yield SIGN
        said = {"choices": [{"text": SAY, "finish_reason": "stop"}]}
        yield self._error if "logprobs" in self.bodies[-1] else said


@pytest.mark.parametrize("words", ["logprobs: not supported", "unknown option"])
async def test_a_request_that_waits_its_turn_is_not_begun(words: str) -> None:
    """What is refused behind a comment is left out, and no more than that."""
    queue = Queue(words)
    assert SAY in (await OpenAiServer(queue).complete(HALF)).text
    assert queue.bodies[0].keys() - queue.bodies[-1].keys() == {"logprobs"}


async def test_a_step_of_evaluation_waits_for_no_turn() -> None:
    """The stream does, and can be left."""
    assert await OpenAiServer(Queue("")).warm(prompt("    x = "), 100) == (0, 0)


async def test_mlx_says_how_far_it_has_evaluated() -> None:
    """Its comments are no queue: a step that left at the first one would have evaluated nothing."""
    queue = Queue("")
    queue.listed = {"id": QWEN, "object": "model"}
    warmed = await OpenAiServer(queue).warm(prompt("    x = "), 4096)
    assert warmed.evaluated > TAIL
    assert warmed.left == 0


ENDS = [  # whether an answer ends, and tells what was reused: whether that is a guess then
    (["closed"], False),
    (["untold"], True),
    (["untold", "closed"], True),
    (["untold", "told"], False),
    (["told", "closed"], False),
    (["told", "untold", "closed"], True),
]


@pytest.mark.parametrize(("ends", "is_guess"), ENDS)
async def test_what_no_answer_tells_is_a_guess(ends: list[str], *, is_guess: bool) -> None:
    """A stream that was closed tells nothing, and changes nothing of what is known."""
    left = [*ends]

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return 200, json.dumps({"data": [{"id": QWEN, "owned_by": "x"}]}).encode()
        usage: dict[str, Any] = {"prompt_tokens": 9, "completion_tokens": 1}
        usage |= {"prompt_tokens_details": {"cached_tokens": 3}} if left.pop(0) == "told" else {}
        pieces = [{"choices": [{"text": "a"}]}, {"choices": [{"text": "b"}]}]
        return 200, events(*pieces, {"choices": [{"finish_reason": "stop"}], "usage": usage})

    with recorder(answer=answer) as running:
        async with aclosing(OpenAiServer(Http(running.url))) as backend:
            for end in ends:
                async with aclosing(backend.stream(Request(prompt("    x = "), 4))) as replies:
                    async for reply in replies:
                        if end == "closed" and reply.text:
                            break
            assert ("cached" in backend.state.engine.guessed) is is_guess


async def test_an_answer_that_has_begun_is_not_asked_for_again() -> None:
    """Its text would come twice; an error in the middle is one."""
    pieces = {"choices": [{"text": "a"}]}, {"error": {"message": "logprobs", "code": 400}}
    answer = {"/v1/models": b'{"data": [{"id": "qwen", "owned_by": "x"}]}'}
    with recorder(answer={**answer, "/v1/completions": events(*pieces)}) as running:
        async with aclosing(OpenAiServer(Http(running.url))) as backend:
            with pytest.raises(BackendRejected):
                await backend.complete(HALF)
    assert [heard.method for heard in running.heard].count("POST") == 1


async def test_a_length_is_no_reason_to_leave_out_fields() -> None:
    """Neither of a completion nor of a next edit."""
    async with server(lambda _: (400, error("maximum context length is 9 tokens"))) as (_, running):
        model = TextServer(Http(running.url), QWEN)
        with pytest.raises(BackendRejected):
            await model.continue_text("x", 8, ())
        await model.aclose()
    assert len(running.heard) == 1


@pytest.mark.parametrize(
    ("status", "words", "n_ctx"),
    [(422, "`inputs` must have less than 512 tokens. Given: 1900", 512), (413, "", 0)],
)
async def test_a_prompt_that_is_too_long_is_known(status: int, words: str, n_ctx: int) -> None:
    """A number that explains the refusal is the context from then on; without one half is tried."""
    async with server(lambda _: (status, words)) as (backend, _):
        with pytest.raises(PromptTooLong) as caught:
            await backend.complete(replace(HALF, prompt=prompt("    x = ")))
        known = backend.state.n_ctx
    assert caught.value.n_prompt > caught.value.n_ctx > 0
    assert known == (n_ctx or 4096)


SAYS: dict[str, tuple[int, int]] = {
    "The input has 442 tokens, but the context length only supports 400 tokens.": (442, 400),
    "Cannot truncate prompt with n_keep (442) >= n_ctx (400)": (442, 400),
    "Current length is 442 while limit is 400": (442, 400),
    "Prompt has 30,300 tokens, the context size is 4,000 tokens": (30300, 4000),
    "context length is 400 tokens and your request has 300 input tokens": (428, 400),
    "You passed 3700 input characters. The context length is only 400 tokens, a maximum input "
    "length of 272 tokens (at most 2720 characters). (value=3700)": (500, 400),
    "Requested tokens (1900) exceed context window of 512": (1900, 512),
    "`inputs` + `max_new_tokens` must be <= 512. Given: 1896 `inputs` tokens and 4": (1896, 512),
    "Prompt length 1900 exceeds the limit 512": (1900, 512),
    "Input is too long for requested model.": (500, 0),
}  # fmt: skip


@pytest.mark.parametrize("says", SAYS)
def test_a_refusal_tells_how_long_a_prompt_is_and_may_be(says: str) -> None:
    """Numbers of characters are none of tokens; what is not told is what was known."""
    assert lengths.is_length(says)
    assert lengths.find_limit(says, 128, 500) == SAYS[says]


# llama-cpp-python's server, 0.3.36: a prompt that is too long, in a stream and not in one.
IN_A_STREAM = stream(is_whole=True)
NO_STREAM = (
    "This model's maximum context length is 2048 tokens, however you requested 12002 tokens "
    "(12001 in your prompt; 1 for the completion). Please reduce your prompt; or completion length."
)
UNSAID = {  # the answer to one token that is not streamed; the error, and the context
    "with numbers": (400, error(NO_STREAM), PromptTooLong, 2048),
    "without numbers": (400, error("the prompt is too long"), PromptTooLong, 4096),
    "without a word": (500, "", BackendUnavailable, 4096),
    "with text": (
        200,
        '{"choices": [{"text": "x", "finish_reason": "length"}]}',
        BackendUnavailable,
        4096,
    ),
}


@pytest.mark.parametrize("way", UNSAID)
async def test_nothing_in_a_stream_is_asked_about(way: str) -> None:
    """Once, whole and for one token: what that is refused for is what the stream did not say."""
    status, words, kind, n_ctx = UNSAID[way]

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return 200, json.dumps(
                {"data": [{"id": QWEN, "owned_by": "me", "permissions": []}]}
            ).encode()
        return (
            (200, IN_A_STREAM) if "stream" in json.loads(heard.body) else (status, words.encode())
        )

    long = replace(HALF, prompt=replace(prompt("    x = "), prefix="x = 1\n" * 1000))
    with recorder(answer=answer) as running:
        async with aclosing(OpenAiServer(Http(running.url))) as backend:
            with pytest.raises(kind) as caught:
                await backend.complete(long)
            known = backend.state.n_ctx
        bodies = [json.loads(heard.body) for heard in running.heard if heard.method == "POST"]
    assert known == n_ctx
    assert [body["max_tokens"] for body in bodies] == [HALF.n_predict, 1]
    if isinstance(caught.value, PromptTooLong):
        assert caught.value.n_prompt > caught.value.n_ctx > 0
    assert ("fim.backend.contextTokens" in str(caught.value)) == (status == 500)


async def test_nothing_for_a_prompt_that_is_short_enough_is_a_failure() -> None:
    """One as long was answered before, so its length is not at fault."""
    answers = [events({"choices": [{"text": "x", "finish_reason": "stop"}]}), IN_A_STREAM]

    def answer(heard: Heard) -> tuple[int, bytes]:
        listed = json.dumps({"data": [{"id": QWEN, "owned_by": "vllm"}]}).encode()
        return 200, listed if heard.method == "GET" else answers.pop(0)

    request = replace(HALF, prompt=prompt("    x = "))
    with recorder(answer=answer) as running:
        async with aclosing(OpenAiServer(Http(running.url))) as backend:
            await backend.complete(request)
            with pytest.raises(BackendUnavailable, match="answered nothing"):
                await backend.complete(request)
    assert not answers

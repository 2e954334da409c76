"""OpenAI-style servers as they differ from each other; what they have in common is in test_contract."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from server_bridge.http.client import Http
from server_bridge.http.responses import SIGN, Object
from server_bridge.openai.backend import OpenAiServer
from server_bridge.openai.stream import read_answer
from server_bridge.protocol import BackendUnavailable, BackendUnusable, Request, Stop
from tests.server_bridge.prompts import prompt
from tests.server_bridge.recorder import recorder

REQUEST = Request(prompt("    def "), n_predict=4)
VLLM = {"id": "Qwen/Qwen2.5-Coder-7B", "owned_by": "vllm", "max_model_len": 8192}
DONE = b"data: [DONE]\n\n"


def events(*objects: object, end: bytes = DONE) -> bytes:
    return b"".join(b"data: " + json.dumps(o).encode() + b"\n\n" for o in objects) + end


def said(text: str, why: object = None, **more: object) -> dict[str, object]:
    return {"choices": [{"text": text, "finish_reason": why, **more}]}


def server_with(answer: bytes, *models: object) -> dict[str, bytes]:
    listed = json.dumps({"object": "list", "data": models or [VLLM]}).encode()
    return {"/v1/models": listed, "/v1/completions": answer}


async def reply_to(
    answer: bytes, request: Request = REQUEST, status: int = 200, kind: str = "text/event-stream"
):
    """Return what is made of *answer*, said to be of a *kind*, and what was asked."""
    with recorder(answer=server_with(answer)) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            await backend.connect()
            server.status = status
            server.headers["Content-Type"] = kind
            return await backend.complete(request), json.loads(server.heard[-1][2])


async def test_a_request_is_text_and_streamed() -> None:
    """The server gets the model's name, our own layout, and never more than four stop strings."""
    request = replace(REQUEST, stop=tuple("abcdef"))
    reply, body = await reply_to(events(said("x"), said(" = d", "stop")), request)
    assert (reply.text, reply.stop) == ("x = ", Stop.WORD)
    assert body["prompt"].startswith("<|repo_name|>demo\n<|file_sep|>lib/first.py\n")
    assert body["prompt"].endswith("<|fim_middle|>    def ")
    assert (body["model"], body["stop"], body["stream"]) == (VLLM["id"], list("abcd"), True)


SHAPES = {
    "vllm": {"tokens": ["return", " x"], "token_logprobs": [-0.5, -1.5]},
    "llama.cpp": {
        "content": [
            {"bytes": list(b"return"), "logprob": -0.5},
            {"bytes": list(b" x"), "logprob": -1.5},
        ]
    },
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_probabilities_come_in_two_shapes(shape: str) -> None:
    """Whatever the shape, the text is spelled by tokens with their log-probabilities."""
    reply, _ = await reply_to(events(said("return x", "length", logprobs=SHAPES[shape])))
    assert [(t.text, t.logprob) for t in reply.tokens] == [(b"return", -0.5), (b" x", -1.5)]


async def test_without_probabilities_and_usage_there_are_estimates() -> None:
    """A server that tells nothing but the text is good enough."""
    reply, _ = await reply_to(events(said("return"), said(" x", "length")))
    assert [t.text for t in reply.tokens] == [b"return x"]
    assert reply.timings.prompt_n > 500


async def test_usage_tells_what_was_cached() -> None:
    """Evaluated is what the prompt had less what the server says it reused."""
    details = {"cached_tokens": 890}
    usage = {"prompt_tokens": 900, "completion_tokens": 2, "prompt_tokens_details": details}
    reply, _ = await reply_to(events(said("x", "length"), {"choices": [], "usage": usage}))
    assert (reply.timings.prompt_n, reply.timings.cache_n) == (10, 890)


async def text_of(answer: bytes, *how: Any) -> str:
    return (await reply_to(answer, replace(REQUEST, n_predict=9), *how))[0].text


WHOLE = events(said("value_one"), said(" + two", "stop"))
USAGE = {"prompt_tokens": 900, "completion_tokens": 2}


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "", "text/event-stream; a=b"])
@pytest.mark.parametrize("status", [200, 201, 206])
async def test_the_form_is_what_is_sent_and_not_what_is_said(kind: str, status: int) -> None:
    """A header that is wrong or missing costs nothing, nor does another good status."""
    assert await text_of(WHOLE, status, kind) == "value_one + two"
    assert await text_of(json.dumps(said("x", "stop")).encode(), status, kind) == "x"


def delta(content: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"role": "assistant", "content": content}}]}


PARTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


async def test_an_end_without_a_reason_is_a_limit_where_all_tokens_were_made() -> None:
    """As many as were asked for: the text goes on."""
    usage = {"prompt_tokens": 900, "completion_tokens": 4}
    reply, _ = await reply_to(events(said("a"), {"choices": [], "usage": usage}))
    assert reply.stop is Stop.LIMIT
    reply, _ = await reply_to(events(said("a")))
    assert reply.stop is Stop.END


def message(text: str, why: str | None = None) -> Object:
    return {"choices": [{"message": {"content": text}, "finish_reason": why}]}


def raw(*texts: str) -> bytes:
    """Return a stream of *texts*, each as it stands in JSON."""
    event = 'data: {"choices": [{"text": "%s", "logprobs": %s}]}\n\n'
    odd = '{"tokens": ["x"], "token_logprobs": [NaN]}'
    return b"".join((event % (text, odd)).encode("latin-1") for text in texts) + DONE


REFUSAL = {"type": "refusal", "text": None}
TEXTS: dict[str, tuple[bytes, str]] = {  # the corpus has more
    "the usage without choices": (events(said("a"), {"usage": USAGE}, end=b""), "a"),
    "an odd reason": (events(said("a"), said("b", 7), end=b""), "ab"),
    "no choices": (events({"choices": [None]}, {"choices": None}, said("a", "stop")), "a"),
    "all again": (events(said("a"), said("b"), said("ab", "stop")), "ab"),
    "all again, later": (events(said("a"), said("b"), message("ab"), said("", "stop")), "ab"),
    "all again as a message": (events(delta("a"), delta("b"), message("ab", "stop")), "ab"),
    "the same twice": (events(said("a"), said("a"), said("", "stop")), "aa"),
    "the same as the end": (events(said("a"), said("a", "stop")), "aa"),
    "parts": (events(delta([REFUSAL, *PARTS]), delta([]), said("c", "stop")), "abc"),
    "halves": (raw("a \\ud83d", "\\ude00 b"), "a 😀 b"),
    "halves, nothing between": (raw("\\ud83d", "", "\\ude00"), "😀"),
    "halves of two": (raw("\\ud83d", "\\ude00\\ud83d", "\\ude00"), "😀😀"),
    "a first half alone": (raw("a\\ud83d", "b"), "a\ufffdb"),
    "a second half alone": (raw("a\\ude00", "b"), "a\ufffdb"),
    "a half at the end": (raw("a", "\\ud83d"), "a"),
    "no UTF-8": (raw("a\xffb"), "a\ufffdb"),
    "a cut character": (raw("a\xe2\x82", "b"), "a\ufffdb"),
}


@pytest.mark.parametrize("name", TEXTS)
async def test_whatever_servers_write_costs_no_text(name: str) -> None:
    """A reason, `[DONE]` or the usage ends it; half a pair of surrogates waits for the other; a byte that is no text is U+FFFD."""
    answer, text = TEXTS[name]
    assert await text_of(answer) == text


@pytest.mark.parametrize("behind", [(), ({"usage": USAGE},), (SIGN, SIGN)])
async def test_an_answer_that_stays_open_behind_its_reason_is_whole(
    behind: tuple[Object, ...],
) -> None:
    """What comes a tenth of a second later is not needed, be it comments."""

    async def stays_open() -> AsyncIterator[Object]:
        for event in (said("a"), said("b", "stop"), *behind):
            yield event
        await asyncio.Event().wait()

    answers = [(a.text, a.ended) async for a in read_answer(stays_open(), "http://x", 20)]
    assert answers[-1] == ("ab", "stop")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (events(said("x"), end=b""), "broke off"),
        (events(said("x"), end=b"data: {garbage\n\n"), "not a JSON"),
        (b"<html>", "not a JSON"),
    ],
)
async def test_a_broken_answer_is_no_answer(answer: bytes, says: str) -> None:
    """A drop is noticed: half a text is never taken for a whole one."""
    with pytest.raises(BackendUnavailable, match=says):
        await reply_to(answer)


async def test_a_server_that_keeps_nothing_leaves_no_step() -> None:
    """Once a long prompt was evaluated again, the next one is decoded at once, in one request."""
    usage = {"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 0}}
    answer = events(said("x", "length"), {"choices": [], "usage": usage})
    with recorder(answer=server_with(answer)) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            for _ in range(2):
                await backend.complete(REQUEST)
            longer = replace(REQUEST.prompt, middle="x = 1\n" * 500)
            measured = await backend.measure(longer)
            assert measured.total - measured.cached > 100
            assert await backend.warm(longer, 100) == (0, 0)


async def test_half_a_word_is_filtered_or_asked_for() -> None:
    """An answer that begins with the half word is taken; else it is asked for with it in the prompt."""
    half = replace(REQUEST, prompt=prompt("    x = ", "retur"))
    reply, body = await reply_to(events(said("return y", "length")), half)
    assert (reply.text, body["prompt"][-4:]) == ("return y", "x = ")
    reply, body = await reply_to(events(said("yield", "length")), half)
    assert (reply.text, body["prompt"][-5:]) == ("returyield", "retur")
    assert b"".join(t.text for t in reply.tokens) == b"returyield"


async def test_vllm_is_made_to_begin_with_the_half_word() -> None:
    """One request instead of two: each would evaluate the last, partial block of its cache."""
    half = replace(REQUEST, prompt=prompt("    x = ", "re.s"))
    _, body = await reply_to(events(said("re.sub(", "length")), half)
    assert body["structured_outputs"] == {"regex": r"re\.s[\s\S]*"}
    _, body = await reply_to(events(said("y", "length")))
    assert "structured_outputs" not in body


async def test_vllm_behind_a_router_is_known_by_its_answers() -> None:
    """SGLang's gateway does not tell whose the model is; the answer's fingerprint does."""
    local = {"id": "Qwen/Qwen2.5-Coder-7B", "owned_by": "local"}
    half = replace(REQUEST, prompt=prompt("    x = ", "retur"))
    told = events({**said("return", "length"), "system_fingerprint": "vllm-0.32.0-f55815c1"})
    with recorder(answer=server_with(told, local)) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            for is_known in (False, True):
                await backend.complete(half)
                assert (b"structured_outputs" in server.heard[-1].body) is is_known


async def test_a_template_decides_where_a_name_says_nothing() -> None:
    """One of ours as it spells a gap, `plain` without a gap; a name that is none of them lists all, and no text goes out."""
    model = {"id": "my-finetune", "owned_by": "vllm"}
    with recorder(answer=server_with(events(said("x", "stop")), model)) as server:
        backend = OpenAiServer(Http(server.url), template="qwenn")
        with pytest.raises(BackendUnusable, match=r"no template qwenn: set fim\.backend\.template"):
            await backend.complete(REQUEST)
        assert {path for _, path, *_ in server.heard} == {"/v1/models"}
        sent = []
        for template in ("starcoder2", "plain"):
            backend = OpenAiServer(Http(server.url), template=template)
            await backend.complete(REQUEST)
            sent.append(json.loads(server.heard[-1][2])["prompt"])
            assert bool(backend.state.second_best) == (template == "plain")
            await backend.aclose()
    assert "<fim_prefix>" in sent[0]
    assert sent[1].endswith(REQUEST.prompt.prefix + REQUEST.prompt.middle)


@pytest.mark.parametrize("lists", [True, False])
async def test_mlx_is_not_told_to_load_another_model(lists: bool) -> None:
    """mlx_lm.server loads whatever name it is told and may fail to list its own: it is told none."""
    answers = {"/health": b'{"status": "ok"}', "/v1/completions": events(said("x", "stop"))}
    if lists:
        answers["/v1/models"] = b'{"data": [{"id": "other/llama"}, {"id": "/m/qwen-tiny"}]}'
    with recorder(answer=answers) as server:
        backend = OpenAiServer(Http(server.url), template="" if lists else "qwen")
        await backend.complete(REQUEST)
        assert "model" not in json.loads(server.heard[-1][2])
        assert backend.state.model == ("qwen-tiny" if lists else "")
        await backend.aclose()

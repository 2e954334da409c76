"""Chat models behind an OpenAI-style server that is scripted: what they are asked, which of their answers count."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_bridge.fim.chat import GAP, TASK
from server_bridge.fim.layout import render
from server_bridge.http.client import Http
from server_bridge.openai import completion
from server_bridge.openai.backend import OpenAiServer
from server_bridge.protocol import (
    BackendUnusable,
    Chunk,
    Health,
    Prompt,
    Reply,
    Request,
    Stop,
    rest,
)
from tests.llama_server import llama_server
from tests.server_bridge.fim.controls import CONTROLS, OTHERS
from tests.server_bridge.recorder import Heard, Recorder, events, recorder

PROMPT = Prompt(
    "shop", (Chunk("a.py", "A = 1\n"),), "b.py", "def f(x):\n", "LATER = 3\n", "    y = 1\n    "
)
ASKED = Request(replace(PROMPT, forced="ret"), n_predict=20)
GOOD = "```python\n    return x + y\n    # done\n```"


@asynccontextmanager
async def script(
    say: str = GOOD, refuses: tuple[str, ...] = ()
) -> AsyncIterator[tuple[OpenAiServer, Recorder]]:
    """A server that says what it is to *say*, a few signs at a time; *refuses* fields without a word."""

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return 200, b'{"data": [{"id": "some-chat-70b", "owned_by": "acme"}]}'
        if any(name in json.loads(heard.body) for name in refuses):
            return 400, b'{"error": {"message": "unknown field"}}'
        pieces = [say[at : at + 3] for at in range(0, len(say), 3)]
        choices: list[dict[str, Any]] = [{"delta": {"content": piece}} for piece in pieces]
        choices.append({"delta": {}, "finish_reason": "stop"})
        return 200, events(*({"choices": [choice]} for choice in choices))

    with recorder(answer=answer) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            yield backend, server


def asked_of(server: Recorder) -> list[tuple[str, Any]]:
    """Return the paths and the bodies of what *server* was asked."""
    return [(h.path, json.loads(h.body)) for h in server.heard if h.method == "POST"]


async def streamed(backend: OpenAiServer, request: Request) -> list[Reply]:
    async with aclosing(backend.stream(request)) as replies:
        return [reply async for reply in replies]


async def test_a_model_is_asked_in_words() -> None:
    """Other files, the file with its gap, the task, and what is typed at the very end; thinking off."""
    async with script() as (backend, server):
        reply = await backend.complete(ASKED)
        assert "asked in words" in backend.state.second_best
    [(path, asked)] = asked_of(server)
    files = "\n\n--- a.py ---\nA = 1\n\n\n--- b.py ---\ndef f(x):\n"
    content = f"{TASK}{files}{GAP}LATER = 3\n{completion.ASK}    y = 1\n    ret"
    assert path == "/v1/chat/completions"
    assert asked["messages"] == [{"role": "user", "content": content}]
    assert asked["chat_template_kwargs"]["enable_thinking"] is False
    assert not {"stop", "prompt", "logprobs"} & asked.keys()
    assert (reply.text, reply.stop) == ("return x + y\n    # done\n", Stop.END)
    assert b"".join(token.text for token in reply.tokens).decode() == reply.text


@pytest.mark.promise("no-control-tokens")
@pytest.mark.parametrize(
    "token",
    [*CONTROLS["qwen"], *OTHERS, "<start_of_turn>", "<end_of_turn>", "[/INST]", "[TOOL_CALLS]"],
)
def test_no_text_begins_another_turn(token: str) -> None:
    """Neither of a file nor of an instruction, a diagnostic or an earlier answer."""
    shown = (Chunk(token, token),) * 2
    evil = Prompt(token, shown, token, token, token, "", turns=(token, token, token))
    assert token not in json.dumps(completion.messages(evil))
    assert token not in "".join(part.text for part in render(evil, completion.MESSAGE))


def test_prompts_with_turns_are_chats_to_an_openai_server() -> None:
    """The file and the first instruction are one message; further ones follow the answers."""
    prompt = Prompt("shop", (), "a.py", "a = 1\n", "b = 2\n", turns=("one", "done", "two"))
    sent = completion.messages(prompt)["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert "a = 1\n<GAP/>b = 2\n" in sent[0]["content"]
    assert sent[0]["content"].endswith("\n\none")
    assert [message["content"] for message in sent[1:]] == ["done", "two"]


async def test_a_message_only_grows() -> None:
    """Each key's message begins with all of the one before, so that the server has evaluated it."""
    async with script() as (backend, server):
        for typed in ("    y", "    y = ", "    y = 1\n    "):
            await backend.complete(Request(replace(PROMPT, middle=typed), 8))
    sent = [asked["messages"][0]["content"] for _, asked in asked_of(server)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(sent))


async def test_a_stream_gives_the_text_of_one_request() -> None:
    """Piece by piece, and closed at a stop string, which is not sent: it may stand in the line that is repeated."""
    async with script() as (backend, _):
        replies = await streamed(backend, ASKED)
        assert "".join(reply.text for reply in replies) == "return x + y\n    # done\n"
        assert {reply.stop for reply in replies[:-1]} == {Stop.LIMIT}
        stopped = await streamed(backend, replace(ASKED, stop=("\n",)))
        assert "".join(reply.text for reply in stopped) == "return x + y"
        assert stopped[-1].stop is Stop.WORD


async def test_a_stream_that_was_closed_is_gone_on_with() -> None:
    """What came before is part of the beginning that is repeated then."""
    async with script() as (backend, _):
        async with aclosing(backend.stream(ASKED)) as replies:
            first = await anext(replies)
        left = rest(ASKED, first)
        assert left is not None
        more = await streamed(backend, left)
    assert first.text + "".join(reply.text for reply in more) == "return x + y\n    # done\n"


BAD = {
    "prose": "Sure! Here is the code:\n```python\n    return x\n```",
    "no block": "    return x",
    "another line": "```\n    yield x\n```",
    "prose behind a thought": "<think>let me see</think>Sure:\n```\n    return x\n```",
    "a thought without an end": "<think>\nlet me see\n```\n    return x\n```",
    "nothing": "",
}


@pytest.mark.parametrize("name", BAD)
async def test_an_answer_that_is_not_what_was_asked_for_is_none(name: str) -> None:
    """Nothing is guessed out of it, and nothing is shown."""
    async with script(BAD[name]) as (backend, _):
        reply = await backend.complete(ASKED)
        replies = await streamed(backend, ASKED)
    assert reply.text.removeprefix("ret") == ""
    assert "".join(reply.text for reply in replies).removeprefix("ret") == ""
    assert replies[-1].stop is Stop.END


CODE_SAID = "    return x + y\n"
WRAPPINGS = {
    "a thought": "<think>\nlet me see: ```no```\n</think>\n```\n{}```",
    "the end of a thought": "</think>\n```\n{}```",
    "a thought that the template began": "let me see\nit is ```no```\n</think>\n\n```\n{}```",
    "another word for it": "a < b\n</reasoning>\n<|channel|>final<|message|>```\n{}```",
    "in capitals": "<THINK>a</THINK>\n```\n{}```",
    "two thoughts": "<think>a</think>\n<reasoning>b</reasoning>\n```\n{}```",
    "a channel": "<|channel|>final<|message|>```\n{}```",
    "two channels": "<|channel|>analysis<|message|>hm<|end|>"
    "<|start|>assistant<|channel|>final<|message|>```\n{}```",
    "tildes": "~~~python\n{}~~~",
    "a name of a file": "```python:app.py\n{}```",
    "words": '``` {{.python title="app.py"}}\n{}```',
    "no end": "```\n{}",
    "a blank": " \n\n\n          \n\n```\n{}```",
    "not shown": "\u200b\u200b```\n{}```",
    "an indented end": "```\n{}    ```",
}


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", WRAPPINGS)
def test_the_wrapping_of_a_block_does_not_count(name: str, ends: str) -> None:
    """Whatever stands around it, and however it is cut into pieces, the code is the same."""
    said = WRAPPINGS[name].format(CODE_SAID).replace("\n", ends)
    found = [str(completion.behind(said[:end], "    ret")[0]) for end in range(len(said) + 1)]
    assert found[-1].rstrip("\n") == "urn x + y"
    assert all(found[-1].startswith(each) for each in found)


async def test_a_server_that_refuses_chats_says_what_to_set() -> None:
    """Its model may be one for filling in under a name that does not tell."""
    async with script(refuses=("messages",)) as (backend, _):
        with pytest.raises(
            BackendUnusable, match=r"fim\.backend\.template .* qwen, .* plain, chat"
        ):
            await backend.complete(ASKED)
        assert backend.state.health is Health.UNUSABLE


CODE = st.text(alphabet="ab `=\n\t", max_size=24).filter(lambda text: "```" not in text)


@given(st.sampled_from(["", "    ", "    x = ", "def f("]), CODE)
def test_code_grows_with_what_is_said(line: str, code: str) -> None:
    """However an answer is cut, its code begins that of the whole, and nothing of the marks is in it."""
    said = f"```py\n{line}{code}\n```\nI hope that helps."
    cuts = [completion.behind(said[:end], line) for end in range(len(said) + 1)]
    whole = code + "\n"
    assert cuts[-1] == (whole, True)
    assert all(whole.startswith(str(found)) for found, _ in cuts)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("```\n        return x\n```", "urn x"),  # indented otherwise
        ("```\nreturn x\nand more\n```", "urn x"),  # of which the other lines are, too
        ("```\n    return x\n  more\n```", "urn x\n  more\n"),
        (" ```js\n    return x", "urn x"),
        ("```\n    re", ""),
        ("```\n    yield", None),
        ("```\n```", None),
    ],
)
def test_an_answer_begins_with_the_line(said: str, found: str | None) -> None:
    """To the sign; but for the indentation, where it is one line."""
    assert completion.behind(said, "    ret")[0] == found


@pytest.mark.usefixtures("patient")
async def test_a_real_server_takes_such_a_message(unusual_models: dict[str, Path]) -> None:
    """llama.cpp knows the options of a template; what a model of 4 million parameters answers is no block of code."""
    with llama_server(unusual_models["chat"]) as url:
        backend = OpenAiServer(Http(url), template="chat")
        warmed = await backend.warm(ASKED.prompt, 4096)
        first = await backend.complete(ASKED)
        again = await backend.complete(replace(ASKED, prompt=replace(PROMPT, forced="retu")))
        await backend.aclose()
    assert warmed.evaluated > 150
    assert (first.text, again.text) == ("ret", "retu")
    assert again.timings.prompt_n < 48
    assert again.timings.cache_n > 150

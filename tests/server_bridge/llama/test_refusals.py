"""A llama-server that refuses a field: left out and remembered, and the prompt answered."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from server_bridge.http.responses import Object, object_in
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.link import OPTIONAL
from server_bridge.protocol import PromptTooLong, Request
from tests.server_bridge.llama.heard import Stream, Wrapped
from tests.server_bridge.prompts import prompt

SAMPLED = Request(prompt("    def f(self"), n_predict=4, stop=("\n\n",), sample=1)
GREEDY = Request(SAMPLED.prompt, n_predict=4)
CHOICE = {"samplers", "temperature", "top_k"}  # without these another token is taken
NAMED = "Field '%s': not supported"
SOME = OPTIONAL[::3]  # each is left out in the same way


class Refusing(Wrapped):
    """Refuses a completion with one of these fields, and *says* which; keeps what is *asked*."""

    def __init__(self, url: str, *fields: str, says: str = NAMED, kind: str = "") -> None:
        super().__init__(url)
        self.asked: list[dict[str, Any]] = []
        self.refused = fields
        self.says = says
        self.kind = kind

    async def pass_on(self, stream: Stream, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        self.asked.append(json.loads(body))
        if there := [field for field in self.refused if field in self.asked[-1]]:
            said = {"message": self.says.replace("%s", there[0]), "type": self.kind}
            object_in(self.url, 400, json.dumps({"error": said}).encode())
        async with aclosing(super().pass_on(stream, path, body)) as events:
            async for event in events:
                yield event


@pytest.mark.parametrize(
    ("field", "says"),
    [*((field, NAMED) for field in SOME), (OPTIONAL[0], "no"), (OPTIONAL[-1], "no")],
)
async def test_a_field_that_is_refused_is_left_out_from_then_on(url, field: str, says: str) -> None:
    """By its name or without, streamed or not; also after a reconnection."""
    http = Refusing(url, field, says=says)
    async with aclosing(LlamaServer(http)) as backend, aclosing(LlamaServer(url)) as other:
        assert (await backend.complete(SAMPLED)).text
        text = (await backend.complete(GREEDY)).text
        assert field in CHOICE or text == (await other.complete(GREEDY)).text
        await backend.warm(prompt("    y = ", at=700), 64)
        n_asked = len(http.asked)
        await backend.aclose()
        await backend.connect()
        assert (await backend.complete(SAMPLED)).text
        await backend.warm(prompt("    y = ", at=900), 64)
    assert not any(field in asked for asked in http.asked[n_asked:])
    assert n_asked <= 3 + 2 * len(OPTIONAL)


@pytest.mark.parametrize("says", [NAMED, "no"])
async def test_a_half_word_stands_in_the_prompt_where_no_grammar_is_taken(url, says: str) -> None:
    """From then on; it is told as the beginning of the answer, once."""
    http = Refusing(url, "grammar", says=says)
    half = Request(replace(GREEDY.prompt, middle="    def f(", forced="self, "), n_predict=4)
    whole = Request(replace(GREEDY.prompt, middle="    def f(self, "), n_predict=4)
    async with aclosing(LlamaServer(http)) as backend, aclosing(LlamaServer(url)) as other:
        told = await backend.complete(half)
        n_asked = len(http.asked)
        again = await backend.complete(half)
        expected = (await other.complete(whole)).text
    assert told.text == again.text == "self, " + expected
    assert b"".join(token.text for token in again.tokens).decode() == again.text
    assert b"".join(token.text for token in again.middle) == b"    def f("
    assert [asked for asked in http.asked if "grammar" in asked] == http.asked[: n_asked - 1]
    assert len(http.asked) == n_asked + 1


async def test_a_prompt_that_is_too_long_costs_no_field(url: str) -> None:
    """It is refused as such, though the refusal may name one."""
    http = Refusing(url, "n_probs", kind="exceed_context_size_error")
    async with aclosing(LlamaServer(http)) as backend:
        with pytest.raises(PromptTooLong):
            await backend.complete(SAMPLED)
    assert len(http.asked) == 1

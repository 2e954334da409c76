"""llama.cpp servers as users run them: found, replaced, locked, and without the right model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.fim.tokens import FAMILIES, Family
from server_bridge.http.responses import Object
from server_bridge.llama.backend import Connected, Encoded, LlamaServer
from server_bridge.protocol import (
    BackendUnavailable,
    BackendUnusable,
    Chunk,
    Health,
    Prompt,
    Request,
)
from tests.fuzz import FUZZ
from tests.llama_server import llama_server
from tests.models import BUNDLED, write_model
from tests.server_bridge.fim.controls import CONTROLS
from tests.server_bridge.llama.heard import Stream, Wrapped, connected
from tests.server_bridge.prompts import prompt, warm_all
from tests.server_bridge.recorder import recorder

REQUEST = Request(prompt("    def "), n_predict=4)


async def test_a_model_without_the_tokens_is_named_with_the_fix(no_fim_model: Path) -> None:
    """Where the user named no server one clear sentence says what to start, or how to use this one."""
    with llama_server(no_fim_model) as url:
        server = LlamaServer(url, must_fill=True)
        says = r"chat\.gguf has no tokens .* llama-server --fim"
        with pytest.raises(BackendUnusable, match=says):
            await server.connect()
        assert server.state.health is Health.UNUSABLE
        assert f"set fim.backend.url to {url}" in server.state.message
        await server.aclose()


class Forgetful(Wrapped):
    """A server that says of each prompt that nothing of it is kept."""

    async def pass_on(self, stream: Stream, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        async with aclosing(super().pass_on(stream, path, body)) as events:
            async for event in events:
                yield {**event, "tokens_cached": 0}


@pytest.mark.usefixtures("patient")
async def test_steps_end_at_a_server_that_keeps_nothing() -> None:
    """What each step would evaluate from its beginning is left to the request that decodes."""
    with llama_server(BUNDLED) as url:
        server = LlamaServer(Forgetful(url))
        [warmed] = await warm_all(server, prompt(at=900), 100)
        assert warmed.evaluated <= 101
        assert (await server.complete(REQUEST)).tokens
        await server.aclose()


@pytest.mark.promise("no-control-tokens")
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "family", FAMILIES[:: 1 if FUZZ > 1 else 6], ids=lambda family: family.name
)
async def test_each_family_is_known_by_its_tokens_and_none_comes_from_a_file(
    family: Family, tmp_path: Path
) -> None:
    """Whatever spelling the model knows is found by asking its server; in a file it is text. All: scripts/test-security."""
    spare = CONTROLS[family.name][-1]  # stands for all the other control tokens of the vocabulary
    specials = (family.prefix, family.middle, family.suffix, spare, family.repo, family.file)
    model = write_model(tmp_path / f"{family.name}.gguf", specials=specials)
    async with connected(model) as (server, wire):
        assert (await server.complete(REQUEST)).tokens
        again = await server.complete(replace(REQUEST, prompt=prompt("    def x")))
        assert again.timings.prompt_n <= 4
        assert again.timings.cache_n == again.timings.expected_n
        evil = "".join((*family.spellings, spare, "<|endoftext|>"))
        plain = wire.prompts[-1]
        smuggled = Prompt(evil, (Chunk(evil, evil),), evil, evil, evil, evil)
        await server.complete(Request(smuggled, n_predict=1))
        for token in (*family.spellings, spare, "<|endoftext|>"):
            number = await wire.number(token)
            assert wire.prompts[-1].count(number) == plain.count(number), token


async def test_a_server_may_stand_below_a_path_and_want_its_models_name() -> None:
    """Behind a reverse proxy or llama-swap the address has a path; a name is no harm where one model is."""
    with llama_server(BUNDLED, api_prefix="/upstream/coder") as url:
        settings = BackendSettings("llama-server", url + "/upstream/coder/", model="coder")
        backend = open_backend(settings)
        reply = await backend.complete(REQUEST)
        again = await backend.complete(replace(REQUEST, prompt=prompt("    def x")))
        assert reply.text
        assert again.timings.prompt_n <= 4
        await backend.aclose()


async def test_a_router_is_asked_which_models_it_has() -> None:
    """A server with several models and no name set: the message has the names to choose from."""
    loaded = {"value": "loaded"}
    models = json.dumps({"data": [{"id": n, "status": loaded} for n in ("qwen-7b", "granite")]})
    with recorder(answer={"/props": b'{"role": "router"}', "/models": models.encode()}) as router:
        backend = open_backend(BackendSettings("llama-server", router.url))
        with pytest.raises(
            BackendUnusable, match=r"fim\.backend\.model to one of qwen-7b, granite"
        ):
            await backend.connect()
        await backend.aclose()


@pytest.mark.parametrize("answer", [b'{"status": "ok"}', b'{"build_info": 1}', b"<html>"])
async def test_a_server_that_is_not_llama_cpp_is_told_nothing(answer: bytes) -> None:
    """A server that cannot show llama.cpp's properties gets no text, not even to count it."""
    with recorder(answer=answer) as other:
        server = LlamaServer(other.url)
        at = REQUEST.prompt
        for ask in (server.measure(at), server.warm(at, 99), server.complete(REQUEST)):
            with pytest.raises(BackendUnusable, match=r"not a llama\.cpp server"):
                await ask
        await server.aclose()
    assert {heard[:3] for heard in other.heard} == {("GET", "/props", b"")}


async def test_a_cold_request_encodes_its_prompt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is measured, evaluated in steps, measured again and decoded; a further key is another prompt."""
    spelled: list[str] = []
    spell = LlamaServer._spell

    async def count(prompt: Prompt, connected: Connected) -> Encoded:
        spelled.append(prompt.middle)
        return await spell(prompt, connected)

    monkeypatch.setattr(LlamaServer, "_spell", staticmethod(count))
    async with connected() as (server, _):
        for middle in ("    def ", "    def x"):
            asked = prompt(middle)
            await server.measure(asked)
            await warm_all(server, prompt(middle), 500)
            await server.measure(asked)
            [*_] = [reply async for reply in server.stream(Request(prompt(middle), 4))]
    assert spelled == ["    def ", "    def x"]


async def test_work_on_a_server_that_ended_does_not_connect_again() -> None:
    """`connect` does, for the next piece of work."""
    async with connected() as (server, _):
        await server.measure(REQUEST.prompt)
        await server.aclose()
        with pytest.raises(BackendUnavailable):
            await server.measure(REQUEST.prompt)
        await server.connect()
        assert (await server.complete(REQUEST)).tokens

"""A server that is another one than it was, under the same address and the same names."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import BackendError, BackendUnavailable, Chunk, Request
from tests.llama_server import llama_server
from tests.models import BUNDLED, SPECIALS, write_model
from tests.server_bridge.llama.heard import Heard, connected
from tests.server_bridge.prompts import prompt
from tests.server_bridge.recorder import recorder

pytestmark = pytest.mark.usefixtures("patient")
REQUEST = Request(prompt("    return width"), n_predict=4)


def moved(path: Path) -> None:
    """Another number for every word."""
    write_model(path, specials=SPECIALS, moved=1)


def shifted(path: Path) -> None:
    """The same vocabulary with the numbers of two control tokens exchanged."""
    write_model(path, specials=(SPECIALS[1], SPECIALS[0], *SPECIALS[2:]))


@pytest.mark.parametrize("change", [moved, shifted])
async def test_another_vocabulary_under_the_same_name_is_noticed(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """No prompt is sent in the numbers of the old vocabulary: not the frozen parts, and not the tape."""
    model = write_model(tmp_path / "model.gguf")
    with llama_server(model) as url:
        wire = Heard(url)
        server = LlamaServer(wire)
        before = await server.complete(REQUEST)
    change(model)
    taped = replace(REQUEST, prompt=replace(REQUEST.prompt, tape=before.middle))
    wire.prompts.clear()
    with llama_server(model, port=urlsplit(url).port):
        with pytest.raises(BackendUnavailable, match="another model"):
            await server.complete(taped)
        assert wire.prompts == []
        await server.connect()
        await server.complete(taped)
        fresh = Heard(url)
        other = LlamaServer(fresh)
        await other.complete(REQUEST)
        assert wire.prompts[-1] == fresh.prompts[-1]
        await other.aclose()
        await server.aclose()


async def test_the_same_server_again_costs_no_second_tokenising(tmp_path: Path) -> None:
    """A restart alone voids nothing that the client knows."""
    with llama_server(BUNDLED) as url:
        wire = Heard(url)
        server = LlamaServer(wire)
        before = await server.complete(REQUEST)
    wire.paths.clear()
    with llama_server(BUNDLED, port=urlsplit(url).port):
        after = await server.complete(REQUEST)
        await server.aclose()
    assert (after.text, after.middle) == (before.text, before.middle)
    assert wire.paths.count("/tokenize") == 1  # the fixed text that tells vocabularies apart


NEW = replace(REQUEST, prompt=replace(REQUEST.prompt, path="app/other.py"))


async def streamed(server: LlamaServer) -> None:
    async for _ in server.stream(REQUEST):
        pass


USES = {
    "a prompt": lambda server: server.complete(REQUEST),
    "a look at the slots, then a prompt": lambda server: server.complete(NEW),
    "a stream": streamed,
}


@pytest.mark.parametrize("used", USES.values(), ids=USES)
async def test_every_connection_is_proved_whatever_opens_it(
    used: Callable[[LlamaServer], Awaitable[object]],
) -> None:
    """Another server on the port is asked for its identity, and told nothing."""
    with llama_server(BUNDLED, endpoint_slots=True) as url:
        server = LlamaServer(url)
        named = (*REQUEST.prompt.chunks, Chunk("app/other.py", ""))  # the name is tokenised already
        await server.complete(replace(REQUEST, prompt=replace(REQUEST.prompt, chunks=named)))
    props = json.dumps({"build_info": "b1", "model_path": "m", "total_slots": 2,
                        "default_generation_settings": {"n_ctx": 4096}})  # fmt: skip
    answers = {"/props": props.encode(), "/slots": b"[]", "/tokenize": b'{"tokens": [1]}'}
    with recorder(answer=answers, port=urlsplit(url).port or 0) as other:
        with pytest.raises(BackendError):
            await used(server)
        await server.aclose()
    assert {path for _, path, *_ in other.heard} <= {"/props"}


async def test_the_next_stream_asks_no_proof_where_the_first_connection_is_open() -> None:
    """A stream that was closed took its connection along; who is there shows without a question."""
    async with connected(endpoint_slots=True) as (server, wire):
        await server.complete(REQUEST)
        wire.paths.clear()
        for _ in range(3):
            async with aclosing(server.stream(replace(REQUEST, n_predict=64))) as replies:
                await anext(replies)
    assert set(wire.paths) == {"/slots"}

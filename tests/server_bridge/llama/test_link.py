"""A server that is another one than it was, under the same address and the same names."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from server_bridge.http.client import Http
from server_bridge.http.responses import Object
from server_bridge.llama import persistence
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.link import Identity
from server_bridge.protocol import BackendError, BackendUnavailable, Chunk, Request
from tests.llama_server import llama_server
from tests.models import BUNDLED, SPECIALS, write_model
from tests.server_bridge.llama.heard import Heard
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
    with llama_server(BUNDLED, endpoint_slots=True) as url:
        wire = Heard(url)
        server = LlamaServer(wire)
        await server.complete(REQUEST)
        wire.paths.clear()
        for _ in range(3):
            async with aclosing(server.stream(replace(REQUEST, n_predict=64))) as replies:
                await anext(replies)
        await server.aclose()
    assert set(wire.paths) == {"/slots"}


class Naming(Http):
    """A server that names *path* as its model's."""

    def __init__(self, url: str, path: Path) -> None:
        super().__init__(url)
        self._path = str(path)

    async def get(self, path: str, *, named: bool = True, opens: bool = True) -> Object:
        answer = await super().get(path, named=named, opens=opens)
        return {**answer, "model_path": self._path} if path == "/props" else answer


async def test_a_path_that_a_server_names_is_not_opened(tmp_path: Path) -> None:
    """It may be a pipe or a device: saving and restoring go by the model's name and its answers."""
    pipe, slots = tmp_path / "pipe", tmp_path / "slots"
    os.mkfifo(pipe)
    slots.mkdir()
    with llama_server(BUNDLED, slot_save_path=f"{slots}/", endpoint_slots=True) as url:
        server = LlamaServer(Naming(url, pipe), state_dir=str(tmp_path / "notes"))
        await asyncio.wait_for(server.complete(REQUEST), 60)
        assert await asyncio.wait_for(server.save(REQUEST.prompt), 60)
        await server.aclose()


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "/dev/stdin", ".", "nowhere", "a\0b"])
def test_of_our_own_model_only_a_file_is_read(name: str, tmp_path: Path) -> None:
    """Anything else is known by its name, and never waited for."""
    os.mkfifo(tmp_path / "pipe")
    shutil.copy(BUNDLED, tmp_path / "model.gguf")
    path = tmp_path / "model.gguf"
    assert _file_of(path, "xllamacpp") == [BUNDLED.stat().st_size, path.stat().st_mtime_ns]
    assert _file_of(tmp_path / name, "xllamacpp") == []
    assert _file_of(BUNDLED, "") == []


def _file_of(model: Path, engine: str) -> list[int]:
    *_, file = json.loads(persistence.identify(Identity("", str(model), 1, 1), engine))
    return file

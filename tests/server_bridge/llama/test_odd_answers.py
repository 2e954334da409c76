"""llama.cpp's answers with one thing wrong: errors of ours, no absurd figures, and then as before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from server_bridge.http.client import Http
from server_bridge.http.responses import Object, object_in
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import BackendError, Reply, Request, append_text, rest
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.odd import places, some, with_odd
from tests.server_bridge.prompts import prompt

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("patient"),
    pytest.mark.promise("answers-are-bounded"),
]

REQUEST = Request(prompt("    def f(self", " ret"), n_predict=4, stop=("\n",))
PATHS = ["/props", "/tokenize", "/slots", "/apply-template", "stream", "action"]
Key = tuple[str, bytes]


def kind(path: str) -> str:
    """Return what is asked for, whichever slot it is about."""
    return "action" if "?action=" in path else path


class Recording(Http):
    """Keeps every answer of a real server."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.answers: dict[Key, Any] = {}

    async def get(self, path: str, *, named: bool = True, opens: bool = True) -> Object:
        answer = await super().get(path, named=named, opens=opens)
        return self.answers.setdefault((kind(path), b""), answer)

    async def post(self, path: str, body: bytes) -> Object:
        return self.answers.setdefault((kind(path), body), await super().post(path, body))

    def another(self, *guards: Any) -> Recording:
        other = Recording(self.url)
        other.answers = self.answers
        return other

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        events: list[Object] = []
        async with aclosing(super().stream(path, body)) as found:
            async for event in found:
                events.append(event)
                self.answers.setdefault(("stream", body), events)
                yield event


class Replay(Http):
    """Answers as recorded, without a server; those of one path with *odd* at a *place*."""

    def __init__(
        self, answers: dict[Key, Any], path: str = "", place: Any = (), odd: Any = 0
    ) -> None:
        super().__init__("http://127.0.0.1:1")
        self._answers = answers
        self._path = path
        self._place = place
        self._odd = odd
        self.n_odd = 0

    def _answer(self, path: str, body: bytes) -> Any:
        alike = {key: each for key, each in self._answers.items() if key[0] == kind(path)}
        answer: Any = alike.get((path, body)) or next(iter(alike.values()), {})
        if kind(path) == self._path:
            self.n_odd += 1
            with suppress(LookupError, TypeError):  # another answer of this path, of another shape
                return with_odd(answer, self._place, self._odd)
        return answer

    async def get(self, path: str, *, named: bool = True, opens: bool = True) -> Object:
        await asyncio.sleep(0)  # as for a network: each answer is a turn of the event loop
        answer = self._answer(path, b"")
        inner = answer.get("list") if isinstance(answer, dict) and "list" in answer else answer
        return object_in(path, 200, json.dumps(inner).encode())

    async def post(self, path: str, body: bytes) -> Object:
        await asyncio.sleep(0)
        return object_in(path, 200, json.dumps(self._answer(path, body)).encode())

    def another(self, *guards: Any) -> Replay:
        return self

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        events = self._answer("stream", body)
        for event in events if isinstance(events, list) else [events]:
            await asyncio.sleep(0)
            yield object_in(path, 200, json.dumps(event).encode())


async def used(server: LlamaServer) -> list[Any]:
    """Return what each operation gives; None for one of our errors."""

    async def streamed(n_pieces: int) -> Request:
        request = REQUEST
        async with aclosing(server.stream(request)) as replies:
            async for reply in replies:
                request = rest(request, reply) or request
                n_pieces = n_pieces - 1
                if not n_pieces:
                    break
        return request

    async def moved() -> Reply:
        prompt = replace(REQUEST.prompt, middle="x = 1\n" * 20)
        await server.complete(Request(prompt, 1))
        prompt = replace(prompt, middle=prompt.middle[30:], dropped=True)
        return await server.complete(Request(prompt, 1))

    async def continued() -> Reply:
        reply = await server.complete(REQUEST)
        further = append_text(REQUEST.prompt, reply.text, reply.tokens)
        return await server.complete(replace(REQUEST, prompt=further))

    found: list[Any] = []
    for ask in (
        server.connect, lambda: server.measure(REQUEST.prompt),
        lambda: server.warm(REQUEST.prompt, 9999),
        continued, lambda: server.complete(replace(REQUEST, sample=1)),
        lambda: server.save(REQUEST.prompt), lambda: server.restore(REQUEST.prompt),
        lambda: streamed(0), lambda: streamed(1), moved,
    ):  # fmt: skip
        try:
            found.append(await ask())
        except BackendError:
            found.append(None)
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[Key, Any]:
    """Return what a real server answers when everything is used."""
    slots = f"{tmp_path_factory.mktemp('slots')}/"
    with llama_server(BUNDLED, endpoint_slots=True, slot_save_path=slots) as url:
        wire = Recording(url)
        server = LlamaServer(wire, state_dir=str(tmp_path_factory.mktemp("state")))
        assert None not in await used(server)
        await server.aclose()
    assert {path for path, _ in wire.answers} == {*PATHS}
    return wire.answers


@pytest.mark.parametrize("path", PATHS)
async def test_no_answer_is_too_odd(path: str, answers: dict[Key, Any], tmp_path: Path) -> None:
    """Each operation gives a result or an error of ours, and what was measured stays sensible."""
    depth = 2 if path == "/props" else 6  # below stand settings that are not read
    shapes = [answer for (at, _), answer in answers.items() if at == path]
    seen = {place for answer in shapes for place in places(answer, depth)}
    for n, place in enumerate(sorted(seen, key=str)):
        for odd in some(n):
            wire = Replay(answers, path, place, odd)
            server = LlamaServer(wire, state_dir=str(tmp_path))
            await used(server)
            state = server.state
            assert wire.n_odd
            what = f"{path} {place} {odd!r}"
            assert 0.1 <= state.chars_per_token <= 100, what
            assert 0.1 <= state.prefill_per_s <= 1e7, what
            assert 1e-3 <= state.decode_ms <= 60_000, what

"""A connection to llama-server that keeps what passes it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from server_bridge.http.client import Http
from server_bridge.http.responses import Object
from server_bridge.llama.backend import LlamaServer
from tests.llama_server import llama_server
from tests.models import BUNDLED

Stream = Callable[[str, bytes], AsyncGenerator[Object, None]]


class Wrapped(Http):
    """Its streams go through `pass_on`."""

    def another(self, *guards: Callable[[], Awaitable[object]]) -> Http:
        http = super().another(*guards)
        passed_on = partial(self.pass_on, http.stream)
        http.stream = passed_on  # type: ignore[method-assign]
        return http

    async def pass_on(self, stream: Stream, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """Hand on the events of a request."""
        async with aclosing(stream(path, body)) as events:
            async for event in events:
                yield event


class Heard(Wrapped):
    """Keeps the paths that were asked for and the token ids of the prompts that were answered."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.prompts: list[list[int]] = []
        self.paths: list[str] = []

    async def get(self, path: str, *, named: bool = True, opens: bool = True) -> Object:
        self.paths.append(path)
        return await super().get(path, named=named, opens=opens)

    async def post(self, path: str, body: bytes) -> Object:
        answer = await super().post(path, body)
        self.paths.append(path)
        return answer

    async def pass_on(self, stream: Stream, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        async with aclosing(super().pass_on(stream, path, body)) as events:
            async for event in events:
                yield event
        self.paths.append(path)
        self.prompts.append(json.loads(body)["prompt"])

    async def text(self) -> str:
        """Return the last prompt as text, as the server spells it."""
        body = json.dumps({"tokens": self.prompts[-1]}).encode()
        return str((await super().post("/detokenize", body))["content"])

    async def number(self, mark: str) -> int:
        """Return the id of a control token."""
        body = json.dumps({"content": mark, "parse_special": True}).encode()
        [number] = (await super().post("/tokenize", body))["tokens"]
        return int(number)


@asynccontextmanager
async def connected(
    model: Path = BUNDLED, **settings: Any
) -> AsyncIterator[tuple[LlamaServer, Heard]]:
    """A real server, and what passes the connection to it."""
    with llama_server(model, **settings) as url:
        wire = Heard(url)
        async with aclosing(LlamaServer(wire)) as server:
            yield server, wire

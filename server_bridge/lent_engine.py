"""
The engine of a running editor as a `Backend`: it has the model in memory already.

An editor's session announces its engine in a private file, with an address and a secret (`announcements`), and answers
there calls of `Model`: its own scheduler and its own bridge do the work. It is asked in short requests, so that the
editor's next key waits for one of them at most. Only an engine with the very file that would be loaded here is used, and
only at a listener of this user (`listener`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import msgspec

from server_bridge import short_requests
from server_bridge.http.client import Http, Trust, Unproven
from server_bridge.http.listener import AnotherUser, only_ours
from server_bridge.http.shapes import Object, read
from server_bridge.machine import announcements
from server_bridge.machine.announcements import Announced
from server_bridge.protocol import (
    BackendError,
    BackendTimeout,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Measure,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    Sink,
    State,
    Warmed,
)

KIND = "editor"
CALL_S = 10.0  # a step takes a quarter of a second; an editor whose user types on is not waited for


class Refused(BackendUnavailable):
    """The editor is there, and does not do it."""


# Errors of an editor that is there, or of a port of which that cannot be seen.
ALIVE = (Refused, BackendTimeout, AnotherUser)

log = logging.getLogger(__name__)


class LentEngine:
    """
    One editor's engine, as a `Backend` and its own `Model`; *folder* has the announcements.

    State: the connection, and what the editor said last of its engine.
    """

    def __init__(self, folder: Path, model: Path) -> None:
        self._folder = folder
        self._model = model
        self._http: Http | None = None
        self.state = State(Health.UNKNOWN, KIND, model=model.name)

    async def connect(self) -> LentEngine:
        """Find an editor that lends an engine with this model. Raises BackendUnavailable where none does."""
        if self.state.health is Health.READY:
            return self
        for each in await asyncio.to_thread(self._find):
            await self.aclose()
            self._http = _client(each.url, each.token)
            try:
                self._take(await self._http.get("/state"))
            except ALIVE as error:
                log.info("%s lends nothing: %s", each.url, error)
            except BackendError:  # the editor was killed; something else may have its port
                await asyncio.to_thread(announcements.withdraw, each.file)
            else:
                return self
        raise BackendUnavailable("no editor lends its engine")

    async def measure(self, prompt: Prompt) -> Measure:
        """See `Model`."""
        return read(Measure, await self._ask("measure", Request(prompt, 0)), self.state.url)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """See `Model`."""
        return read(Warmed, await self._ask("warm", Request(prompt, step)), self.state.url)

    async def complete(self, request: Request) -> Reply:
        """See `Model`."""
        return read(Reply, await self._ask("complete", request), self.state.url)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """See `Model`; in short requests."""
        async with aclosing(short_requests.stream(self.complete, request, self.state)) as replies:
            async for reply in replies:
                yield reply

    async def save(self, prompt: Prompt) -> int:  # noqa: ARG002
        """Return 0: what the engine holds is the editor's to keep."""
        return 0

    async def restore(self, prompt: Prompt) -> int:  # noqa: ARG002
        """See `save`."""
        return 0

    async def continue_long(
        self,
        prompt: Prompt,  # noqa: ARG002
        n_predict: int,  # noqa: ARG002
        sink: Sink,  # noqa: ARG002
    ) -> AsyncGenerator[str, None]:
        """Raise: an editor would have to wait for it."""
        raise BackendUnusable("an engine that an editor lends writes no long texts")
        yield ""  # what makes it a generator

    async def forward(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:  # noqa: ARG002
        """See `continue_long`."""
        raise BackendUnusable("an engine that an editor lends answers no other programs")
        yield {}

    async def aclose(self) -> None:
        """Close the connection."""
        http, self._http = self._http, None
        self.state = replace(self.state, health=Health.UNKNOWN)
        if http is not None:
            await http.aclose()

    def _find(self) -> list[Announced]:
        """Return the editors with this very model. Blocking."""
        try:
            ours = announcements.describe_file(self._model)
        except OSError:  # our own engine says what is wrong with it
            return []
        found = announcements.find_announced(self._folder)
        return [each for each in found if each.facts == ours]

    async def _ask(self, call: str, request: Request) -> object:
        """Return the result of a call, as JSON has it."""
        await self.connect()
        assert self._http is not None
        body = msgspec.json.encode(request)
        try:
            return self._take(await self._http.post(f"/{call}", body))
        except Unproven:  # it was closed while it was idle
            self._take(await self._http.get("/state"))
            return self._take(await self._http.post(f"/{call}", body))

    def _take(self, said: Object) -> object:
        """Take in the state of the engine, and return the result. Raises what was raised in the editor."""
        if sizes := said.get("too_long"):
            raise PromptTooLong(*read(tuple[int, int], sizes, self.state.url))
        if "error" in said:
            raise Refused(str(said["error"]))
        state = read(State, said.get("state"), self.state.url)
        self.state = replace(
            state, kind=KIND, url=self._http.url if self._http else "", message="", streams=False
        )
        return said.get("result")


def _client(url: str, token: str) -> Http:
    async def key() -> str:
        return token

    return Http(url, key, CALL_S, trust=Trust(guard=lambda: only_ours(url)))

"""
Several servers as one `Backend`: the first that is well, for each language, and what to do meanwhile.

Operations: `connect` finds one that works; every call goes to the best that is well. Goal: a server
that fails costs no completion if another can give it, and is used again soon after it is back.
Plan: each endpoint has a `Breaker`. A call that fails goes on to the next endpoint at once; what is
broken is probed in the background, without the user's text, for as long as calls come. A call that
moves to another server finds nothing in its cache: where that would take longer than a moment it is
given up, and the caller's next one warms the new server in steps.

Warning: tokens of one server mean nothing to another; each accepts of a tape only what it made.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeVar

from server_bridge.answers import Loading
from server_bridge.breaker import Breaker
from server_bridge.protocol import (
    Backend,
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    BackendUnusable,
    Endless,
    Health,
    Measure,
    Prompt,
    Reply,
    Request,
    Saves,
    Sink,
    State,
    Warmed,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
COLD_S = 1.0  # evaluating a prompt anew may take so long before it is not worth waiting for
STEP_S = 0.25  # in steps of about this length
IDLE_S = 60.0  # after so long without a call nobody cares which server is well


@dataclass(slots=True, eq=False)
class Endpoint:
    """
    One server. *languages* are those it is for, none for all. *named*: the user asked for it, and
    wants to hear what is wrong; *strict*: and wants no other then, if the fault is his to mend.
    *last*: not worth starting while another one loads.
    """

    backend: Backend
    languages: tuple[str, ...] = ()
    named: bool = True
    strict: bool = False
    last: bool = False
    breaker: Breaker = field(init=False)
    trouble: str = ""  # why it failed last, while it is not well

    def __post_init__(self) -> None:
        state = self.backend.state
        self.breaker = Breaker(f"{os.getpid()} {state.kind} {state.url}", self.named)

    def well(self) -> None:
        """It answered."""
        self.breaker.succeed()
        self.trouble = ""


class Endpoints:
    """See the module. State: the breakers, who served and who decoded last, the prober."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = tuple(endpoints)
        self._serving = self._endpoints[0]
        self._decoded: Backend | None = None
        self._connecting = asyncio.Lock()
        self._prober: asyncio.Task[None] | None = None
        self._called = 0.0

    @property
    def state(self) -> State:
        """That of the endpoint in use; its message says why it is not a better one."""
        serving = self._serving
        state = serving.backend.state
        if state.health is Health.READY:
            return replace(state, message=self._detour() or state.message)
        if state.health is Health.UNKNOWN and serving.trouble:
            return replace(state, health=Health.DOWN, message=serving.trouble)
        return state

    async def connect(self) -> State:
        """Find one that works, if the one in use does not."""
        async with self._connecting:
            if self._serving.backend.state.health is not Health.READY:
                await self._call("", lambda backend: backend.connect())
        return self.state

    async def measure(self, prompt: Prompt) -> Measure:
        """See `Backend`."""
        return await self._call(prompt.language, lambda backend: backend.measure(prompt))

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """See `Backend`."""
        return await self._call(prompt.language, lambda backend: backend.warm(prompt, step))

    async def complete(self, request: Request) -> Reply:
        """See `Backend`."""

        async def decode(backend: Backend) -> Reply:
            if self._decoded not in (None, backend):
                await _catch_up(backend, request.prompt)
            self._decoded = backend
            return await backend.complete(request)

        return await self._call(request.prompt.language, decode)

    async def save(self, prompt: Prompt) -> int:
        """See `Saves`; for the server in use, if it can."""
        backend = self._serving.backend
        return await backend.save(prompt) if isinstance(backend, Saves) else 0

    async def restore(self, prompt: Prompt) -> int:
        """See `Saves`."""
        await self.connect()
        backend = self._serving.backend
        return await backend.restore(prompt) if isinstance(backend, Saves) else 0

    async def run_on(self, prompt: Prompt, n_predict: int, sink: Sink) -> AsyncGenerator[str, None]:
        """See `Endless`; on the server in use, for half a text on another is no use to anybody."""
        await self.connect()
        backend = self._serving.backend
        if not isinstance(backend, Endless):
            raise BackendRejected(f"{self.state.url} is no llama.cpp server: it cannot run on")
        async with aclosing(backend.run_on(prompt, n_predict, sink)) as text:
            async for piece in text:
                yield piece

    async def aclose(self) -> None:
        """Let all of them go."""
        prober, self._prober = self._prober, None
        if prober is not None:
            prober.cancel()
            await asyncio.gather(prober, return_exceptions=True)
        for endpoint in self._endpoints:
            await endpoint.backend.aclose()

    # -- calls ----------------------------------------------------------------------------------

    async def _call(self, language: str, call: Callable[[Backend], Awaitable[T]]) -> T:
        """What *call* gives on the best endpoint that can; raises what the best of all raised."""
        self._called = time.monotonic()
        failed: list[tuple[Endpoint, BackendError]] = []
        for endpoint in self._in_turn(language):
            if endpoint.last and any(isinstance(error, Loading) for _, error in failed):
                break
            try:
                await endpoint.backend.connect()
                result = await _careful(call, endpoint.backend)
            except BackendRejected:
                raise
            except BackendError as error:
                await self._failed(endpoint, error)
                failed.append((endpoint, error))
                if endpoint.strict and isinstance(error, BackendUnusable):
                    break
            else:
                endpoint.well()
                await self._use(endpoint)
                return result
        if not failed:
            raise BackendUnavailable(self._serving.trouble or "no server is well")
        self._serving, reason = min(failed, key=_interest)
        raise reason

    def _in_turn(self, language: str) -> list[Endpoint]:
        """Whom to ask, in this order: who is well, then who may be again."""
        mine = self._eligible(language)
        now = time.monotonic()
        well = [endpoint for endpoint in mine if endpoint.breaker.is_closed]
        return well + [endpoint for endpoint in mine if endpoint.breaker.is_half_open(now)]

    def _eligible(self, language: str) -> list[Endpoint]:
        found = [e for e in self._endpoints if not e.languages or language in e.languages]
        return found or list(self._endpoints)

    async def _failed(self, endpoint: Endpoint, error: BackendError) -> None:
        now = time.monotonic()
        log.info("endpoint.failed url=%s reason=%s", endpoint.backend.state.url, error)
        endpoint.trouble = str(error)
        if isinstance(error, BackendTimeout):
            endpoint.breaker.slow(now)
        else:
            endpoint.breaker.fail(now, wrong=isinstance(error, BackendUnusable))
        if endpoint.backend.state.health is Health.READY:
            await endpoint.backend.aclose()  # so that it has to show anew that it is well

    async def _use(self, endpoint: Endpoint) -> None:
        """Note who serves; probe who should; the last resort is let go when it is not needed."""
        if endpoint is not self._serving:
            log.info("endpoint.used url=%s", endpoint.backend.state.url)
            before, self._serving = self._serving, endpoint
            if before.last:
                await before.backend.aclose()
        worse = not all(e.breaker.is_closed for e in self._better())
        if worse and (self._prober is None or self._prober.done()):
            self._prober = asyncio.create_task(self._probe(), name="probe endpoints")

    def _better(self) -> tuple[Endpoint, ...]:
        """Those that stand before the one in use."""
        return self._endpoints[: self._endpoints.index(self._serving)]

    def _detour(self) -> str:
        """Why a better one, that the user named, is not in use; "" if there is none."""
        for endpoint in self._better():
            if endpoint.named and not endpoint.breaker.is_closed:
                serving = self._serving.backend.state
                instead = "the embedded engine" if self._serving.last else serving.url
                return f"{endpoint.trouble}; {instead} is used meanwhile"
        return ""

    # -- while others serve ---------------------------------------------------------------------

    async def _probe(self) -> None:
        """Ask the better ones whether they are well again, until they are or nobody calls."""
        me = asyncio.current_task()  # before Python 3.12 `wait_for` may swallow a cancellation
        while self._prober is me and time.monotonic() - self._called < IDLE_S:
            broken = [e for e in self._better() if not e.breaker.is_closed]
            if not broken:
                return
            soonest = min(e.breaker.retry_at for e in broken)
            await asyncio.sleep(max(0.01, soonest - time.monotonic()))
            for endpoint in broken:
                if endpoint.breaker.is_half_open(time.monotonic()):
                    await self._ask_after(endpoint)

    async def _ask_after(self, endpoint: Endpoint) -> None:
        try:
            await _careful(lambda backend: backend.connect(), endpoint.backend)
        except BackendError as error:
            await self._failed(endpoint, error)
        else:
            log.info("endpoint.well url=%s", endpoint.backend.state.url)
            endpoint.well()


def _interest(failure: tuple[Endpoint, BackendError]) -> int:
    """Which failure to tell of, the smallest: of who is coming, of who was asked for, of the last resort."""
    endpoint, error = failure
    facts = (isinstance(error, Loading), endpoint.named and not endpoint.last, endpoint.last)
    return (*facts, True).index(True)


async def _careful(call: Callable[[Backend], Awaitable[T]], backend: Backend) -> T:
    """What *call* gives; an answer that has not the shape it should have is no answer."""
    try:
        return await call(backend)
    except (LookupError, TypeError, ValueError) as error:
        log.debug("unexpected answer", exc_info=True)
        url = backend.state.url
        raise BackendUnavailable(f"{url} answered what no model server would: {error!r}") from error


async def _catch_up(backend: Backend, prompt: Prompt) -> None:
    """Warm *prompt* on a server it is new to. Raises Cold where that takes longer than anybody waits."""
    end = time.monotonic() + COLD_S
    while (await backend.warm(prompt, round(backend.state.prefill_per_s * STEP_S))).left:
        if time.monotonic() > end:
            raise Cold(f"{backend.state.url} has to read the prompt first")


class Cold(BackendRejected):
    """The server is well, but knows nothing of this prompt: warm it in steps."""

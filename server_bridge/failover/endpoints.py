"""
Several servers as one `Backend`: the first healthy server, for each language, and what to do
meanwhile.

Operations: `connect` finds one that works; every call goes to the best healthy one. Goal: a server
that fails or is silent costs no completion if another can give it, and is used again soon after it is
back. Plan: all endpoints are connected at once, and each has a `Breaker`. A call that fails goes on to
the next endpoint at once; what is broken is probed in the background, without the user's text, for as
long as calls come. A call that moves to another server finds nothing in its cache: where that would take
longer than a moment it is given up, and the next one warms the new server in steps.

Warning: tokens of one server mean nothing to another; each accepts of a tape only what it made.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import reduce
from typing import TypeVar

from server_bridge.failover import race
from server_bridge.failover.endpoint import Endpoint, Turn, stay
from server_bridge.http.responses import Loading
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Measure,
    Model,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    Sink,
    State,
    Warmed,
    rest,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
COLD_S = 1.0  # evaluating a prompt on a server that has nothing of it may take so long within a completion
STEP_S = 0.25  # in steps of about this length
IDLE_S = 60.0  # after so long without a call it does not matter which server is healthy


class Endpoints:
    """See the module. State: the endpoints, which one served and which one decoded last, the prober."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = tuple(endpoints)
        self._serving = self._endpoints[0]
        self._decoded: Model | None = None
        self._prober: asyncio.Task[None] | None = None
        self._called = 0.0

    @property
    def state(self) -> State:
        """That of the endpoint in use; its message says why it is not a better one."""
        serving = self._serving
        if not (serving.named or serving.is_ready) and (coming := self._endpoints[-1]).attempt:
            return coming.backend.state  # that a usual port has no server is not reported
        state, error = serving.backend.state, serving.error
        if state.health is Health.READY:
            message = self._detour() or str(error or state.message)
            return state if message == state.message else replace(state, message=message)
        if state.health is Health.UNKNOWN and error:
            return replace(state, health=Health.DOWN, message=str(error))
        return state

    async def connect(self) -> Model:
        """Find one that works, if the one in use does not."""
        if not self._serving.is_ready:
            await self._call("", stay)
        return self

    async def measure(self, prompt: Prompt) -> Measure:
        """See `Model`."""
        return await self._call(prompt.language, lambda model: model.measure(prompt))

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """See `Model`."""
        return await self._call(prompt.language, lambda model: model.warm(prompt, step))

    async def complete(self, request: Request) -> Reply:
        """See `Model`."""

        async def decode(model: Model) -> Reply:
            await self._decode_on(model, request.prompt)
            return await model.complete(request)

        return await self._call(request.prompt.language, decode, decides=True)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """See `Model`; where a server fails in the middle of it, the next one goes on."""

        async def begin(model: Model) -> tuple[Reply, AsyncGenerator[Reply, None]]:
            await self._decode_on(model, request.prompt)
            replies = model.stream(request)
            return await anext(replies), replies

        while True:
            reply, replies = await self._call(request.prompt.language, begin, decides=True)
            endpoint, so_far = self._serving, [reply]
            async with aclosing(replies):
                try:
                    yield reply
                    async for reply in replies:
                        so_far.append(reply)
                        yield reply
                    return
                except BackendError as error:
                    await endpoint.note_failure(error, at_work=True)
            request = reduce(rest, so_far, request)

    async def save(self, prompt: Prompt) -> int:
        """See `Model`; on the server in use, if there is one."""
        return await self._serving.save(prompt)

    async def restore(self, prompt: Prompt) -> int:
        """See `Model`."""
        await self.connect()
        return await self._serving.ask(lambda model: model.restore(prompt))

    async def continue_long(
        self, prompt: Prompt, n_predict: int, sink: Sink
    ) -> AsyncGenerator[str, None]:
        """See `Model`; on the server in use, because half a text cannot be finished by another."""
        await self.connect()
        model = await self._serving.backend.connect()
        async with aclosing(model.continue_long(prompt, n_predict, sink)) as text:
            async for piece in text:
                yield piece

    async def aclose(self) -> None:
        """Close all of them."""
        prober, self._prober = self._prober, None
        if prober is not None:
            prober.cancel()
            await asyncio.gather(prober, return_exceptions=True)
        for endpoint in self._endpoints:
            await endpoint.aclose()

    # -- calls ----------------------------------------------------------------------------------

    async def _decode_on(self, model: Model, prompt: Prompt) -> None:
        """Decode *prompt* on *model* next, which may know nothing of it."""
        if self._decoded not in (None, model):
            await _catch_up(model, prompt)
        self._decoded = model

    async def _call(
        self, language: str, call: Callable[[Model], Awaitable[T]], *, decides: bool = False
    ) -> T:
        """
        Return the result of *call* on the best endpoint that can; raises what the best of all
        raised.

        *decides*: its success ends a trial.
        """
        self._called = time.monotonic()
        candidates = self._candidates(language, trials=decides)
        left = [*candidates]
        while (endpoint := await self._next(left, language)) is not None:
            try:
                result = await endpoint.ask(call)
            except (PromptTooLong, Cold):
                raise
            except BackendError as error:
                await endpoint.note_failure(error, at_work=True)
                left.remove(endpoint)
            else:
                if decides or endpoint.breaker.is_closed:
                    endpoint.note_success()
                await self._use(endpoint)
                return result
        raise self._failure(candidates)

    async def _next(self, left: list[Endpoint], language: str) -> Endpoint | None:
        """Return the best of *left* that is ready, connected if it must be; those that fail are taken out."""
        await race.connect(left)
        self._raise_strict()
        for endpoint in sorted(left, key=race.readiness):
            waits = endpoint.last and _is_loading(self._eligible(language))
            if not endpoint.is_ready and not waits:
                await asyncio.shield(endpoint.connect())
            if endpoint.is_ready:
                return endpoint
            left.remove(endpoint)
        self._raise_strict()
        return None

    def _raise_strict(self) -> None:
        """Raise where the user has to change something, and wants no other server meanwhile."""
        for endpoint in self._endpoints:
            if endpoint.strict and isinstance(endpoint.error, BackendUnusable):
                self._serving = endpoint
                raise endpoint.error.with_traceback(None)

    def _candidates(self, language: str, *, trials: bool) -> list[Endpoint]:
        """Return the endpoints to ask, in order: healthy ones, then those that may have recovered."""
        now = time.monotonic()
        turns = [(e.turn(now, trials=trials), e) for e in self._eligible(language)]
        first = [endpoint for turn, endpoint in turns if turn is Turn.FIRST]
        return first + [endpoint for turn, endpoint in turns if turn is Turn.LATER]

    def _eligible(self, language: str) -> list[Endpoint]:
        found = [e for e in self._endpoints if not e.languages or language in e.languages]
        return found or list(self._endpoints)

    async def _use(self, endpoint: Endpoint) -> None:
        """Note which one serves; have better ones probed; the last resort ends when it is not needed."""
        if endpoint is not self._serving:
            log.info("endpoint.used url=%s", endpoint.backend.state.url)
            before, self._serving = self._serving, endpoint
            if before.last:
                await before.backend.aclose()
        is_probing = self._prober is not None and not self._prober.done()
        if not is_probing and not all(e.is_ready for e in self._better()):
            self._prober = asyncio.create_task(self._probe(), name="probe endpoints")

    def _failure(self, candidates: list[Endpoint]) -> BackendError:
        """Return the error of a call that no endpoint could serve; `state` reports it from now on."""
        failed = [endpoint for endpoint in candidates if endpoint.error]
        if not failed:
            return BackendUnavailable(str(self._serving.error or "no server answers"))
        self._serving = min(failed, key=_interest)
        assert self._serving.error is not None
        return self._serving.error.with_traceback(None)

    def _better(self) -> tuple[Endpoint, ...]:
        """Return those that stand before the one in use."""
        return self._endpoints[: self._endpoints.index(self._serving)]

    def _detour(self) -> str:
        """Return why a better one, that the user should know of, is not in use; "" if there is none."""
        for endpoint in self._better():
            if endpoint.should_report_failure:
                serving = self._serving.backend.state
                instead = "the embedded engine" if self._serving.last else serving.url
                return f"{endpoint.error}; {instead} is used meanwhile"
        return ""

    # -- while others serve ---------------------------------------------------------------------

    async def _probe(self) -> None:
        """Connect to the better ones whenever it is time, until all are healthy or no calls come."""
        me = asyncio.current_task()  # before Python 3.12 `wait_for` may swallow a cancellation
        while self._prober is me and time.monotonic() - self._called < IDLE_S:
            broken = [e for e in self._better() if not e.is_ready]
            if not broken:
                return
            resting = [e for e in broken if e.attempt is None]
            await race.wait_for_first(
                [e.attempt for e in broken if e.attempt],
                min((e.breaker.retry_at for e in resting), default=None),
            )
            for endpoint in resting:
                if endpoint.attempt is None and endpoint.breaker.retry_at <= time.monotonic():
                    endpoint.connect()


def _is_loading(endpoints: list[Endpoint]) -> bool:
    return any(isinstance(endpoint.error, Loading) for endpoint in endpoints)


def _interest(endpoint: Endpoint) -> int:
    """
    Return a rank of failures, the smallest is reported: of a server that loads, that the user
    named, that is ours.
    """
    if isinstance(endpoint.error, Loading):
        return 0
    if endpoint.last:
        return 2
    return 1 if endpoint.named else 3


async def _catch_up(model: Model, prompt: Prompt) -> None:
    """Warm *prompt* on a server it is new to. Raises Cold where that takes too long for a completion."""
    end = time.monotonic() + COLD_S
    while (await model.warm(prompt, round(model.state.prefill_per_s * STEP_S))).left:
        if time.monotonic() > end:
            raise Cold(f"{model.state.url} is still evaluating the prompt")


class Cold(BackendRejected):
    """The server is healthy, but holds nothing of this prompt: warm it in steps."""

"""
Several servers as one `Backend`: the first healthy one, in their order.

Goal: a server that fails or is silent costs no completion if another can give it, and is used again
soon after it is back. Plan: a call goes to the first server that is connected, and on to the next
one where that fails. A server that was never tried is waited for, for a moment; a server that
failed is connected again beside the call, without the user's text, once it has rested. A call that
moves to another server finds nothing in its cache: where evaluating the prompt would take longer
than a moment it is given up, and the next one warms the new server in steps.

Warning: tokens of one server mean nothing to another; each accepts of a tape only what it made.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TypeVar

from server_bridge.failover import in_time
from server_bridge.failover.endpoint import Endpoint, stay
from server_bridge.openai.stream import TurnLost
from server_bridge.protocol import (
    BackendError,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Measure,
    Model,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    State,
    Stop,
    Warmed,
    rest,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
# For a server to connect while others follow, and for all of them together.
CONNECT_S = 1.0
CONNECT_ALL_S = 4.0


class Endpoints:
    """
    The first healthy of several servers; *notice* is to be known where only the last is in use.

    State: the endpoints, which one is in use, and which one decoded last.
    """

    def __init__(self, endpoints: Sequence[Endpoint], notice: Callable[[], str] = str) -> None:
        self._endpoints = tuple(endpoints)
        self._notice = notice
        self.on_change: Callable[[], None] = lambda: None
        for endpoint in self._endpoints:
            endpoint.backend.on_change = lambda: self.on_change()  # noqa: PLW0108 (it is set later)
        self._serving = self._endpoints[0]
        self._decoded: Model | None = None

    @property
    def state(self) -> State:
        """
        That of the endpoint in use; its message says what was wrong with it until it has completed
        something, or why it is not a better one; where none serves, the trouble of each.
        """
        serving = self._serving
        if not (serving.named or serving.is_ready or serving.is_loading):
            coming = self._endpoints[-1]
            if coming.attempt or not coming.error:
                return coming.state  # that a usual port has no server is not reported
        state = replace(serving.state, cause=serving.cause)
        error = serving.error
        if state.is_ready:
            message, cause = self._detour()
            message = message or state.message or (self._notice() if serving.last else "")
            return replace(state, message=message, cause=cause)
        if error is None or state.health is Health.LOADING:
            return state
        others = [each.error for each in self._endpoints if each.named and each is not serving]
        if None in others and not serving.is_unusable:  # a server that was not tried yet may serve
            return replace(state, health=Health.UNKNOWN, message="")
        if state.health is Health.UNKNOWN:
            state = replace(state, health=Health.DOWN, message=str(error))
        troubles = dict.fromkeys([state.message, *map(str, filter(None, others))])
        return replace(state, message="; ".join(filter(None, troubles)))

    async def connect(self) -> Model:
        """Find one that works, if the one in use does not."""
        if not self._serving.is_ready:
            await self._call(stay)
        return self

    async def measure(self, prompt: Prompt) -> Measure:
        """See `Model`."""
        return (await self._call(lambda model: model.measure(prompt)))[1]

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """See `Model`."""
        return (await self._call(lambda model: model.warm(prompt, step)))[1]

    async def complete(self, request: Request) -> Reply:
        """See `Model`."""
        return await self._decode(request.prompt, lambda model: model.complete(request))

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """See `Model`; where a server fails in the middle of it, the next one goes on."""
        left: Request | None = request
        while left is not None:
            so_far, replies = await self._decode(left.prompt, partial(self._begin, left))
            endpoint = self._serving
            async with aclosing(replies):
                try:
                    for reply in (*so_far,):
                        yield reply
                    async for reply in replies:
                        so_far.append(reply)
                        yield reply
                    return
                except TurnLost:
                    raise
                except BackendError as error:
                    endpoint.note_failure(error, at_work=True)
            left = rest(left, *so_far)

    async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:
        """See `Model`; on the server in use: one that has ended is not started for it."""
        if not self._serving.is_ready:
            return 0
        return await self._serving.ask(lambda model: model.save(prompt, files))

    async def restore(self, prompt: Prompt) -> int:
        """See `Model`."""
        await self.connect()
        return await self._serving.ask(lambda model: model.restore(prompt))

    async def aclose(self) -> None:
        """Close all of them."""
        for endpoint in self._endpoints:
            await endpoint.aclose()

    async def _begin(
        self, request: Request, model: Model
    ) -> tuple[list[Reply], AsyncGenerator[Reply, None]]:
        """
        Return an answer up to its first text, and the rest of it; up to its first piece where no
        other server can go on: the request that waits sees the queue, and makes way.
        """
        first: list[Reply] = []
        limit_s = None
        if self._has_another(model):
            measure = await model.measure(request.prompt)
            missing = measure.total - measure.cached
            limit_s = in_time.TEXT_S + missing / max(1.0, model.state.prefill_per_s)
        replies = in_time.grow(model, request, limit_s)
        async for reply in replies:
            first.append(reply)
            if limit_s is None or reply.text or reply.stop is not Stop.LIMIT:
                break
        return first, replies

    def _has_another(self, model: Model) -> bool:
        """Return whether a server that the user named may go on in place of *model*."""
        now = time.monotonic()
        named = (each for each in self._endpoints if each.named and now >= each.rests_until)
        others = (each for each in named if each.backend.state.url != model.state.url)
        return any(each.is_ready or each.error is None for each in others)

    async def _decode(self, prompt: Prompt, call: Callable[[Model], Awaitable[T]]) -> T:
        """
        Return the result of *call*, which decodes *prompt*; the endpoint that can is in use then.
        """

        async def decode(model: Model) -> T:
            if self._decoded not in (None, model):
                await in_time.catch_up(model, prompt)
            self._decoded = model
            return await call(model)

        endpoint, result = await self._call(decode)
        endpoint.note_success()
        before = self._serving
        self._serving = endpoint
        if before is not endpoint:
            log.info("endpoint.used url=%s", endpoint.backend.state.url)
            if before.last:
                before.close(ends=True)
        return result

    async def _call(self, call: Callable[[Model], Awaitable[T]]) -> tuple[Endpoint, T]:
        """
        Return the first endpoint that can do it, and the result; raises what the best one raised.
        """
        passed: list[Endpoint] = []
        while (step := choose(self._endpoints, passed, time.monotonic())) is not None:
            endpoint, wait_s = step
            passed.append(endpoint)
            if not endpoint.is_ready:
                await asyncio.wait({endpoint.connect()}, timeout=wait_s)
            if endpoint.is_ready:
                try:
                    result = await endpoint.ask(call)
                except (PromptTooLong, in_time.Cold, TurnLost):
                    raise
                except BackendError as error:
                    endpoint.note_failure(error, at_work=True)
                else:
                    if not self._serving.is_ready:
                        self._serving = endpoint
                    return endpoint, result
        raise self._failure()

    def _failure(self) -> BackendError:
        """
        Return the error of a call that no endpoint could serve; `state` reports it from now on.
        """
        failed = [endpoint for endpoint in self._endpoints if endpoint.error]
        if not failed:
            return BackendUnavailable("no server answers")
        self._serving = min(failed, key=_interest)
        assert self._serving.error is not None
        return self._serving.error.with_traceback(None)

    def _detour(self) -> tuple[str, str]:
        """
        Return why a better server, that the user should know of, is not in use, and the cause;
        otherwise why the server in use is doubted.
        """
        serving = self._serving
        for endpoint in self._endpoints[: self._endpoints.index(serving)]:
            if endpoint.error and (endpoint.named or endpoint.is_faulty):
                instead = "the embedded engine" if serving.last else serving.backend.state.url
                return f"{endpoint.error}; {instead} is used meanwhile", endpoint.cause
        error = serving.error
        if error and serving.is_faulty and not isinstance(error, BackendUnusable):
            return str(error), serving.cause
        return "", ""


def choose(
    endpoints: Sequence[Endpoint], passed: Collection[Endpoint], now: float
) -> tuple[Endpoint, float | None] | None:
    """
    Return the endpoint that a call goes to next, and how many seconds it waits for its connection,
    None for as long as that takes; None where no endpoint is left.

    *passed* are those that it went to before.
    """
    is_loading = any(one.is_loading for one in endpoints)
    for n, one in enumerate(endpoints, 1):
        if one in passed or now < one.rests_until:
            if one.is_unusable:
                return None
            continue
        others = [other for other in endpoints[n:] if now >= other.rests_until or other.is_unusable]
        if one.is_ready:
            return one, 0.0
        if one.last and is_loading:
            continue
        if one.error and not one.is_unusable and any(other.is_ready for other in others):
            return one, 0.0
        limit_s = min(CONNECT_S, CONNECT_ALL_S / len(endpoints))
        began = one.began if one.attempt else now
        # A server that may listen at a usual port is no reason to give up the server that the user
        # named.
        is_last = not any(other.named for other in others)
        return one, None if is_last else max(0.0, began + limit_s - now)
    return None


def _interest(endpoint: Endpoint) -> tuple[bool, ...]:
    """
    Return a rank of failures, the smallest is reported: what the user has to change, of a server
    that loads, that the user named, that is ours.
    """
    unnamed = endpoint.last or not endpoint.named
    return not endpoint.is_unusable, not endpoint.is_loading, unnamed, not endpoint.last

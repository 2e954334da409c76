"""
Several servers as one `Backend`: the first healthy one, in their order.

Goal: a server that fails or is silent costs no completion if another can give it, and is used again
soon after it is back. Plan: a call goes to the first server that is connected, and on to the next
one where that fails. A server that was never tried is waited for, for a moment; one that failed is
connected again beside the call, without the user's text, once it has rested. A call that moves to
another server finds nothing in its cache: where evaluating the prompt would take longer than a
moment it is given up, and the next one warms the new server in steps.

Warning: tokens of one server mean nothing to another; each accepts of a tape only what it made.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from server_bridge.http.responses import Loading, ServerError, UnexpectedAnswer
from server_bridge.protocol import (
    Backend,
    BackendError,
    BackendRejected,
    BackendTimeout,
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
    Warmed,
    rest,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
# The rest after a failure: a server that restarts is back in a moment, and in use again within 5 s.
FIRST_S, LONGEST_S = 0.25, 4.0
# A server that connects again at once may fail in the same way again.
AT_WORK = (BackendRejected, BackendTimeout, BackendUnusable, ServerError, UnexpectedAnswer)


@dataclass(slots=True, eq=False)
class Endpoint:
    """
    One of several servers: its backend, its failures, the attempt to connect that is under way.

    A server that failed rests, twice as long after each failure, and is tried again after that. An
    attempt to connect belongs to no call: a call waits for it as long as that is worth, and it goes
    on. No call waits for one that is closed; it is connected again only after that.

    *named*: the user asked for it, and should see what is wrong; *strict*: and wants no other then,
    if the user has to change something. *last*: not worth starting while another one loads. *error*
    is why it failed last, None once it has completed something; *is_faulty*: it is there, and
    failed at work.
    """

    backend: Backend
    named: bool = True
    strict: bool = False
    last: bool = False
    error: BackendError | None = None
    is_faulty: bool = False
    began: float = 0.0  # of the attempt to connect, in seconds of the loop's clock
    _n_failures: int = 0
    _rests_until: float = 0.0
    _attempt: asyncio.Task[None] | None = None
    _closing: asyncio.Task[None] | None = None
    _model: Model | None = None

    @property
    def state(self) -> State:
        """That of the backend; not known of one that is being closed."""
        is_closing, state = self._closing and not self._closing.done(), self.backend.state
        return replace(state, health=Health.UNKNOWN) if is_closing else state

    @property
    def is_ready(self) -> bool:
        """Return whether it is connected."""
        return self.state.health is Health.READY

    @property
    def cause(self) -> str:
        """Return the kind of its trouble and which server has it, the same in all words; or ""."""
        kind = self.error.cause if self.error else ""
        return kind and f"{self.backend.state.url} {kind}"

    @property
    def is_resting(self) -> bool:
        """Return whether it is left alone after a failure."""
        return time.monotonic() < self._rests_until

    @property
    def is_unusable(self) -> bool:
        """Return whether the user has to change something, and wants no other server meanwhile."""
        return self.strict and not self.is_ready and isinstance(self.error, BackendUnusable)

    @property
    def attempt(self) -> asyncio.Task[None] | None:
        """The attempt to connect that is under way."""
        return self._attempt if self._attempt is not None and not self._attempt.done() else None

    def connect(self) -> asyncio.Task[None]:
        """
        Return the attempt under way, or a new one. It never fails: `is_ready` and `error` tell.
        """
        if (attempt := self.attempt) is None:
            name = f"connect {self.backend.state.url}"
            attempt = self._attempt = asyncio.create_task(self._connect(), name=name)
            self.began = time.monotonic()
        return attempt

    async def ask(self, call: Callable[[Model], Awaitable[T]]) -> T:
        """
        Connect where that is needed, and return what *call* gives on the model.

        Raises BackendError only: a bug of ours with one server must not stop the others.
        """
        if self._closing:
            await asyncio.wait({self._closing})
        try:
            self._model = await self.backend.connect()
            return await call(self._model)
        except BackendError:
            raise
        except Exception as error:
            log.exception("unexpected failure")
            url = self.backend.state.url
            raise BackendUnavailable(f"{url} cannot be used ({type(error).__name__})") from error

    async def save(self, prompt: Prompt) -> int:
        """See `Model`; a server that has ended is not started for it."""
        model = self._model
        return await self.ask(lambda _: model.save(prompt)) if model and self.is_ready else 0

    def note_failure(self, error: BackendError, *, at_work: bool) -> None:
        """
        Note a failure, *at_work* or while connecting.

        A connection that is still open is closed: the server has to prove its identity again.
        Clients that were told at the same time to wait come back one after the other.
        """
        log.info("endpoint.failed url=%s reason=%s", self.backend.state.url, error)
        spread = time.monotonic_ns() % 1000 / 2000  # another one for each client
        rest_s = min(LONGEST_S, FIRST_S * 2.0 ** min(self._n_failures, 16)) * (1 - spread)
        if isinstance(error, ServerError):
            rest_s = max(rest_s, error.retry_after_s * (1 + spread))
        self._rests_until = time.monotonic() + rest_s
        self._n_failures += 1
        self.is_faulty |= isinstance(error, AT_WORK if at_work else UnexpectedAnswer)
        self.error = error
        self.close()

    def close(self) -> None:
        """Close the connection, if there is one: it is not used until another is made."""
        if self.is_ready:
            self._closing = asyncio.create_task(self._close(), name="close endpoint")

    def note_success(self) -> None:
        """Note a completion."""
        self.error, self.is_faulty, self._n_failures = None, False, 0

    async def aclose(self) -> None:
        """Give up connecting, and close the backend."""
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            attempt.cancel()
            await asyncio.gather(attempt, return_exceptions=True)
        if self._closing:
            await asyncio.wait({self._closing})
        await self.backend.aclose()

    async def _close(self) -> None:
        try:
            await self.backend.aclose()
        except Exception:
            log.exception("%s failed to close", self.backend.state.url)

    async def _connect(self) -> None:
        try:
            await self.ask(stay)
        except BackendError as error:
            self.note_failure(error, at_work=False)
        else:
            log.info("endpoint.connected url=%s", self.backend.state.url)


async def stay(model: Model) -> None:
    """Ask nothing: connecting is all."""


async def _begin(request: Request, model: Model) -> tuple[Reply, AsyncGenerator[Reply, None]]:
    """Return the first piece of an answer, and the rest of it."""
    replies = model.stream(request)
    return await anext(replies), replies


# For a server to connect while others follow, and for all of them together.
CONNECT_S, CONNECT_ALL_S = 1.0, 4.0
# A completion may wait so long for a prompt on a server that has nothing of it, in steps of about
# STEP_S.
COLD_S, STEP_S = 1.0, 0.25


class Endpoints:
    """
    The first healthy of several servers; *notice* is to be known where only the last is in use.

    State: the endpoints, which one is in use, and which one decoded last.
    """

    def __init__(self, endpoints: Sequence[Endpoint], notice: Callable[[], str] = str) -> None:
        self._endpoints, self._notice = tuple(endpoints), notice
        self._serving = self._endpoints[0]
        self._decoded: Model | None = None

    @property
    def state(self) -> State:
        """
        That of the endpoint in use; its message says what was wrong with it until it has completed
        something, or why it is not a better one.
        """
        serving = self._serving
        if not (serving.named or serving.is_ready) and (coming := self._endpoints[-1]).attempt:
            return coming.state  # that a usual port has no server is not reported
        state, error = serving.state, serving.error
        if state.health is Health.READY:
            message, cause = self._detour()
            message = message or state.message or (self._notice() if serving.last else "")
            return replace(state, message=message, cause=cause)
        if error is None:
            return state
        if state.health is Health.UNKNOWN:
            state = replace(state, health=Health.DOWN, message=str(error))
        return replace(state, cause=serving.cause)

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
            reply, replies = await self._decode(left.prompt, partial(_begin, left))
            endpoint, so_far = self._serving, [reply]
            async with aclosing(replies):
                try:
                    yield reply
                    async for reply in replies:
                        so_far.append(reply)
                        yield reply
                    return
                except BackendError as error:
                    endpoint.note_failure(error, at_work=True)
            left = rest(left, *so_far)

    async def save(self, prompt: Prompt) -> int:
        """See `Model`; on the server in use, if there is one."""
        return await self._serving.save(prompt)

    async def restore(self, prompt: Prompt) -> int:
        """See `Model`."""
        await self.connect()
        return await self._serving.ask(lambda model: model.restore(prompt))

    async def aclose(self) -> None:
        """Close all of them."""
        for endpoint in self._endpoints:
            await endpoint.aclose()

    # -- calls ----------------------------------------------------------------------------------

    async def _decode(self, prompt: Prompt, call: Callable[[Model], Awaitable[T]]) -> T:
        """
        Return the result of *call*, which decodes *prompt*; the endpoint that can is in use then.
        """

        async def decode(model: Model) -> T:
            if self._decoded not in (None, model):
                await _catch_up(model, prompt)
            self._decoded = model
            return await call(model)

        endpoint, result = await self._call(decode)
        endpoint.note_success()
        before, self._serving = self._serving, endpoint
        if before is not endpoint:
            log.info("endpoint.used url=%s", endpoint.backend.state.url)
            if before.last:
                before.close()
        return result

    async def _call(self, call: Callable[[Model], Awaitable[T]]) -> tuple[Endpoint, T]:
        """
        Return the first endpoint that can do it, and the result; raises what the best one raised.
        """
        candidates = [one for one in self._endpoints if one.is_unusable or not one.is_resting]
        for n, endpoint in enumerate(candidates, 1):
            if await self._is_connected(endpoint, candidates[n:]):
                try:
                    result = await endpoint.ask(call)
                except (PromptTooLong, Cold):
                    raise
                except BackendError as error:
                    endpoint.note_failure(error, at_work=True)
                else:
                    if not self._serving.is_ready:
                        self._serving = endpoint
                    return endpoint, result
            if endpoint.is_unusable:
                break
        raise self._failure()

    async def _is_connected(self, endpoint: Endpoint, others: Sequence[Endpoint]) -> bool:
        """
        Return whether *endpoint* is ready, connected if that is worth waiting for beside *others*.
        """
        if endpoint.is_ready:
            return True
        is_loading = any(isinstance(other.error, Loading) for other in self._endpoints)
        if endpoint.is_resting or (endpoint.last and is_loading):
            return False
        attempt = endpoint.connect()
        failed_before = endpoint.error and not endpoint.is_unusable
        if failed_before and any(other.is_ready for other in others):
            return False
        limit_s = min(CONNECT_S, CONNECT_ALL_S / len(self._endpoints))
        left_s = max(0.0, endpoint.began + limit_s - time.monotonic()) if others else None
        await asyncio.wait({attempt}, timeout=left_s)
        return endpoint.is_ready

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
        Return why a better one, that the user should know of, is not in use, and the cause of that;
        else of what is in doubt of the one in use, which failed at work.
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


def _interest(endpoint: Endpoint) -> tuple[bool, ...]:
    """
    Return a rank of failures, the smallest is reported: what the user has to change, of a server
    that loads, that the user named, that is ours.
    """
    is_loading, is_last = isinstance(endpoint.error, Loading), endpoint.last
    return not endpoint.is_unusable, not is_loading, is_last or not endpoint.named, not is_last


async def _catch_up(model: Model, prompt: Prompt) -> None:
    """
    Warm *prompt* on a server it is new to. Raises Cold where that takes too long for a completion.
    """
    end = time.monotonic() + COLD_S
    while (await model.warm(prompt, round(model.state.prefill_per_s * STEP_S))).left:
        if time.monotonic() > end:
            raise Cold(f"{model.state.url} is still evaluating the prompt")


class Cold(BackendTimeout):
    """The server is healthy, but holds nothing of this prompt: warm it in steps."""

"""
One of several servers: its backend, its health, and the attempt to connect to it that is under way.

An attempt belongs to no call: a call waits for it as long as that is worth, and it goes on. Every
failure is noted here, whichever call or attempt it came from.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from server_bridge.failover.breaker import Breaker
from server_bridge.http.responses import ServerError
from server_bridge.http.shapes import UnexpectedAnswer
from server_bridge.protocol import (
    Backend,
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Model,
    Prompt,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
# A server with such a failure may connect again at once, and fail again.
AT_WORK = (BackendRejected, BackendTimeout, BackendUnusable, ServerError, UnexpectedAnswer)


class Turn(enum.Enum):
    """The turn of an endpoint in a call."""

    FIRST = "first"
    LATER = "later"  # where healthy ones cannot serve it
    NEVER = "never"  # it is left alone for a while


@dataclass(slots=True, eq=False)
class Endpoint:
    """
    One server. *languages* are those it is for, none for all. *named*: the user asked for it, and
    should see what is wrong; *strict*: and wants no other then, if the user has to change something.
    *last*: not worth starting while another one loads. *error* is why it failed last, None while it
    is well; *is_overdue*: a call has waited for the attempt under way for long enough.
    """

    backend: Backend
    languages: tuple[str, ...] = ()
    named: bool = True
    strict: bool = False
    last: bool = False
    breaker: Breaker = field(init=False)
    error: BackendError | None = None
    is_overdue: bool = False
    _attempt: asyncio.Task[None] | None = None
    _model: Model | None = None

    def __post_init__(self) -> None:
        state = self.backend.state
        self.breaker = Breaker(f"{os.getpid()} {state.kind} {state.url}", self.named)

    @property
    def is_ready(self) -> bool:
        """Return whether it is connected."""
        return self.backend.state.health is Health.READY

    def turn(self, now: float, *, trials: bool) -> Turn:
        """Return the turn of this endpoint in a call; *trials*: one that can end a trial."""
        is_half_open = self.breaker.is_half_open(now)
        on_trial = self.breaker.is_on_trial
        if self.breaker.is_closed or (on_trial and trials) or (is_half_open and self.strict):
            return Turn.FIRST
        return Turn.LATER if on_trial or is_half_open else Turn.NEVER

    @property
    def should_report_failure(self) -> bool:
        """Return whether the user should hear that it is not in use: also of a model server found to be faulty."""
        is_faulty = self.breaker.failed_at_work or isinstance(self.error, UnexpectedAnswer)
        return not self.breaker.is_closed and (self.named or is_faulty)

    @property
    def attempt(self) -> asyncio.Task[None] | None:
        """The attempt to connect that is under way."""
        return self._attempt if self._attempt is not None and not self._attempt.done() else None

    def connect(self) -> asyncio.Task[None]:
        """Return the attempt under way, or a new one. It never fails: `is_ready` and `error` tell."""
        if (attempt := self.attempt) is None:
            name = f"connect {self.backend.state.url}"
            attempt = self._attempt = asyncio.create_task(self._connect(), name=name)
        return attempt

    async def ask(self, call: Callable[[Model], Awaitable[T]]) -> T:
        """Connect where that is needed, and return what *call* gives on the model. Raises BackendError only."""

        async def connect_and_call() -> T:
            self._model = await self.backend.connect()
            return await call(self._model)

        return await self._check(connect_and_call())

    async def save(self, prompt: Prompt) -> int:
        """See `Model`; a server that has ended is not started for it."""
        model = self._model if self.is_ready else None
        return await self._check(model.save(prompt)) if model else 0

    async def note_failure(self, error: BackendError, *, at_work: bool) -> None:
        """
        Note a failure, *at_work* or while connecting.

        A connection that is still open is closed: the server has to prove its identity again.
        """
        now = time.monotonic()
        log.info("endpoint.failed url=%s reason=%s", self.backend.state.url, error)
        if at_work and isinstance(error, BackendTimeout):
            self.breaker.slow(now)
        else:
            wrong = isinstance(error, BackendUnusable)
            least_s = error.retry_after_s if isinstance(error, ServerError) else 0.0
            at_work = at_work and isinstance(error, AT_WORK)
            self.breaker.fail(now, wrong=wrong, at_work=at_work, least_s=least_s)
        self.error = error
        if self.is_ready:
            await self.backend.aclose()

    def note_success(self) -> None:
        """Note a completion."""
        self.breaker.succeed()
        self.error = None

    async def aclose(self) -> None:
        """Give up connecting, and close the backend."""
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            attempt.cancel()
            await asyncio.gather(attempt, return_exceptions=True)
        await self.backend.aclose()

    async def _connect(self) -> None:
        try:
            await self.ask(stay)
        except BackendError as error:
            await self.note_failure(error, at_work=False)
        else:
            log.info("endpoint.connected url=%s", self.backend.state.url)
            self.breaker.note_connection()
            if self.breaker.is_closed:
                self.error = None
        finally:
            self.is_overdue = False

    async def _check(self, result: Awaitable[T]) -> T:
        """Raise any failure as a BackendError: a bug of ours with one server must not stop the others."""
        try:
            return await result
        except BackendError:
            raise
        except Exception as error:
            log.exception("unexpected failure")
            url = self.backend.state.url
            raise BackendUnavailable(f"{url} cannot be used ({type(error).__name__})") from error


async def stay(model: Model) -> None:
    """Ask nothing: connecting is all."""

"""
One of several servers: its backend, its failures, the attempt to connect that is under way.

A server that failed rests, twice as long after each failure, and is tried again after that. An
attempt to connect belongs to no call: a call waits for it as long as that is worth, and it goes
on. No call waits for one that is closed; it is connected again only after that.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from server_bridge.http.responses import Loading, ServerError, UnexpectedAnswer
from server_bridge.protocol import (
    Backend,
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Model,
    State,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
# The rest after a failure: a server that restarts is back in a moment, and in use again within 5 s.
FIRST_S = 0.25
LONGEST_S = 4.0
# A server that connects again at once may fail in the same way again.
AT_WORK = (BackendRejected, BackendTimeout, BackendUnusable, ServerError, UnexpectedAnswer)


class Server(Backend, Protocol):
    """A backend that is one server."""

    async def disconnect(self) -> None:
        """Close connections, so that it proves itself again; a process of ours goes on."""


@dataclass(slots=True, eq=False)
class Endpoint:
    """
    One server.

    *named*: the user asked for it, and should see what is wrong; *strict*: and wants no other then,
    if the user has to change something. *last*: not worth starting while another one loads. *error*
    is why it failed last, None once it has completed something; *is_faulty*: it is there, and
    failed at work.
    """

    backend: Server
    named: bool = True
    strict: bool = False
    last: bool = False
    error: BackendError | None = None
    is_faulty: bool = False
    began: float = 0.0  # of the attempt to connect, in seconds of the monotonic clock
    rests_until: float = 0.0  # after a failure, by the same clock
    _n_failures: int = 0
    _attempt: asyncio.Task[None] | None = None
    _closing: asyncio.Task[None] | None = None

    @property
    def state(self) -> State:
        """That of the backend; not known of one that was ready and is being closed."""
        is_closing = self._closing and not self._closing.done()
        state = self.backend.state
        return replace(state, health=Health.UNKNOWN) if is_closing and state.is_ready else state

    @property
    def is_ready(self) -> bool:
        """Return whether it is connected."""
        return self.state.is_ready

    @property
    def cause(self) -> str:
        """Return the kind of its trouble and which server has it, the same in all words; or ""."""
        kind = self.error.cause if self.error else ""
        return kind and f"{self.backend.state.url} {kind}"

    @property
    def is_unusable(self) -> bool:
        """Return whether the user has to change something, and wants no other server meanwhile."""
        return self.strict and not self.is_ready and isinstance(self.error, BackendUnusable)

    @property
    def is_loading(self) -> bool:
        """Return whether it is there, and its model was not yet."""
        return isinstance(self.error, Loading)

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
            return await call(await self.backend.connect())
        except BackendError:
            raise
        except Exception as error:
            log.exception("unexpected failure")
            url = self.backend.state.url
            raise BackendUnavailable(f"fim-lsp failed with {url}: its log has more") from error

    def note_failure(self, error: BackendError, *, at_work: bool) -> None:
        """
        Note a failure, *at_work* or while connecting.

        A connection that is still open is closed: the server has to prove its identity again; a
        process of ours goes on. Clients that were told at the same time to wait come back one after
        the other.
        """
        log.info("endpoint.failed url=%s reason=%s", self.backend.state.url, error)
        spread = time.monotonic_ns() % 1000 / 2000  # another one for each client
        rest_s = min(LONGEST_S, FIRST_S * 2.0 ** min(self._n_failures, 16)) * (1 - spread)
        if isinstance(error, ServerError):
            rest_s = max(rest_s, error.retry_after_s * (1 + spread))
        self.rests_until = time.monotonic() + rest_s
        self._n_failures += 1
        self.is_faulty |= isinstance(error, AT_WORK if at_work else UnexpectedAnswer)
        self.error = error
        self.close(ends=False)

    def close(self, *, ends: bool) -> None:
        """Close the connection, if there is one; *ends*: and end a process of ours."""
        if self.is_ready:
            close = self.backend.aclose if ends else self.backend.disconnect
            self._closing = asyncio.create_task(self._close(close), name="close endpoint")

    def note_success(self) -> None:
        """Note a completion."""
        self.error = None
        self.is_faulty = False
        self._n_failures = 0

    async def aclose(self) -> None:
        """Give up connecting, and close the backend."""
        attempt = self._attempt
        self._attempt = None
        if attempt is not None:
            attempt.cancel()
            await asyncio.gather(attempt, return_exceptions=True)
        if self._closing:
            await asyncio.wait({self._closing})
        await self.backend.aclose()

    async def _close(self, close: Callable[[], Awaitable[None]]) -> None:
        try:
            await close()
        except Exception:
            log.exception("%s failed to close", self.backend.state.url)

    async def _connect(self) -> None:
        try:
            await self.ask(stay)
        except BackendError as error:
            self.note_failure(error, at_work=False)
        else:
            self.rests_until = 0.0  # earlier failures are over
            log.info("endpoint.connected url=%s", self.backend.state.url)


async def stay(model: Model) -> None:
    """Ask nothing: connecting is all."""

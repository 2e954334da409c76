"""
The connection to the backend: opens it, reaches it, reports its changes of state, closes it.

Everything works while it is down; connecting is tried again in the background until it succeeds,
and the user is shown a change of state once.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fim_lsp.settings.config import Config
from fim_lsp.tasks import Tasks
from server_bridge.protocol import Backend, BackendError, Health, Model, State

CONNECT_S = 30.0  # how long a request made by hand waits for a backend that is starting
RETRY_S = (0.25, 0.5, 1.0, 2.0)  # waits between attempts; recovery is to take less than 5 s
SLOW_S = 1.0  # a start that takes longer is reported while it lasts; a shorter one would flicker
# without a step: the user has gone elsewhere; a step takes a quarter of a second, a slow one some
LOOK_ENDS_S = 5.0
UNUSABLE_S = 3.0  # the user has to change something first, and then wants to see the effect soon

log = logging.getLogger(__name__)


class SessionStatus(NamedTuple):
    """
    The status that a client shows: the backend's *state*, how many seconds the first look at a
    place still takes, and until when there are no automatic suggestions ("" where they come).
    """

    state: State
    look_s: int = 0
    quiet_until: str = ""


class Connection:
    """
    State: the settings, the backend they name, the task that reaches it, the state last reported.

    *n_connected* is how often it was reached: each time its slots may be empty.
    *look_s* is how many seconds the first look at a place still takes, 0 for none or a short one;
    *on_status* is called when that, or the state, changes, *on_ready* each time it was reached,
    with whether it was away, or is another server than before, and *on_show* before an
    engine of ours is shown something, with its URL and *n_connected*.
    """

    def __init__(
        self,
        config: Config,
        open_backend: Callable[[Config], Backend],
        *,
        on_status: Callable[[], None],
        on_ready: Callable[[bool], None],
        on_show: Callable[[tuple[str, int]], Awaitable[None]],
    ) -> None:
        self._on_status = on_status
        self._on_ready = on_ready
        self._on_show = on_show
        self.look_s = 0
        self.n_connected = 0
        self._look_ends: asyncio.TimerHandle | None = None
        self.config = config
        self._open = open_backend
        self.backend = self._open_backend()
        self._reaching: asyncio.Task[None] | None = None
        self._tasks = Tasks()
        self._reported: tuple[object, ...] = ()

    @property
    def state(self) -> State:
        """The last that is known of the backend."""
        return self.backend.state

    @property
    def is_ready(self) -> bool:
        """Return whether the model can be asked without waiting for its server."""
        return self.state.is_ready

    @property
    def is_starting(self) -> bool:
        """Return whether the backend may be ready soon; the user sees it load."""
        return self.state.health in (Health.UNKNOWN, Health.LOADING)

    @property
    def may_start(self) -> bool:
        """
        Return whether it is worth asking again: it starts, or is an engine of ours that did not
        start, or ended, and is started again at once.
        """
        has_ended = self.state.kind == "embedded" and self.state.health is Health.DOWN
        return self.is_starting or has_ended

    def note_change(self) -> None:
        """Show what the backend is now; reach it again where it has ended."""
        self.start_connecting()
        self.report_state()

    def start_connecting(self) -> None:
        """Begin to reach the backend, unless it is ready or that is under way."""
        is_due = self._reaching is None or self._reaching.done()
        if is_due and not self.is_ready:
            self._reaching = self._tasks.start(self._reach(self.backend), "reach")

    async def wait_ready(self, seconds: float = CONNECT_S) -> State:
        """Return the state as soon as the backend is ready or unusable, or *seconds* from now."""
        self.start_connecting()
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        while not (self.is_ready or self.state.health is Health.UNUSABLE) and clock() < deadline:
            if self._reaching is None or self._reaching.done():
                break
            await asyncio.wait({self._reaching}, timeout=0.05)
        return self.state

    async def connect(self) -> Model:
        """Return the model, connected where that is needed, to be shown a prompt."""
        model = await self.backend.connect()
        state = model.state
        if state.kind == "embedded":
            await self._on_show((state.url, self.n_connected))
        return model

    def configure(self, config: Config) -> None:
        """Go on with *config*, and with another backend if it names another."""
        old = self.config
        self.config = config
        if config.backend != old.backend:
            self.reopen()

    def reopen(self) -> None:
        """Close the backend and open the one that the settings name now."""
        old = self.backend
        self.backend = self._open_backend()
        self._stop_reaching()
        self.start_connecting()
        self._tasks.start(old.aclose(), "close backend")

    def forget(self) -> None:
        """
        End the embedded engine, and with it all that it holds of earlier prompts; another one is
        started.

        Erasing its slots would not do: llama.cpp keeps copies of what was in them.
        """
        if self.state.kind == "embedded":
            self.reopen()

    def report_state(self, *, again: bool = False) -> None:
        """
        Pass on a change, once: of the server, its health and model, and of whether all is as it
        should be. Recovery counts only after a completion succeeded. *again*: in any case.
        """
        state = self.state
        is_trouble = state.health in (Health.DOWN, Health.READY, Health.BUSY) and bool(state.cause)
        reported = (state.url, is_trouble or state.health, bool(state.message), state.model)
        if (again or reported != self._reported) and state.health is not Health.UNKNOWN:
            self._reported = reported
            log.info(
                "backend %s: %s %s", state.kind, state.health.value, state.message or state.url
            )
            self._on_status()

    def note_first_look(self, left: int) -> None:
        """
        Note that a first look lacks *left* tokens, 0 for none; without more of this it has
        ended.
        """
        seconds = left / max(1.0, self.state.prefill_per_s)
        look_s = math.ceil(seconds) if seconds > SLOW_S else 0
        if self._look_ends is not None:
            self._look_ends.cancel()
        if look_s:
            loop = asyncio.get_running_loop()
            self._look_ends = loop.call_later(LOOK_ENDS_S, self.note_first_look, 0)
        if look_s != self.look_s:
            self.look_s = look_s
            self._on_status()

    async def aclose(self) -> None:
        """Give up reaching and let the backend go; a request may wait for it still."""
        self.note_first_look(0)
        self._stop_reaching()
        await self._tasks.aclose(None)
        await self.backend.aclose()

    def _open_backend(self) -> Backend:
        """Return the backend that the settings name, which says here what becomes of it."""
        backend = self._open(self.config)
        backend.on_change = lambda: self.note_change() if backend is self.backend else None
        return backend

    def _stop_reaching(self) -> None:
        if self._reaching is not None:
            self._reaching.cancel()
            self._reaching = None

    async def _reach(self, backend: Backend) -> None:
        waits = itertools.chain(RETRY_S, itertools.repeat(RETRY_S[-1]))
        me = asyncio.current_task()
        model = backend.state.model
        was_away = False
        while self._reaching is me:  # before Python 3.12 `wait_for` may swallow a cancellation
            slow = asyncio.get_running_loop().call_later(SLOW_S, self.report_state)
            try:
                await backend.connect()
            except BackendError as error:
                log.info("backend not reached: %s", error)
            except Exception:  # a request that waits for the backend waits for this task
                log.exception("backend not reached")
            finally:
                slow.cancel()
            self.report_state()
            if backend.state.is_ready:
                self.n_connected += 1
                self._on_ready(was_away or backend.state.model != model)
                return
            was_away = True
            unusable = backend.state.health is Health.UNUSABLE
            await asyncio.sleep(UNUSABLE_S if unusable else next(waits))

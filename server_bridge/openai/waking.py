"""
Waits for a server that loads its model at the first request: Ollama, llama-swap, LM Studio.

Such a server gives no byte meanwhile, and Ollama gives up loading when the client hangs up. So a
server of which nothing was heard for a while, and that gives no answer, is asked for one token by
a request of our own: it holds nothing of the user's, no key cancels it, and it may take minutes.
Meanwhile every other request fails at once as `Loading`.

A connection may also be dead, so the request stays, and another is sent beside it: see `beside`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from server_bridge.http.client import Http
from server_bridge.http.responses import Loading, Object
from server_bridge.openai.beside import ask_further, end_tasks, first_to_write
from server_bridge.patience import LOAD_S
from server_bridge.protocol import BackendError, BackendRejected, BackendTimeout

# For the first event of a server that may sleep: our steps take a quarter of a second.
FIRST_S = 1.5
HEARD_S = 60.0  # a server that answered so lately is awake; Ollama's models sleep after 5 minutes

log = logging.getLogger(__name__)


class Waking:
    """
    Watches whether the server at *http* answers; *path* and *body* are the request that wakes its
    model.

    State: when the server was last heard, the request under way, and why the last one failed.
    """

    def __init__(self, http: Http, path: str, body: Object) -> None:
        self._http = http
        self._path = path
        self._body = json.dumps(body).encode()
        self._heard = -math.inf
        self._began = 0.0
        self._task: asyncio.Task[None] | None = None
        self._error: BackendError | None = None

    @property
    def message(self) -> str:
        """The reason to wait for the server, "" while it is awake as far as is known."""
        if self._task is None or self._task.done():
            return ""
        seconds = time.monotonic() - self._began
        return (
            f"{self._http.url} gives no answer yet: it may be loading its model "
            f"({seconds:.0f} s so far)"
        )

    def check(self) -> None:
        """Raise Loading while the server is waited for."""
        if self.message:
            raise Loading(self.message)

    def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """
        Yield the events of a request, or of one beside it. Raises Loading where the server has to
        be woken.
        """
        events = self._watch(self._http.stream(path, body))
        return first_to_write(events, self._http, path, body)

    async def _watch(self, events: AsyncGenerator[Object, None]) -> AsyncGenerator[Object, None]:
        self.check()
        patience_s = self._http.patience_s
        silent_s = time.monotonic() - self._heard
        try:
            async with asyncio.timeout(min(FIRST_S, patience_s) if silent_s > HEARD_S else None):
                # a request that waits its turn, and says so, is at a model that is loaded
                event = await anext(events, None)
        except (TimeoutError, BackendTimeout):
            self._begin()
            raise Loading(self.message) from None
        async with aclosing(events):
            while event is not None:
                self._heard = time.monotonic()
                yield event
                event = await anext(events, None)

    async def wait(self) -> bool:
        """
        Return whether it had to be waited for, as soon as the server is awake. Raises what the
        request that wakes it failed of.
        """
        if self._task is None:
            return False
        await asyncio.wait({self._task})
        self._task = None
        if self._error is not None:
            raise self._error.with_traceback(None)
        return True

    async def aclose(self) -> None:
        """Give it up."""
        task = self._task
        self._task = None
        if task is not None:
            await end_tasks(task)

    def _begin(self) -> None:
        self._began = time.monotonic()
        self._task = asyncio.create_task(self._wake(), name=f"wake {self._http.url}")
        log.info("openai.asleep url=%s", self._http.url)

    async def _wake(self) -> None:
        """Ask until there is an answer; what failed is noted."""
        self._error = None
        try:
            async with asyncio.timeout(LOAD_S):
                await self._ask_again()
        except TimeoutError:
            self._error = BackendTimeout(f"{self._http.url} gave no answer in {LOAD_S:.0f} s")
            return
        except BackendError as error:
            self._error = error
            return
        self._heard = time.monotonic()
        log.info("openai.awake url=%s after=%.1f", self._http.url, self._heard - self._began)

    async def _ask_again(self) -> None:
        """Return after the first answer. Raises what the first request failed of."""
        first = asyncio.create_task(self._ask(), name="wake first")
        is_heard = self._began - self._heard <= HEARD_S
        asking = ask_further(self._ask, self._http.url, soon=is_heard)
        further = asyncio.create_task(asking, name="wake again")
        try:
            await asyncio.wait({first, further}, return_when=asyncio.FIRST_COMPLETED)
            if first.done():
                first.result()
        finally:
            await end_tasks(first, further)

    async def _ask(self) -> None:
        """Ask on a connection of its own; return after the first event, or a refusal."""
        http = self._http.another()
        http.patience_s = LOAD_S
        try:
            async with aclosing(http.stream(self._path, self._body)) as events:
                await anext(events, None)
        except BackendRejected as error:  # it refuses, so it is awake
            log.info("openai.awake url=%s reason=%s", self._http.url, error)
        finally:
            await http.aclose()

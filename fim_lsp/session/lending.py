"""
Lends the engine inside to `fim-lsp complete`, so that it need not load the model a second time.

What is lent are calls of the `Model`, not the engine's own address. So a call of another program is a step in the
scheduler: it waits for every request of the editor, and a request waits for one such step at most. The bridge knows what
it leaves in the slots; and no two clients name one slot, which llama.cpp's builds since June 2026 do not survive
(docs/scaling.md, "Slots of a shared server").

State: the port, and which model is lent there; nothing while another server is in use.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

import msgspec

from fim_lsp.session.connection import Connection
from fim_lsp.session.generation import step_tokens
from fim_lsp.session.scheduler import Scheduler, end_tasks
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendUnavailable,
    Health,
    Measure,
    PromptTooLong,
    Reply,
    Request,
    State,
    Warmed,
)

MOST = 8  # tokens that are decoded in a step, however many are asked for

log = logging.getLogger(__name__)


class Port(Protocol):
    """A port that is open."""

    async def aclose(self) -> None: ...  # noqa: D102


Answer = Callable[[str, bytes], Awaitable[bytes]]  # the name of a call and its request, as JSON
OpenPort = Callable[[Answer, str], Awaitable[Port]]  # for answers of the model with this path


class Lending:
    """See the module. Without *open_port* nothing is lent."""

    def __init__(
        self, connection: Connection, scheduler: Scheduler, open_port: OpenPort | None
    ) -> None:
        self._connection = connection
        self._scheduler = scheduler
        self._open_port = open_port
        self._model = ""
        self._port: Port | None = None
        self._turn = asyncio.Lock()
        self._changes: set[asyncio.Task[None]] = set()
        self._steps: set[asyncio.Task[Measure | Warmed | Reply]] = set()

    def follow(self, state: State) -> None:
        """Take in which server is in use now."""
        model = lent_model(state)
        if self._open_port is not None and model != self._model:
            self._model = model
            task = asyncio.create_task(self._change(self._open_port, model), name="lend engine")
            self._changes.add(task)
            task.add_done_callback(self._changes.discard)

    async def answer(self, call: str, asked: bytes) -> bytes:
        """Return the result of a *call* and the state of the engine, or what is wrong; as JSON."""
        try:
            result = None
            if call != "state":
                request = msgspec.json.decode(asked, type=Request)
                result = await self._lend(call, request)
            self._check()
        except PromptTooLong as error:
            return msgspec.json.encode({"too_long": [error.n_prompt, error.n_ctx]})
        except (BackendError, msgspec.MsgspecError) as error:
            return msgspec.json.encode({"error": str(error)})
        return msgspec.json.encode({"state": self._connection.state, "result": result})

    async def aclose(self) -> None:
        """Lend nothing more."""
        self._open_port = None
        for task in self._changes:
            task.cancel()
        await asyncio.gather(*self._changes, return_exceptions=True)
        await self._close()
        await end_tasks(self._steps)

    async def _lend(self, call: str, request: Request) -> Measure | Warmed | Reply:
        """Return the result of a call. A step that has begun is done also for a client that hangs up: see the scheduler."""
        begun = False

        async def step() -> Measure | Warmed | Reply:
            nonlocal begun
            begun = True
            return await self._call(call, request)

        work = asyncio.create_task(self._scheduler.lend(step), name=f"lend {call}")
        self._steps.add(work)
        work.add_done_callback(self._steps.discard)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if not begun:
                work.cancel()
            raise

    async def _call(self, call: str, request: Request) -> Measure | Warmed | Reply:
        self._check()
        model = await self._connection.model()
        prompt, n = replace(request.prompt, apart=True), request.n_predict
        match call:
            case "measure":
                return await model.measure(prompt)
            case "warm":
                return await model.warm(prompt, max(1, min(n, step_tokens(self._connection.state))))
            case "complete":
                return await model.complete(
                    replace(request, prompt=prompt, n_predict=max(0, min(n, MOST)))
                )
        raise BackendRejected("there is no such call")

    def _check(self) -> None:
        """Raise BackendUnavailable where another server is in use than the one that was announced."""
        if not self._model or lent_model(self._connection.state) != self._model:
            raise BackendUnavailable("the editor has no such engine now")

    async def _change(self, open_port: OpenPort, model: str) -> None:
        async with self._turn:
            await self._close()
            if model and model == self._model:
                try:
                    self._port = await open_port(self.answer, model)
                except OSError as error:
                    log.info("the engine cannot be lent: %s", error)

    async def _close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            await port.aclose()


def lent_model(state: State) -> str:
    """Return the path of the model that can be lent: of an engine of our own, while it is ready; "" for none."""
    is_ours = state.kind == "embedded" and state.health is Health.READY
    return state.model_path if is_ours else ""

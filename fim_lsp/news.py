"""
Changes of the backend's state into what the user sees: progress while it loads, one sentence when not.

It is told once; the same trouble is not told again before the backend was ready in between. That it
is ready is no news: suggestions come.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging

from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from fim_lsp import convert
from fim_lsp.lsp import types
from fim_lsp.rpc import LanguageServer
from server_bridge.protocol import Health, State

log = logging.getLogger(__name__)


class News:
    """State: the trouble told last and, while the backend loads, what ends the progress."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._trouble = ""
        self._loaded: asyncio.Event | None = None
        self._numbers = itertools.count(1)

    def tell(self, state: State, *, notify: bool) -> None:
        """Show what is new; *notify* is whether the editor wants `didChangeStatus`."""
        if notify:
            self._server.protocol.notify("didChangeStatus", convert.status(state))
        if state.health is Health.LOADING:
            self._load(f"Loading {state.model or 'the model'}")
        else:
            self.close()
        if state.health is Health.READY and not state.message:
            self._trouble = ""
        elif state.health is Health.UNUSABLE:
            self._show(types.MessageType.Warning, state.message)
        elif state.health in (
            Health.DOWN,
            Health.READY,
        ):  # ready, but not the one that was asked for
            self._show(types.MessageType.Info, state.message)

    def close(self) -> None:
        """End the progress on screen, if any."""
        if self._loaded:
            self._loaded.set()
            self._loaded = None

    def say(self, kind: types.MessageType, message: str) -> None:
        """Show the user one calm sentence."""
        log.log(logging.WARNING if kind == types.MessageType.Warning else logging.INFO, message)
        self._server.window_show_message(types.ShowMessageParams(kind, message))

    def _show(self, kind: types.MessageType, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            self._trouble = trouble
            self.say(kind, trouble)

    def _load(self, title: str) -> None:
        able = get_capability(self._server.client_capabilities, "window.work_done_progress")
        if able and self._loaded is None:
            self._loaded = asyncio.Event()
            self._server.later(self._progress(title, self._loaded))

    async def _progress(self, title: str, loaded: asyncio.Event) -> None:
        """Show *title* until *loaded*."""
        token, progress = f"fim-lsp-{next(self._numbers)}", self._server.work_done_progress
        with contextlib.suppress(JsonRpcException):  # it cannot after all
            await progress.create_async(token)
            if not loaded.is_set():
                progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=False))
                await loaded.wait()
                progress.end(token, types.WorkDoneProgressEnd())

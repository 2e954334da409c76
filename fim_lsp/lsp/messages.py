"""
What goes on behind the scenes into what the user sees: progress of long work, one sentence of trouble.

It is told once; the same trouble is not told again before the backend was ready in between. That it
is ready is no news: suggestions come.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from fim_lsp import convert
from fim_lsp.lsp import types
from fim_lsp.rpc import LanguageServer
from server_bridge.protocol import Health, State

log = logging.getLogger(__name__)


MODEL = "model"  # the long work that is not a workspace's index
LONG_S = 1.0  # an index that is done by then is not worth a word
Report = types.WorkDoneProgressReport


class Work(NamedTuple):
    """Long work on screen; a report of None ends it."""

    token: str
    reports: asyncio.Queue[Report | None]


class News:
    """State: the trouble told last, what is in progress on screen, and when each index began."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._trouble = ""
        self._works: dict[str, Work] = {}
        self._began: dict[str, float] = {}
        self._numbers = itertools.count(1)

    def tell(self, state: State, *, notify: bool) -> None:
        """Show what is new; *notify* is whether the editor wants `didChangeStatus`."""
        if notify:
            self._server.protocol.notify("didChangeStatus", convert.status(state))
        if state.health is Health.LOADING:
            self._begin(MODEL, f"Loading {state.model or 'the model'}")
        else:
            self._end(MODEL)
        if state.health is Health.READY and not state.message:
            self._trouble = ""
        elif state.health is Health.UNUSABLE:
            self._show(types.MessageType.Warning, state.message)
        elif state.health in (
            Health.DOWN,
            Health.READY,
        ):  # ready, but not the one that was asked for
            self._show(types.MessageType.Info, state.message)

    def index(self, root: str, n_done: int, n_files: int) -> None:
        """Show how far the index of a workspace is, if that takes longer than a moment."""
        if n_done >= n_files:
            self._began.pop(root, None)
            self._end(root)
            return
        now = asyncio.get_running_loop().time()
        if now - self._began.setdefault(root, now) > LONG_S:
            self._begin(root, "Indexing names for suggestions")
        if root in self._works:
            percentage = 100 * n_done // n_files
            self._works[root].reports.put_nowait(Report(percentage=percentage))

    @contextlib.contextmanager
    def writing(self) -> Iterator[Callable[[str], bool]]:
        """
        Show that a long text is being written.

        Gives a function that is told the text so far and says whether to go on.
        """
        name = f"writing {next(self._numbers)}"
        self._begin(name, "Writing on", cancellable=True)
        work = self._works.get(name)

        def hear(text: str) -> bool:
            if work is not None:
                work.reports.put_nowait(Report(message=f"{text.count(chr(10))} lines"))
            return work is None or not self._is_cancelled(work)

        try:
            yield hear
        finally:
            self._end(name)

    def close(self) -> None:
        """End all progress on screen."""
        for name in [*self._works]:
            self._end(name)

    def say(self, kind: types.MessageType, message: str) -> None:
        """Show the user one calm sentence."""
        log.log(logging.WARNING if kind == types.MessageType.Warning else logging.INFO, message)
        self._server.window_show_message(types.ShowMessageParams(kind, message))

    def _show(self, kind: types.MessageType, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            self._trouble = trouble
            self.say(kind, trouble)

    def _begin(self, name: str, title: str, *, cancellable: bool = False) -> None:
        able = get_capability(self._server.client_capabilities, "window.work_done_progress")
        if able and name not in self._works:
            self._works[name] = work = Work(f"fim-lsp-{next(self._numbers)}", asyncio.Queue())
            begin = types.WorkDoneProgressBegin(title, cancellable=cancellable)
            self._server.later(self._progress(name, begin, work))

    def _end(self, name: str) -> None:
        if name in self._works:
            self._works.pop(name).reports.put_nowait(None)

    def _is_cancelled(self, work: Work) -> bool:
        future = self._server.work_done_progress.tokens.get(work.token)
        return future is not None and future.cancelled()

    async def _progress(self, name: str, begin: types.WorkDoneProgressBegin, work: Work) -> None:
        """Show a work, and how far it is, until it ends."""
        progress = self._server.work_done_progress
        with contextlib.suppress(JsonRpcException):  # it cannot after all
            await progress.create_async(work.token)
            if self._works.get(name) is not work:
                return  # over already
            progress.begin(work.token, begin)
            while (report := await work.reports.get()) is not None:
                progress.report(work.token, report)
            progress.end(work.token, types.WorkDoneProgressEnd())

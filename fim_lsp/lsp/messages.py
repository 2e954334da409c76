"""
Messages to the user: progress of long work, and one sentence where something is wrong.

Trouble with the backend is shown once per cause and ten minutes: a server that is slow, or comes
and goes, would be told of all day. A server that is ready is not announced: suggestions come. All
text is made fit to be shown: much of it comes from settings of a repository or from a server.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fim_lsp.display import sanitize
from fim_lsp.lsp import convert
from fim_lsp.lsp.rpc import PER_S, JsonRpcException, LanguageServer, types
from server_bridge.protocol import Health, State

if TYPE_CHECKING:
    from fim_lsp.session.connection import SessionStatus

MODEL = "model"  # that it loads, as long work has names
SAME_S = 600.0  # the same trouble with a server is shown again after so long
AGAIN_S = 30.0  # the same problem is shown again to a user who asks again after so long
PROBLEM_CHARS = 200
MOST_PROBLEMS = 5  # in one message; the rest is in the log
Report = types.WorkDoneProgressReport

log = logging.getLogger(__name__)


class WorkDone(NamedTuple):
    """
    The progress of long work, as LSP calls it; a report of None ends it. *is_ours*: the server made
    its *progress_token*.
    """

    progress_token: int | str
    reports: asyncio.Queue[Report | None]
    is_ours: bool = True


class Messages:
    """
    State: when which trouble may be shown again, the model that answered last, what is in progress.
    """

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._again: dict[str, float] = {}
        self._explained = ("", 0.0)
        self._answering: State | None = None
        self._told: set[str] = set()  # of problems
        self._in_progress: dict[str, WorkDone] = {}
        self._numbers = itertools.count(1)

    def show(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show the user one calm sentence."""
        self._show(sanitize(message, convert.MESSAGE_CHARS), kind)

    def _show(self, message: str, kind: types.MessageType) -> None:
        log.log(logging.WARNING if kind == types.MessageType.Warning else logging.INFO, message)
        self._server.window_show_message(types.ShowMessageParams(kind, message))

    def show_problems(self, problems: Sequence[str]) -> None:
        """
        Show what is wrong with the settings, each problem once: the first few, and how many more
        the log has.
        """
        problems = [problem for problem in problems if problem not in self._told]
        if not problems:
            return
        self._told.update(problems)
        for problem in problems[MOST_PROBLEMS:]:
            log.warning(problem)
        parts = [sanitize(problem, PROBLEM_CHARS) for problem in problems[:MOST_PROBLEMS]]
        if n_more := len(problems) - len(parts):
            parts.append(f"{n_more} more in the log")
        self._show("fim-lsp: " + "; ".join(parts), types.MessageType.Warning)

    def show_status(self, status: SessionStatus, *, notify: bool) -> None:
        """Show what changed; *notify* is whether the client wants `didChangeStatus`."""
        state = status.state
        if notify:
            self._server.protocol.notify("didChangeStatus", convert.status(*status))
        if state.health is Health.LOADING:
            ours = state.message if state.kind == "embedded" else ""  # of others, an error in words
            what = ours or f"loading {state.model or 'the model'}"
            self._begin(MODEL, sanitize(what[:1].upper() + what[1:]))
        else:
            self._end(MODEL)
        if state.is_ready and not state.message:
            self._show_fallback(state)
        elif state.health is Health.UNUSABLE:
            self._show_trouble(types.MessageType.Warning, state)
        elif state.health in (Health.DOWN, Health.READY):  # ready, but another than was asked for
            self._show_trouble(types.MessageType.Info, state)

    def explain(self, reason: str, *, again: bool) -> None:
        """Say why a user who asked by hand gets nothing; *again*, too, where that was just said."""
        now = asyncio.get_running_loop().time()
        last, when = self._explained
        if not again and reason == last and now < when + AGAIN_S:
            return
        self._explained = reason, now
        self.show(f"No suggestion: {reason}")

    def _show_fallback(self, state: State) -> None:
        """Say that the bundled model answers where another one did before."""
        before = self._answering
        self._answering = state
        if before and state.is_bundled and not before.is_bundled:
            self.show(
                f"{before.model or before.url} does not answer any more;"
                " until it is back, the bundled model answers, a toy for Python."
            )

    @contextlib.contextmanager
    def working(
        self, title: str, progress_token: int | str | None = None
    ) -> Iterator[Callable[[str], bool]]:
        """
        Show a work that the user may cancel, as *progress_token* of the client if it gave one.

        Gives a function, for any thread, that takes in words how far it is, and returns whether to
        go on.
        """
        name = f"work {next(self._numbers)}"
        self._begin(name, title, cancellable=True, progress_token=progress_token)
        loop = asyncio.get_running_loop()
        work = self._in_progress.get(name)
        due = 0.0
        last = ""

        def on_progress(far: str) -> bool:
            nonlocal due, last
            if work is not None and far != last and (now := loop.time()) >= due:
                due = now + 1 / PER_S
                last = far
                loop.call_soon_threadsafe(work.reports.put_nowait, Report(message=far))
            return work is None or not self._is_cancelled(work)

        try:
            yield on_progress
        finally:
            self._end(name)

    @staticmethod
    def count_lines(n_lines: int) -> str:
        """Say how much of a text is written."""
        if not n_lines:
            return "reading the file"
        return "1 line" if n_lines == 1 else f"{n_lines} lines"

    def close(self) -> None:
        """End all progress."""
        for name in [*self._in_progress]:
            self._end(name)

    def _show_trouble(self, kind: types.MessageType, state: State) -> None:
        trouble = state.cause or f"{state.url} {state.message}"
        now = asyncio.get_running_loop().time()
        if state.message and now >= self._again.get(trouble, now):
            self._again[trouble] = now + SAME_S
            self.show(state.message, kind)

    def _begin(
        self,
        name: str,
        title: str,
        *,
        cancellable: bool = False,
        progress_token: int | str | None = None,
    ) -> None:
        able = self._server.offers("window.work_done_progress")
        is_theirs = isinstance(
            progress_token, int | str
        )  # in a command's argument it may be anything
        if (able or is_theirs) and name not in self._in_progress:
            known = (
                progress_token
                if isinstance(progress_token, int | str)
                else f"fim-lsp-{next(self._numbers)}"
            )
            work = self._in_progress[name] = WorkDone(known, asyncio.Queue(), not is_theirs)
            begin = types.WorkDoneProgressBegin(title, cancellable=cancellable)
            self._server.later(self._progress(name, begin, work))

    def _end(self, name: str) -> None:
        if name in self._in_progress:
            self._in_progress.pop(name).reports.put_nowait(None)

    def _is_cancelled(self, work: WorkDone) -> bool:
        future = self._server.work_done_progress.tokens.get(work.progress_token)
        return future is not None and future.cancelled()

    async def _progress(
        self, name: str, begin: types.WorkDoneProgressBegin, work: WorkDone
    ) -> None:
        """Show a work, and how far it is, until it ends."""
        progress = self._server.work_done_progress
        with contextlib.suppress(JsonRpcException):  # the client cannot after all
            if work.is_ours:
                await progress.create_async(work.progress_token)
            if self._in_progress.get(name) is not work:
                return  # over already
            progress.begin(work.progress_token, begin)
            while (report := await work.reports.get()) is not None:
                progress.report(work.progress_token, report)
            progress.end(work.progress_token, types.WorkDoneProgressEnd())
        progress.tokens.pop(work.progress_token, None)  # the client may use its own again

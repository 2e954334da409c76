"""
The session: joins what is open to the model; the one place where deciding and waiting meet.

`handle` takes in what the editor tells and never waits; `complete` answers one request. Its parts own
the state, and all of it is touched on the event loop's thread only: the open documents and what is
remembered of them, the connection to the backend, the scheduler of work for it, the generations.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from fim_lsp import events
from fim_lsp.documents import Document, Edit, Position
from fim_lsp.prompt import compose, report
from fim_lsp.prompt.report import PromptReport
from fim_lsp.session.connection import Connection
from fim_lsp.session.dispatcher import Dispatcher
from fim_lsp.session.document_state import DocumentState
from fim_lsp.session.framing import Framing
from fim_lsp.session.judging import Judging
from fim_lsp.session.long_text import continue_long
from fim_lsp.session.next_edits import NextEdit, NextEdits
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.session.persistence import Persistence
from fim_lsp.session.prefill import Prefill
from fim_lsp.session.scheduler import Scheduler
from fim_lsp.session.stats import Stats
from fim_lsp.settings.config import Config
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.line_match import continued
from fim_lsp.suggest.request import (
    CompletionRequest,
    Selected,
    Suggestion,
    doubted,
    request_at,
    suggestion,
    why_not,
    why_off,
)
from fim_lsp.suggest.typed_through import Displayed, left
from fim_lsp.workspace.workspaces import Progress, Workspaces
from server_bridge.protocol import Backend, BackendError, BackendUnavailable, Health

# A cursor that only moved may still be moving: no prefill for every stop.
PASSING_MS = 250.0
BACKGROUND = ("prefill cursor", "decode ahead", "choose chunks", "prefill next")

log = logging.getLogger(__name__)


class Session:
    """
    See the module. *open_backend* makes a backend from a configuration, without waiting; *cache* is
    a folder of our own for what is saved between sessions.
    """

    def __init__(
        self, config: Config, open_backend: Callable[[Config], Backend], cache: Path | None = None
    ) -> None:
        self.connection = Connection(config, open_backend)
        self.workspaces = Workspaces()
        self.client_ms = 0.0  # what the client waits by itself before it asks
        self._numbers = itertools.count(1)
        self._stats = Stats()
        self._scheduler = Scheduler(BACKGROUND, off_wire=("choose chunks",))
        self._open = OpenDocuments(self.workspaces, self._stats)
        self.next_edits = NextEdits(self._open, self._stats, time.perf_counter)
        self._framing = Framing(self.connection, self._open)
        parts = (self.connection, self._stats, self._framing, self._scheduler, self._open)
        self._dispatcher = Dispatcher(*parts)
        self._prefill = Prefill(*parts)
        self._persistence = Persistence(cache, self.connection, self._open, self._prefill)
        self._judging = Judging(self.connection, self.workspaces, self._open, self._persistence)
        self._forgetting: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Session documents={len(self.documents)} {self.connection.state.health.value}>"

    @property
    def config(self) -> Config:
        """The settings now."""
        return self.connection.config

    @property
    def documents(self) -> Mapping[str, Document]:
        """What is open, by URI."""
        return self._open.documents

    # -- what the editor tells ------------------------------------------------------------------

    def handle(self, event: events.Event) -> None:
        """Take in one event; fast, and never waits."""
        before = self.documents.get(event.uri) if isinstance(event, events.Changed) else None
        to_judge = self._open.handle(event)
        if before is not None and isinstance(event, events.Changed):
            self.next_edits.changed(before, event)
        if to_judge and isinstance(event, events.FilesChanged):
            self._framing.forget()  # the rules may be others
        self._judging.begin(to_judge)
        if isinstance(event, events.Saved) and self.workspaces.changes_rules(event.uri):
            self.rules_changed()
        elif isinstance(event, events.Opened):
            self.connection.reach()
        elif isinstance(event, events.Closed):
            self._persistence.closed(event.uri)

    def configure(self, config: Config) -> None:
        """Go on with *config*; a changed backend section opens a new backend."""
        old = self.config
        self.connection.configure(config)
        if config.privacy != old.privacy:
            self.rules_changed()
        if old.state.save and not config.state.save:
            self._forget()

    def rules_changed(self) -> None:
        """What is private may be another now: everything is judged again before it is used."""
        self.workspaces.rules_changed()
        self._framing.forget()
        self._judging.begin(self._open.reopen())

    def on_index(self, progress: Progress) -> None:
        """Tell *progress* of files that are being indexed."""
        self.workspaces.progress = progress

    def stats(self) -> dict[str, object]:
        """The object of `fim/stats`."""
        for document in self.documents.values():
            self._open.acceptance.judged(document, time.perf_counter())
        self.workspaces.limits = compose.ring_limits(self.config, self.connection.state)
        return self._stats.snapshot(self.connection.state, self.workspaces.stats())

    async def context(self, uri: str) -> PromptReport:
        """What the model is shown at the cursor in *uri*, as far as that is known."""
        doc_state, document = self._open.states.get(uri), self.documents.get(uri)
        if doc_state is None or document is None:
            return PromptReport("nothing, the document is not open")
        await self._judging.wait_judged()
        if reason := self._judging.why_private(uri):
            return PromptReport(f"nothing, the file is private ({reason})")
        prompt, measure = self._framing.next_prompt(doc_state, document), None
        if prompt is None:
            return PromptReport("nothing yet, no suggestion was asked for here")
        if self.connection.state.health is Health.READY:
            with contextlib.suppress(BackendError):
                count = partial(self.connection.backend.measure, prompt)
                measure = await self._scheduler.foreground(count)
        return report.shown(prompt, measure, self._open.workspace(doc_state).memory.ring.chunks)

    async def continue_long(
        self, uri: str, position: Position | None, hear: Callable[[str], bool]
    ) -> tuple[Position, str, str]:
        """
        A long text at *position* (None: where a suggestion was asked for last), and why it ended early.

        See `long_text`; a change of the document ends it as well.
        """
        doc_state, document = self._open.states.get(uri), self.documents.get(uri)
        if doc_state is None or document is None:
            return Position(0, 0), "", "the document is not open"
        await self._judging.wait_judged()
        at = document.clamp(position or doc_state.position or Position(0, 0))
        doc_state.position = at
        if reason := self._judging.why_private(uri):
            return at, "", f"the file is private ({reason})"
        if (state := await self.connection.wait_ready()).health is not Health.READY:
            return at, "", state.message or "there is no model server"

        def unchanged(text: str) -> bool:
            return self.documents.get(uri) is document and hear(text)

        text, note = await continue_long(
            doc_state,
            document,
            unchanged,
            connection=self.connection,
            scheduler=self._scheduler,
            framing=self._framing,
        )
        if self.documents.get(uri) is not document:
            return at, "", "you typed"
        return at, text, note

    async def next_edit(self, uri: str) -> NextEdit | None:
        """What to edit next in the workspace of *uri*, by what was edited last; see docs/next-edit.md."""
        await self._judging.wait_judged()
        return await self.next_edits.proposal(uri) if self.config.next_edit.enabled else None

    async def wait_idle(self) -> None:
        """Until no background work is left; for tests and benchmarks."""
        await self._scheduler.wait_idle()

    async def aclose(self) -> None:
        """End all work and let the backend go."""
        self.workspaces.close()
        try:
            await self._scheduler.aclose()
            await self._dispatcher.aclose()
            await self._persistence.aclose()
        finally:
            await self.connection.aclose()

    # -- what the editor asks -------------------------------------------------------------------

    async def complete(
        self,
        uri: str,
        position: Position,
        *,
        invoked: bool,
        selected: Selected | None = None,
    ) -> list[Suggestion]:
        """The suggestions at *position*; raises nothing but `CancelledError`."""
        started, outcome = time.perf_counter(), "superseded"
        document = self.documents.get(uri)
        try:
            if document is None:
                outcome = "not open"
                return []
            doc_state = self._open.states[uri]
            doc_state.position = document.clamp(position)
            path, state = doc_state.file.path, self.connection.state
            request = request_at(
                document, position, path, self.config, state, invoked=invoked, selected=selected
            )
            outcome, suggestions = await self._answer(request, doc_state)
            edits = ((each.id, Edit(each.start, each.end, each.text)) for each in suggestions)
            self._open.acceptance.offered(document, edits)
            return suggestions
        except BackendError as error:
            outcome = type(error).__name__
            log.warning("no completion: %s", error)
            if isinstance(error, BackendUnavailable):
                self.connection.reach()
            return []
        finally:
            self._stats.answered(outcome, (time.perf_counter() - started) * 1e3)
            self.connection.tell()

    async def _answer(
        self, request: CompletionRequest, doc_state: DocumentState
    ) -> tuple[str, list[Suggestion]]:
        """How the request ends (a word for the statistics) and what it gets."""
        await self._judging.wait_judged()
        uri = request.document.uri
        if reason := self._judging.why_private(uri):
            return f"private: {reason}", []
        self._open.memory(uri).moved(uri, request.position.line)
        if reason := why_off(request):
            return reason, []
        self._prefill.prefill_cursor(doc_state)
        if reason := why_not(request, deleted=doc_state.deleted):
            return reason, []
        if (rest := self._displayed_rest(request, doc_state)) is not None:
            found = suggestion(request, rest, str(next(self._numbers)))
            return "cache", [found] if found else []
        outcome, candidates = await self._candidates(request, doc_state)
        return self._offered(request, doc_state, outcome, candidates)

    def _offered(
        self,
        request: CompletionRequest,
        doc_state: DocumentState,
        outcome: str,
        candidates: list[Candidate],
    ) -> tuple[str, list[Suggestion]]:
        """What is left of *candidates* behind the filters, as suggestions; the first comes first."""
        polished = [polish(c, request.cursor) for c in candidates if not doubted(request, c)]
        for candidate in polished:
            self._stats.cuts.update(cut.filter for cut in candidate.cuts)
        lasting = outcome != "local" and candidates[0].whole and request.selected is None
        model = self.connection.state.model
        one = lasting and len(polished) == 1
        doc_state.displayed = Displayed(request.cursor, polished[0], model) if one else None
        different: dict[str, Candidate] = {}
        for candidate in polished:
            if candidate.text:
                different.setdefault(candidate.text, candidate)
        made = (suggestion(request, each, str(next(self._numbers))) for each in different.values())
        suggestions = [each for each in made if each]
        if not suggestions:
            return (polished[0].cuts[-1].filter if polished else "not sure"), []
        if lasting:
            self._dispatcher.decode_ahead(request, doc_state, suggestions[0])
        return outcome, suggestions

    def _displayed_rest(
        self, request: CompletionRequest, doc_state: DocumentState
    ) -> Candidate | None:
        """What is left of the one suggestion on screen while the user types along it."""
        if doc_state.displayed is None or request.invoked or request.selected is not None:
            return None
        return left(doc_state.displayed, request.cursor, self.connection.state.model)

    async def _candidates(
        self, request: CompletionRequest, doc_state: DocumentState
    ) -> tuple[str, list[Candidate]]:
        """What is known at the cursor, what the model says, or else what stands in sight; and which."""
        n_wanted = request.config.completion.candidates if request.invoked else 1
        found = doc_state.continuations.find(request.cursor, self.connection.state.model)
        if found and (len(found) >= n_wanted or not request.invoked):
            return "cache", found[:n_wanted]
        line = found or [self._in_sight(request, doc_state)]
        if not await self._is_ready(request, has_line=bool(line[0].text)):
            return "local", line
        await self._persistence.wait_restored(doc_state)
        self._persistence.used(doc_state, self._open.workspace(doc_state))
        try:
            wait_s = self._debounce_s(request, doc_state)
            doc_state.typed = False
            said = await self._dispatcher.ask(request, doc_state, wait_s, n_wanted)
            return "backend", said
        finally:
            self._prefill.prefill_next(doc_state)

    async def _is_ready(self, request: CompletionRequest, *, has_line: bool) -> bool:
        """Whether the backend can be asked: soon, if it is just starting and no line can be offered."""
        self.connection.reach()
        if request.invoked:
            await self.connection.wait_ready()
        elif not has_line and self.connection.state.health in (Health.UNKNOWN, Health.LOADING):
            await self.connection.wait_ready(request.config.completion.deadline_ms / 1000)
        return self.connection.state.health is Health.READY

    def _in_sight(self, request: CompletionRequest, doc_state: DocumentState) -> Candidate:
        """What can be said without a model."""
        if not request.config.completion.local:
            return Candidate("")
        return continued(request.cursor, self._open.lines(doc_state))

    def _debounce_s(self, request: CompletionRequest, doc_state: DocumentState) -> float:
        """How long an automatic request waits for the next key before it asks the model."""
        if request.invoked:
            return 0.0
        fixed = request.config.completion.debounce_ms
        wait = self._open.pace.wait_ms(request.cursor, client_ms=self.client_ms)
        if not doc_state.typed:
            wait = max(wait, PASSING_MS - self.client_ms)
        return (wait if fixed is None else fixed) / 1000

    def _forget(self) -> None:
        """Delete what was saved, in the background."""
        task = asyncio.create_task(self._persistence.forget(), name="forget")
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

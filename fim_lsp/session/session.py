"""
The session: joins what is open to the model.

`handle` takes in what the editor tells and never waits; `complete` answers one request
(`Completer`). Its parts own the state, and all of it is touched on the event loop's thread only:
the open documents and what is remembered of them, the connection to the backend, the scheduler of
work for it, the generations.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fim_lsp import events
from fim_lsp.documents import Document, Position
from fim_lsp.prompt.report import PromptReport
from fim_lsp.session.answering.dispatcher import Dispatcher
from fim_lsp.session.completer import Completer
from fim_lsp.session.connection import Connection, SessionStatus
from fim_lsp.session.edits.instructed_edits import InstructedEdits
from fim_lsp.session.edits.long_text import continue_long
from fim_lsp.session.edits.model_edits import ModelEdits
from fim_lsp.session.edits.next_edits import NextEdits
from fim_lsp.session.framing import Framing
from fim_lsp.session.judging import Judging
from fim_lsp.session.lane import Lane, Withdrawn
from fim_lsp.session.persistence import Persistence
from fim_lsp.session.prefill import Prefill
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.shared_engine import SharedEngine
from fim_lsp.session.state.edit_history import NextEdit
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.session.stats import Answered, LastAnswer, Stats
from fim_lsp.settings.config import Config
from server_bridge.protocol import Backend, TextModel

BACKGROUND = ("prefill cursor", "decode ahead", "choose chunks", "prefill next")


class Session:
    """
    The open documents of one editor, and its model. *open_backend* makes a backend from a
    configuration, without waiting; *cache* is a folder of our own for what is saved between
    sessions; *open_model* makes the model for next edits. *on_status* is called when the status
    changes, *connection* is public for tests.

    The editor's server, the port and the command line use its methods and no part of it
    (tests/test_tidy.py). None of them raises a `BackendError` or `Withdrawn`: what went wrong is in
    the answer.
    """

    def __init__(
        self,
        config: Config,
        open_backend: Callable[[Config], Backend],
        cache: Path | None = None,
        open_model: Callable[[Config], TextModel | None] = lambda _: None,
    ) -> None:
        self.on_status: Callable[[SessionStatus], None] = lambda _: None
        self._workspaces = Workspaces()
        engine = SharedEngine(cache)
        self.connection = Connection(
            config,
            open_backend,
            on_status=lambda: self.on_status(self.status()),
            on_ready=lambda is_new: self._prefill.go_on(is_new=is_new),
            on_show=engine.note_shown,
        )
        self._counters = Stats(on_left=self.connection.note_first_look)
        self._quiet = Quietness(time.perf_counter)
        self._waking: asyncio.TimerHandle | None = None
        self._lane = Lane(self.connection, BACKGROUND, off_wire=("choose chunks",))
        self._open = OpenDocuments(self._workspaces, self._counters, self._quiet)
        self._model_edits = ModelEdits(config, open_model)
        self._next_edits = NextEdits(
            self._open, self._counters, time.perf_counter, self._model_edits, lambda: self.config
        )
        self._framing = Framing(self._lane)
        parts = (self._lane, self._counters, self._framing)
        self._dispatcher = Dispatcher(*parts)
        self._prefill = Prefill(*parts, self._open)
        self._persistence = Persistence(cache, self.connection, self._open, self._prefill)
        self._judging = Judging(self.connection, self._open, self._persistence, engine)
        self._edits = InstructedEdits(self._lane, self._framing, self._open, self._judging)
        self._completer = Completer(
            self.connection, self._counters, self._open, self._judging, self._persistence,
            self._dispatcher, self._prefill, self._quiet,
        )  # fmt: skip
        self.answers: Sequence[Answered] = self._counters.answers  # each with its cost
        self.complete = self._completer.complete
        self.document = self._open.document
        self.start_connecting = self.connection.start_connecting
        self.edit = self._edits.edit
        self.prepare_edit = self._edits.prepare
        self.check_next_edit = self._next_edits.check
        self.wait_judged = self._judging.wait_settled  # this and the next are for tests
        self.wait_idle = self._lane.wait_idle

    @property
    def backend(self) -> Backend:
        """The backend now, for the doctor to look at."""
        return self.connection.backend

    @property
    def config(self) -> Config:
        """The settings now."""
        return self.connection.config

    def config_of(self, uri: str) -> Config:
        """Return the settings that count in a document; in the first folder if it is not open."""
        doc = self._open.by_uri.get(uri)
        return (doc.workspace if doc else self._workspaces).settings(self.config)

    @property
    def last_uri(self) -> str:
        """The URI of the document that was asked about last, "" for none."""
        return self._open.last_uri

    @property
    def documents(self) -> Mapping[str, Document]:
        """The open documents, by URI."""
        return {doc.uri: doc.document for doc in self._open}

    def handle(self, event: events.Event) -> None:
        """Apply one event; never waits."""
        match event:
            case events.Opened():
                opened = self._open.open(*event)
                self._next_edits.reopen(opened)
                self._judging.begin([opened])
                self.connection.start_connecting()
            case events.FoldersChanged(roots):
                self._workspaces.open_folders(roots)
                self._persistence.begin_audit()
                self._judging.begin(self._open.suspend())
            case events.FilesChanged():
                self._change_files(event)
            case events.Shown() | events.Accepted() | events.PartlyAccepted() | events.Dismissed():
                self._open.note_report(event)
            case events.NextEditShown() | events.NextEditTaken() | events.NextEditDismissed():
                self._next_edits.mark(event)
            case events.Snoozed(minutes):
                self._quiet.snooze(minutes)
                self._report_quiet()
            case events.RulesChanged():
                self._judge_again()
            case _ if (doc := self._open.by_uri.get(event.uri)) is not None:
                self._handle_in(doc, event)
        if isinstance(event, events.Saved | events.Closed) and self._workspaces.changes_rules(
            event.uri
        ):
            self._judge_again()  # a file that is closed may have been saved unnoticed

    def _change_files(self, event: events.FilesChanged) -> None:
        if event.deleted:
            self._persistence.begin_audit()
        if self._workspaces.note_files(*event):
            self._judge_again()
        else:
            self._judging.begin(self._open.at({*event.changed, *event.deleted}))

    def _handle_in(self, doc: OpenDocument, event: events.InDocument) -> None:
        """Record what happened to, or in, a document that is open."""
        match event:
            case events.Changed():
                before = doc.document
                if self._open.change(doc, event):
                    self._judging.begin([doc])
                else:
                    self._next_edits.follow(doc, before, event)
                self._dispatcher.texts.note_key(doc)
                if any("\n" in edit.text.strip() for edit in event.edits):
                    self._judging.begin([doc])  # no key: it may be what the disk has now
                self._prefill.prefill(doc)
            case events.Closed():
                self._open.close(doc)
                self._judging.begin_look(doc.workspace)
                if self._open.here:  # what it sees of that one may be evaluated no more
                    self._prefill.prefill(self._open.here)
            case events.Saved(uri) | events.Focused(uri):
                doc.workspace.memory.note_focus(uri)  # to save a file says that it matters now
                self._judging.begin([doc])
            case events.Yanked(_, text):
                self._open.go_to(doc, rests=self._open.rests)
                doc.yank(text)
                self._prefill.prefill(doc)
            case events.CursorMoved(uri, position):
                self._open.go_to(doc, rests=True)
                doc.workspace.memory.note_move(uri, doc.move_to(doc.place_at(position)).line)
                self._prefill.prefill(doc)

    def configure(self, config: Config) -> None:
        """Go on with *config*; a changed backend section opens a new backend."""
        old = self.config
        self.connection.configure(config)
        self._model_edits.configure(config)
        is_away = bool(config.remote_servers)
        was_away = bool(old.remote_servers)
        if config.privacy != old.privacy or is_away != was_away:
            self._judge_again()
        elif config.projects != old.projects:
            self._persistence.begin_audit()
        if old.state.save and not config.state.save:
            self._persistence.begin_forget()

    def _judge_again(self) -> None:
        """Judge everything again before it is used: the rules of what is private changed."""
        self._workspaces.judge_again()
        self._persistence.begin_audit()
        self._judging.begin_again(self._open.suspend())

    def stats(self) -> dict[str, object]:
        """Return the object of `fim/stats`."""
        ring = {**self._workspaces.stats(), "capacity": self.config_of(self.last_uri).ring.chunks}
        newest = self._open.by_uri.get(self.last_uri)
        last = newest.requests.last_answer if newest else None
        stats = self._counters.snapshot(self.connection.state, ring, last and last.answer)
        return {**stats, "quiet": self._quiet.snapshot()}

    def status(self) -> SessionStatus:
        """Return what a client shows of the session now."""
        return SessionStatus(self.connection.state, self.connection.look_s, self._quiet.until)

    def _report_quiet(self) -> None:
        """
        Show the client that there are no automatic suggestions, and later that they come again.
        """
        self.connection.report_state(again=True)
        if self._waking is not None:
            self._waking.cancel()
        if remaining_s := self._quiet.remaining_s:
            self._waking = asyncio.get_running_loop().call_later(remaining_s, self._report_quiet)

    async def report(self, uri: str) -> PromptReport:
        """Return the prompt at the cursor in *uri*, as far as it is known."""
        try:
            doc = await self._judging.admit(uri)
        except Withdrawn as why:
            return PromptReport(f"nothing, {why}")
        return await self._framing.report(doc)

    async def continue_long(
        self, uri: str, position: Position | None, go_on: Callable[[str], bool]
    ) -> tuple[Position, str, str]:
        """
        Return a long text at *position* (None: where a suggestion was asked for last), and why it
        ended early.

        See `long_text`; a change of the document ends it as well.
        """
        if (opened := self._open.by_uri.get(uri)) is None:
            return Position(0, 0), "", "the document is not open"
        place = opened.place_at(position)
        opened.move_to(place)
        self._open.go_to(opened)
        self._prefill.prefill(opened)
        try:
            doc = await self._judging.admit(uri)
            doc.move_to(place)
        except Withdrawn as reason:
            return Position(0, 0), "", str(reason)
        return await continue_long(doc, place, go_on, self._lane, self._framing)

    async def explain(self, uri: str, position: Position | None) -> LastAnswer:
        """
        Return how the last request at *position* ended, None: at any. Where there was none, or the
        client withdrew it, return how a request there would end, None: at the cursor.
        """
        return await self._completer.explain(uri, position)

    async def next_edit(
        self,
        uri: str,
        cursor: Position | None = None,
        *,
        unasked: bool = False,
        unopened: bool = True,
    ) -> NextEdit | None:
        """
        Return the next edit in the workspace of *uri* ("": where one was asked for last), by the
        last edits; see docs/next-edit.md.

        An edit that is shown *unasked* waits until the newest edit is finished, for longer where
        the *cursor* is behind a new name, and leaves the line to a suggestion that is on screen
        there. *unopened*: it may be in a file that is not open.
        """
        uri = self._next_edits.note_question(uri)
        if not self.wants_next_edit(uri, unasked=unasked):
            return None
        while unasked and (left := self._next_edits.seconds_unsettled(uri, cursor)) > 0:
            await asyncio.sleep(left)
        await self._judging.wait_judged(uri)
        edit = await self._next_edits.propose(uri, unopened=unopened)
        return None if unasked and edit and self._next_edits.is_covered(edit) else edit

    def wants_next_edit(self, uri: str, *, unasked: bool = True) -> bool:
        """Return whether the settings and the user want one now."""
        is_on = self.config_of(uri).next_edit.enabled
        return is_on and not (unasked and self._quiet.is_snoozed)

    async def aclose(self) -> None:
        """End all work and let the backend go."""
        if self._waking is not None:
            self._waking.cancel()
        self._workspaces.close()
        for doc in self._open:
            doc.view.end()
        try:
            await self._lane.aclose()
            await self._dispatcher.aclose()
            await self._judging.aclose()
            await self._persistence.aclose()
            await self._model_edits.aclose()
        finally:
            await self.connection.aclose()

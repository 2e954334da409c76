"""
The session: joins what is open to the model; the one place where deciding and waiting meet.

`handle` takes in what the editor tells and never waits; `complete` answers one request. Its parts own
the state, and all of it is touched on the event loop's thread only: the desk (documents and what is
remembered of them), the link to the backend, the lane that what goes there waits in, the flights.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from fim_lsp import anatomy, engine, events
from fim_lsp.anatomy import Shown
from fim_lsp.config import Config
from fim_lsp.desk import Desk
from fim_lsp.documents import Document, Edit, Position
from fim_lsp.engine import Asked, Selected, Suggestion
from fim_lsp.framing import Framing
from fim_lsp.keeper import Keeper
from fim_lsp.link import Link
from fim_lsp.long_text import run_on
from fim_lsp.prefill import Prefill
from fim_lsp.scheduler import Scheduler
from fim_lsp.stats import Stats
from fim_lsp.suggest import local
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.place import Draft
from fim_lsp.suggest.screen import Screen, left
from fim_lsp.tower import Tower
from fim_lsp.view import View
from fim_lsp.workspace import Progress
from server_bridge.protocol import Backend, BackendError, BackendUnavailable, Health

# A cursor that only moved may be on its way, and each place on it would cost a window.
PASSING_MS = 250.0

log = logging.getLogger(__name__)


class Session:
    """
    See the module. *open_backend* makes a backend from a configuration, without waiting; *cache* is
    a folder of our own for what is to outlive us.
    """

    def __init__(
        self, config: Config, open_backend: Callable[[Config], Backend], cache: Path | None = None
    ) -> None:
        self.link = Link(config, open_backend)
        self.client_ms = 0.0  # what the client waits by itself before it asks
        self._numbers = itertools.count(1)
        self._stats = Stats()
        self._lane = Scheduler(("glance", "speculate", "prepare", "warm"), off_wire=("prepare",))
        self._desk = Desk(self.link, self._stats)
        self._framing = Framing(self.link, self._desk.header)
        parts = (self.link, self._stats, self._framing, self._lane)
        self._tower = Tower(*parts, self._desk.lines)
        self._prefill = Prefill(*parts, self._prepare)
        self._keeper = Keeper(cache, self.link, self._prefill)
        self._desk.on_open, self._desk.spaces.recall = self._keeper.opened, self._keeper.recall

    def __repr__(self) -> str:
        return f"<Session documents={len(self.documents)} {self.link.state.health.value}>"

    @property
    def config(self) -> Config:
        """The settings now."""
        return self.link.config

    @property
    def documents(self) -> Mapping[str, Document]:
        """What is open, by URI."""
        return self._desk.documents

    # -- what the editor tells ------------------------------------------------------------------

    def handle(self, event: events.Event) -> None:
        """Take in one event; fast, and never waits."""
        self._desk.handle(event)
        if isinstance(event, events.Opened):
            self.link.reach()

    def configure(self, config: Config) -> None:
        """Go on with *config*; a changed backend section opens a new backend."""
        rules_changed = config.privacy != self.config.privacy
        self.link.configure(config)
        if rules_changed:
            self._desk.rules_changed()

    def on_index(self, progress: Progress) -> None:
        """Tell *progress* of files that are being indexed."""
        self._desk.spaces.progress = progress

    def stats(self) -> dict[str, object]:
        """The object of `fim/stats`."""
        for document in self.documents.values():
            self._desk.acceptance.judged(document, time.perf_counter())
        self._desk.spaces.limits = engine.ring_limits(self.config, self.link.state)
        return self._stats.snapshot(self.link.state, self._desk.spaces.stats())

    async def context(self, uri: str) -> Shown:
        """What the model is shown at the cursor in *uri*, as far as that is known."""
        view, document = self._desk.views.get(uri), self.documents.get(uri)
        if view is None or document is None:
            return Shown("nothing, the document is not open")
        await self._desk.spaces.wait_judged()
        if reason := self._desk.spaces.why_private(uri):
            return Shown(f"nothing, the file is private ({reason})")
        prompt, measure = self._framing.next_prompt(view, document), None
        if prompt is None:
            return Shown("nothing yet, nobody asked for a suggestion here")
        if self.link.state.health is Health.READY:
            with contextlib.suppress(BackendError):
                count = partial(self.link.backend.measure, prompt)
                measure = await self._lane.foreground(count)
        return anatomy.shown(prompt, measure, self._desk.workspace(view).memory.ring.chunks)

    async def write_on(
        self, uri: str, position: Position | None, hear: Callable[[str], bool]
    ) -> tuple[Position, str, str]:
        """
        A long text at *position* (None: where a suggestion was asked for last), and a word on its end.

        See `run_on`; a change of the document ends it as well.
        """
        view, document = self._desk.views.get(uri), self.documents.get(uri)
        if view is None or document is None:
            return Position(0, 0), "", "the document is not open"
        await self._desk.spaces.wait_judged()
        view.position = at = document.clamp(position or view.position or Position(0, 0))
        if reason := self._desk.spaces.why_private(uri):
            return at, "", f"the file is private ({reason})"
        if (state := await self.link.wait_ready()).health is not Health.READY:
            return at, "", state.message or "there is no model server"

        def go_on(text: str) -> bool:
            return self.documents.get(uri) is document and hear(text)

        text, note = await run_on(
            view, document, go_on, link=self.link, lane=self._lane, framing=self._framing
        )
        if self.documents.get(uri) is not document:
            return at, "", "you typed"
        return at, text, note

    async def wait_idle(self) -> None:
        """Until the background lane has nothing left; for tests and benchmarks."""
        await self._lane.wait_idle()

    async def aclose(self) -> None:
        """End all work and let the backend go."""
        self._desk.spaces.close()
        try:
            await self._lane.aclose()
            await self._tower.aclose()
            await self._keeper.aclose()
        finally:
            await self.link.aclose()

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
            view = self._desk.views[uri]
            view.position = document.clamp(position)
            asked = engine.asked(
                document, position, view.file.path, invoked=invoked, selected=selected
            )
            outcome, suggestions = await self._answer(asked, view)
            edits = ((each.id, Edit(each.start, each.end, each.text)) for each in suggestions)
            self._desk.acceptance.offered(document, edits)
            return suggestions
        except BackendError as error:
            outcome = type(error).__name__
            log.warning("no completion: %s", error)
            if isinstance(error, BackendUnavailable):
                self.link.reach()
            return []
        finally:
            self._stats.answered(outcome, (time.perf_counter() - started) * 1e3)
            self.link.tell()

    async def _answer(self, asked: Asked, view: View) -> tuple[str, list[Suggestion]]:
        """How the request ends (a word for the statistics) and what it gets."""
        await self._desk.spaces.wait_judged()
        uri = asked.document.uri
        if reason := self._desk.spaces.why_private(uri):
            return f"private: {reason}", []
        self._desk.memory(uri).moved(uri, asked.position.line)
        if reason := engine.why_off(asked, self.config):
            return reason, []
        self._prefill.glance(view, partial(self.documents.get, uri))
        if reason := engine.why_not(asked, self.config, deleted=view.deleted):
            return reason, []
        if (still := self._on_screen(asked, view)) is not None:
            found = engine.suggestion(asked, still, str(next(self._numbers)))
            return "cache", [found] if found else []
        outcome, drafts = await self._drafts(asked, view)
        polished = [
            polish(d, asked.place) for d in drafts if not engine.doubted(asked, d, self.config)
        ]
        for draft in polished:
            self._stats.cuts.update(cut.filter for cut in draft.cuts)
        lasting = outcome != "local" and drafts[0].whole and asked.selected is None
        one = lasting and len(polished) == 1
        view.screen = Screen(asked.place, polished[0], self.link.state.model) if one else None
        shown = {draft.text: draft for draft in reversed(polished) if draft.text}
        if not shown:
            return (polished[0].cuts[-1].filter if polished else "not sure"), []
        suggestions = [
            suggestion
            for draft in reversed(shown.values())
            if (suggestion := engine.suggestion(asked, draft, str(next(self._numbers))))
        ]
        if lasting:
            self._tower.speculate(asked, view, suggestions[0])
        return outcome, suggestions

    def _on_screen(self, asked: Asked, view: View) -> Draft | None:
        """What is left of the one suggestion on screen, for somebody who types along."""
        if view.screen is None or asked.invoked or asked.selected is not None:
            return None
        return left(view.screen, asked.place, self.link.state.model)

    async def _drafts(self, asked: Asked, view: View) -> tuple[str, list[Draft]]:
        """What is known at the cursor, what the model says, or else what stands in sight; and which."""
        n_wanted = self.config.completion.candidates if asked.invoked else 1
        found = view.known.find(asked.place, self.link.state.model)
        if found and (len(found) >= n_wanted or not asked.invoked):
            return "cache", found[:n_wanted]
        line = found or [self._in_sight(asked, view)]
        if not await self._is_ready(asked, has_line=bool(line[0].text)):
            return "local", line
        await self._keeper.wait_revived(view)
        current = partial(self.documents.get, asked.document.uri)
        self._keeper.used(view, self._desk.workspace(view), current)
        try:
            wait_s = self._debounce_s(asked, view)
            view.typed = False
            return "backend", await self._tower.ask(asked, view, wait_s, n_wanted)
        finally:
            self._prefill.warm(view, current)

    async def _is_ready(self, asked: Asked, *, has_line: bool) -> bool:
        """Whether the backend can be asked: soon, if it is just starting and nothing else is to be said."""
        self.link.reach()
        if asked.invoked:
            await self.link.wait_ready()
        elif not has_line and self.link.state.health in (Health.UNKNOWN, Health.LOADING):
            await self.link.wait_ready(self.config.completion.deadline_ms / 1000)
        return self.link.state.health is Health.READY

    def _in_sight(self, asked: Asked, view: View) -> Draft:
        """What can be said without a model."""
        if not self.config.completion.local:
            return Draft("")
        return local.continued(asked.place, self._desk.lines(view))

    def _debounce_s(self, asked: Asked, view: View) -> float:
        """How long an automatic request waits for the next key before it asks the model."""
        if asked.invoked:
            return 0.0
        fixed = self.config.completion.debounce_ms
        wait = self._desk.rhythm.wait_ms(asked.place, client_ms=self.client_ms)
        if not view.typed:
            wait = max(wait, PASSING_MS - self.client_ms)
        return (wait if fixed is None else fixed) / 1000

    async def _prepare(self, view: View) -> bool:
        """While idle: choose chunks for where *view* is."""
        if view.frame is not None:
            self._desk.spaces.limits = engine.ring_limits(self.config, self.link.state)
            await self._desk.workspace(view).turn(view.sight(view.frame.window), self.config)
        return False

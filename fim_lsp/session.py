"""
The session: owns all state, and is the one place where deciding and waiting meet.

`handle` takes in what the editor tells and never waits; `complete` answers one request. Mutable
state: the documents, a `View` of each, the flights, the statistics, the link to the backend and the
scheduler's slots. All of it is touched on the event loop's thread only.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from fim_lsp import anatomy, engine, events, paths
from fim_lsp.acceptance import Acceptance
from fim_lsp.anatomy import Shown
from fim_lsp.config import Config
from fim_lsp.context.memory import Memory
from fim_lsp.documents import Document, Edit, Position, edited, opened
from fim_lsp.engine import Asked, Selected, Suggestion
from fim_lsp.keeper import Keeper
from fim_lsp.link import Link
from fim_lsp.stats import Stats
from fim_lsp.suggest import local
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.place import Draft
from fim_lsp.suggest.rhythm import Rhythm
from fim_lsp.suggest.screen import Screen, left
from fim_lsp.tower import Tower
from fim_lsp.view import Header, View
from fim_lsp.window import Window
from fim_lsp.workspace import Progress, Workspaces, source
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
        self.config = config
        self.documents: dict[str, Document] = {}
        self.link = Link(config, open_backend)
        self._views: dict[str, View] = {}
        self._numbers = itertools.count(1)
        self._stats = Stats()
        self._acceptance = Acceptance(self._stats)
        self._tower = Tower(self.link, self._stats, self._header, self._prepare, self._lines)
        self._keeper = Keeper(cache, self.link, self._tower)
        self._spaces = Workspaces(self._keeper.recall)
        self._tower.config = self._keeper.config = config
        self._rhythm = Rhythm()
        self.client_ms = 0.0  # what the client waits by itself before it asks

    def __repr__(self) -> str:
        return f"<Session documents={len(self.documents)} {self.link.state.health.value}>"

    # -- what the editor tells ------------------------------------------------------------------

    def handle(self, event: events.Event) -> None:  # noqa: C901 (the closed set, a case each)
        """Take in one event; fast, and never waits."""
        match event:
            case events.Opened(uri, language, version, text):
                self._open(opened(uri, language, version, text))
            case events.Changed(uri, version, edits) if uri in self.documents:
                self._change(uri, version, edits)
            case events.Closed(uri) if uri in self.documents:
                self._acceptance.closed(self.documents[uri])
                self._memory(uri).closed(uri)
                self._spaces.forget(uri)
                del self.documents[uri], self._views[uri]
            case events.Saved(uri) if uri in self.documents:
                self._memory(uri).saved(uri)
            case events.Focused(uri) if uri in self.documents:
                self._memory(uri).focused(uri)
            case events.Yanked(uri, text) if uri in self.documents:
                self._memory(uri).yanked(uri, text)
            case events.CursorMoved(uri, position) if uri in self.documents:
                self._views[uri].position = position
                self._memory(uri).moved(uri, position.line)
            case events.FilesChanged(changed, deleted):
                self._files_changed(changed, deleted)
            case events.FoldersChanged(roots):
                self._spaces.roots = roots
                for document in [*self.documents.values()]:
                    self._open(document)
            case events.Shown() | events.Accepted() | events.PartlyAccepted():
                self._acceptance.heard(event, time.perf_counter())
            case _:
                pass

    def _open(self, document: Document) -> None:
        """Know *document*, and let it inform others unless it is private."""
        uri = document.uri
        view = View(uri, paths.place(uri, self._spaces.roots), document.language)
        self.documents[uri], self._views[uri] = document, view

        def allowed() -> None:
            if (now := self.documents.get(uri)) and self._views[uri] is view:
                self._spaces.of(view.file).opened(source(now, view.file))
                self._keeper.opened(view, self._spaces.of(view.file))

        self._spaces.judge(uri, view.file, self.config, allowed)
        self.link.reach()

    def _change(self, uri: str, version: int, edits: tuple[Edit | str, ...]) -> None:
        before = self.documents[uri]
        self._acceptance.followed(before, edits, time.perf_counter())
        self.documents[uri] = after = edited(before, edits, version)
        self._views[uri].follow(edits)
        self._rhythm.key(time.perf_counter() * 1e3)
        self._memory(uri).edited(before, after, edits)

    def _files_changed(self, changed: tuple[str, ...], deleted: tuple[str, ...]) -> None:
        all_again = self._spaces.files_changed(changed, deleted)
        for uri in [*self.documents] if all_again else self.documents.keys() & set(changed):
            if all_again or not self._memory(uri).knows(uri):
                self._open(self.documents[uri])

    def _memory(self, uri: str) -> Memory:
        """What is remembered of the workspace *uri* belongs to; of private files nothing gets there."""
        view = self._views.get(uri)
        return self._spaces.of(view.file if view else paths.place(uri, self._spaces.roots)).memory

    def configure(self, config: Config) -> None:
        """Go on with *config*; a changed backend section opens a new backend."""
        changed = config.backend != self.config.backend
        rules_changed = config.privacy != self.config.privacy
        self.config = self._tower.config = self._keeper.config = config
        if rules_changed:
            self._spaces.rules_changed()
            for document in [*self.documents.values()]:
                self._open(document)
        if changed:
            self.link.reopen(config)
            self.link.reach()

    def on_index(self, progress: Progress) -> None:
        """Tell *progress* of files that are being indexed."""
        self._spaces.progress = progress

    def stats(self) -> dict[str, object]:
        """The object of `fim/stats`."""
        for document in self.documents.values():
            self._acceptance.judged(document, time.perf_counter())
        self._spaces.limits = engine.ring_limits(self.config, self.link.state)
        return self._stats.snapshot(self.link.state, self._spaces.stats())

    async def context(self, uri: str) -> Shown:
        """What the model is shown at the cursor in *uri*, as far as that is known."""
        view, document = self._views.get(uri), self.documents.get(uri)
        if view is None or document is None:
            return Shown("nothing, the document is not open")
        await self._spaces.wait_judged()
        if reason := self._spaces.why_private(uri):
            return Shown(f"nothing, the file is private ({reason})")
        prompt, measure = self._tower.next_prompt(view, document), None
        if prompt is None:
            return Shown("nothing yet, nobody asked for a suggestion here")
        if self.link.state.health is Health.READY:
            with contextlib.suppress(BackendError):
                count = partial(self.link.backend.measure, prompt)
                measure = await self._tower.lane.foreground(count)
        return anatomy.shown(prompt, measure, self._spaces.of(view.file).memory.ring.chunks)

    async def write_on(
        self, uri: str, position: Position | None, hear: Callable[[str], bool]
    ) -> tuple[Position, str, str]:
        """
        A long text at *position* (None: where a suggestion was asked for last), and a word on its end.

        See `Tower.run_on`; a change of the document ends it as well.
        """
        view, document = self._views.get(uri), self.documents.get(uri)
        if view is None or document is None:
            return Position(0, 0), "", "the document is not open"
        await self._spaces.wait_judged()
        view.position = at = document.clamp(position or view.position or Position(0, 0))
        if reason := self._spaces.why_private(uri):
            return at, "", f"the file is private ({reason})"
        if (state := await self.link.wait_ready()).health is not Health.READY:
            return at, "", state.message or "there is no model server"

        def go_on(text: str) -> bool:
            return self.documents.get(uri) is document and hear(text)

        text, note = await self._tower.run_on(view, document, go_on)
        if self.documents.get(uri) is not document:
            return at, "", "you typed"
        return at, text, note

    async def wait_idle(self) -> None:
        """Until the background lane has nothing left; for tests and benchmarks."""
        await self._tower.lane.wait_idle()

    async def aclose(self) -> None:
        """End all work and let the backend go."""
        self._spaces.close()
        try:
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
            view = self._views[uri]
            view.position = document.clamp(position)
            asked = engine.asked(
                document, position, view.file.path, invoked=invoked, selected=selected
            )
            outcome, suggestions = await self._answer(asked, view)
            edits = ((each.id, Edit(each.start, each.end, each.text)) for each in suggestions)
            self._acceptance.offered(document, edits)
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
        await self._spaces.wait_judged()
        uri = asked.document.uri
        if reason := self._spaces.why_private(uri):
            return f"private: {reason}", []
        self._memory(uri).moved(uri, asked.position.line)
        if reason := engine.why_off(asked, self.config):
            return reason, []
        self._tower.glance(view, partial(self.documents.get, uri))
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
        self._keeper.used(view, self._spaces.of(view.file), current)
        try:
            wait_s = self._debounce_s(asked, view)
            view.typed = False
            return "backend", await self._tower.ask(asked, view, wait_s, n_wanted)
        finally:
            self._tower.warm(view, current)

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
        return local.continued(asked.place, self._lines(view))

    def _lines(self, view: View) -> Iterator[str]:
        """The lines of this file, of others that are open, and of the ring, that may be said again."""
        others = {
            self._views[uri].file.path: other
            for uri, other in reversed(self.documents.items())
            if uri != view.uri and self._views[uri].file.root == view.file.root
            and not self._spaces.why_private(uri)
        }  # fmt: skip
        return engine.lines_in_sight(self.documents.get(view.uri), view, others)

    def _debounce_s(self, asked: Asked, view: View) -> float:
        """How long an automatic request waits for the next key before it asks the model."""
        if asked.invoked:
            return 0.0
        fixed = self.config.completion.debounce_ms
        wait = self._rhythm.wait_ms(asked.place, client_ms=self.client_ms)
        if not view.typed:
            wait = max(wait, PASSING_MS - self.client_ms)
        return (wait if fixed is None else fixed) / 1000

    def _header(self, view: View, window: Window) -> Header:
        """What a prompt with *window* begins with."""
        chunks = self._spaces.of(view.file).chunks(view.sight(window))
        return Header(view.file.repo, chunks[: view.max_chunks], view.file.path, view.language)

    async def _prepare(self, view: View) -> bool:
        """While idle: choose chunks for where *view* is."""
        if view.frame is not None:
            self._spaces.limits = engine.ring_limits(self.config, self.link.state)
            await self._spaces.of(view.file).turn(view.sight(view.frame.window), self.config)
        return False

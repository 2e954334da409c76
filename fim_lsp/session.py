"""
The session: owns all state, and is the one place where deciding and waiting meet.

`handle` takes in what the editor tells and never waits; `complete` answers one request. Mutable
state: the documents, a `View` of each (window, tape, known flights), the flight in the air, the
statistics, the link to the backend and the scheduler's slots. All of it is touched on the event
loop's thread only.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from fim_lsp import engine, events, paths, tape, window
from fim_lsp.config import Config
from fim_lsp.documents import Document, Edit, Position, edited, opened
from fim_lsp.engine import Asked, Header, Selected, Suggestion
from fim_lsp.flight import Flight, fly
from fim_lsp.link import Link
from fim_lsp.scheduler import Scheduler
from fim_lsp.stats import Stats
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.place import Draft
from fim_lsp.window import Fit, Window
from server_bridge.protocol import Backend, BackendError, BackendUnavailable, Health, State

IDLE_S = 0.3  # quiet before background work: longer than a pause between two keys of fast typing
KNOWN_FLIGHTS = 8  # flights remembered per document
KNOWN_SUGGESTIONS = 64  # ids an editor may still name when it says what was accepted

log = logging.getLogger(__name__)


@dataclass(slots=True)
class View:
    """What we keep of an open document besides its text; *next* is being warmed to replace *window*."""

    place: paths.Place
    window: Window | None = None
    next: Window | None = None
    tape: tape.Tape = ()
    position: Position | None = None
    deleted: bool = False  # whether the last edit only took text away
    flights: deque[Flight] = field(default_factory=lambda: deque(maxlen=KNOWN_FLIGHTS))


class Session:
    """See the module. *open_backend* makes a backend from a configuration, without waiting."""

    def __init__(self, config: Config, open_backend: Callable[[Config], Backend]) -> None:
        self.config = config
        self.documents: dict[str, Document] = {}
        self.link = Link(config, open_backend)
        self._views: dict[str, View] = {}
        self._roots: tuple[str, ...] = ()
        self._lane = Scheduler(("warm",))
        self._flying: set[asyncio.Task[None]] = set()
        self._suggested: OrderedDict[str, Suggestion] = OrderedDict()
        self._numbers = itertools.count(1)
        self._stats = Stats()

    def __repr__(self) -> str:
        return f"<Session documents={len(self.documents)} {self.link.state.health.value} {self._lane!r}>"

    # -- what the editor tells ------------------------------------------------------------------

    def handle(self, event: events.Event) -> None:
        """Take in one event; fast, and never waits."""
        match event:
            case events.Opened(uri, language, version, text):
                self.documents[uri] = opened(uri, language, version, text)
                self._views[uri] = View(paths.place(uri, self._roots))
                self.link.reach()
            case events.Changed(uri, version, edits) if uri in self.documents:
                self.documents[uri] = edited(self.documents[uri], edits, version)
                self._follow(self._views[uri], edits)
            case events.Closed(uri):
                self.documents.pop(uri, None)
                self._views.pop(uri, None)
            case events.FoldersChanged(roots):
                self._roots = roots
                for uri, view in self._views.items():
                    view.place = paths.place(uri, roots)
            case events.Accepted(id):
                if suggestion := self._suggested.pop(id, None):
                    self._stats.accepted += 1
                    self._stats.accepted_chars += len(suggestion.text)
            case _:
                pass

    def configure(self, config: Config) -> None:
        """Go on with *config*; a changed backend section opens a new backend."""
        changed = config.backend != self.config.backend
        self.config = config
        if changed:
            self.link.reopen(config)
            self.link.reach()

    def stats(self) -> dict[str, object]:
        """The object of `fim/stats`."""
        ring = {"chunks": 0, "capacity": self.config.ring.chunks, "queued": 0, "evicted": 0}
        return self._stats.snapshot(self.link.state, ring)

    async def wait_idle(self) -> None:
        """Until the background lane has nothing left; for tests and benchmarks."""
        await self._lane.wait_idle()

    async def aclose(self) -> None:
        """End all work and let the backend go."""
        await self._lane.aclose()
        for task in self._flying:
            task.cancel()
        await asyncio.gather(*self._flying, return_exceptions=True)
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
                document, position, view.place.path, invoked=invoked, selected=selected
            )
            outcome, suggestions = await self._answer(asked, view)
            self._stats.shown += bool(suggestions)
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
        if reason := engine.why_not(asked, self.config, deleted=view.deleted):
            return reason, []
        self.link.reach()
        state = await self.link.wait_ready() if asked.invoked else self.link.state
        if state.health is not Health.READY:
            return "no backend", []
        outcome, draft = await self._draft(view, asked, state)
        self._lane.background("warm", partial(self._warm_step, asked.document.uri), delay=IDLE_S)
        draft = polish(draft, asked.place)
        self._stats.cuts.update(cut.filter for cut in draft.cuts)
        suggestion = engine.suggestion(asked, draft, str(next(self._numbers)))
        if suggestion is None:
            return draft.cuts[-1].filter, []
        self._remember(suggestion)
        return outcome, [suggestion]

    async def _draft(self, view: View, asked: Asked, state: State) -> tuple[str, Draft]:
        """What the model says at the cursor, from a flight that agrees with it or a new one."""
        uri, window_ = asked.document.uri, self._window(view, asked, state)
        typed = window.middle(window_, asked.document, asked.position)
        flight = next((f for f in view.flights if f.agrees(uri, window_, typed)), None)
        if flight is not None and flight.whole:
            return "cache", Draft(flight.rest(typed), whole=not flight.short)
        if flight is None:
            flight = self._take_off(view, asked, state, typed)
        await self._land(flight, view)
        return "backend", Draft(flight.rest(typed), whole=not flight.short)

    def _window(self, view: View, asked: Asked, state: State) -> Window:
        """The view's window if it serves the cursor, else a small new one, because somebody waits."""
        budget, old = engine.budget(self.config, state), view.window
        if old and window.fit(old, asked.document, asked.position, budget) is not Fit.LOST:
            return old
        new = window.anchored(asked.document, asked.position, budget, old, quick=True)
        view.window, view.tape = new, ()
        return new

    def _take_off(self, view: View, asked: Asked, state: State, typed: str) -> Flight:
        """A new flight from *typed*, the middle of the view's window."""
        assert view.window is not None
        classic = self.config.prompt.layout == "classic"
        prompt = engine.compose(self._header(view), view.window, typed, view.tape, classic=classic)
        terms = engine.terms(asked, self.config, state)
        flight = Flight(
            asked.document.uri, view.window, typed, prompt.forced, prompt, terms, terms.n_predict
        )
        flight.rests.set()
        view.flights.appendleft(flight)
        return flight

    async def _land(self, flight: Flight, view: View) -> None:
        """Wait until *flight* is whole; if nobody does any more, it rests after the burst on the wire."""
        flight.waiting += 1
        try:
            if flight.rests.is_set():
                task = asyncio.create_task(self._fly(flight, view), name="flight")
                self._flying.add(task)
                task.add_done_callback(self._flying.discard)
                flight.rests.clear()
            await flight.rests.wait()
        finally:
            flight.waiting -= 1
        if flight.error is not None:
            raise flight.error

    async def _fly(self, flight: Flight, view: View) -> None:
        await fly(flight, self.link.backend, self._lane, self._stats.heard)
        if flight.error is not None and flight in view.flights:
            view.flights.remove(flight)
        if flight.window is view.window and flight.tape:
            view.tape = flight.tape

    def _header(self, view: View) -> Header:
        return Header(view.place.repo, (), view.place.path)

    def _remember(self, suggestion: Suggestion) -> None:
        self._suggested[suggestion.id] = suggestion
        while len(self._suggested) > KNOWN_SUGGESTIONS:
            self._suggested.popitem(last=False)

    # -- while nobody waits ---------------------------------------------------------------------

    async def _warm_step(self, uri: str) -> bool:
        """Evaluate one step of what the next request at this cursor will want; True while there is more."""
        view, document, state = self._views.get(uri), self.documents.get(uri), self.link.state
        if not (view and document and view.position) or state.health is not Health.READY:
            return False
        position = document.clamp(view.position)
        target = self._target(view, document, position, state)
        typed = window.middle(target, document, position)
        known = view.tape if target is view.window else ()
        prompt = engine.compose(self._header(view), target, typed, known)
        warmed = await self.link.backend.warm(prompt, engine.step_tokens(state))
        self._stats.background += warmed.evaluated
        if warmed.left == 0 and target is not view.window:
            view.window, view.next, view.tape = target, None, ()
        return warmed.left > 0

    def _target(self, view: View, document: Document, position: Position, state: State) -> Window:
        """The window to warm: the view's own while it fits, else the one that is to replace it."""
        budget = engine.budget(self.config, state)
        for candidate in (view.window, view.next):
            if candidate and window.fit(candidate, document, position, budget) is Fit.FITS:
                return candidate
        view.next = window.anchored(document, position, budget, view.window)
        return view.next

    @staticmethod
    def _follow(view: View, edits: tuple[Edit | str, ...]) -> None:
        """Let the windows follow edits above them, and note what kind of edit the last one was."""
        for edit in edits:
            if isinstance(edit, Edit):
                view.deleted = not edit.text and edit.start != edit.end
                view.window = view.window and window.moved(view.window, edit)
                view.next = view.next and window.moved(view.next, edit)

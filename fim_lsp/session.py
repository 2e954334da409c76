"""
The session: owns all state, and is the one place where deciding and waiting meet.

`handle` takes in what the editor tells and never waits; `complete` answers one request. Mutable
state: the documents, a `View` of each, the flights, the statistics, the link to the backend and the
scheduler's slots. All of it is touched on the event loop's thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from fim_lsp import engine, events, paths, window
from fim_lsp.config import Config
from fim_lsp.documents import Document, Position, edited, opened
from fim_lsp.engine import Asked, Header, Selected, Suggestion
from fim_lsp.flight import Flight, advance, fly
from fim_lsp.link import Link
from fim_lsp.scheduler import Scheduler
from fim_lsp.stats import Stats
from fim_lsp.suggest import local
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.place import Draft
from fim_lsp.suggest.rhythm import Rhythm
from fim_lsp.view import View
from fim_lsp.window import Fit, Window
from server_bridge.protocol import (
    Backend,
    BackendError,
    BackendUnavailable,
    Health,
    PromptTooLong,
    State,
)

IDLE_S = 0.3  # quiet before background work: longer than a pause between two keys of fast typing
PATIENCE = 10  # who asks by hand waits so many times the deadline of an automatic suggestion
KNOWN_SUGGESTIONS = 64  # ids an editor may still name when it says what was accepted
SMALLEST = 0.1  # of the budget; a prompt that is too long even then is not ours to mend

log = logging.getLogger(__name__)


class Session:
    """See the module. *open_backend* makes a backend from a configuration, without waiting."""

    def __init__(self, config: Config, open_backend: Callable[[Config], Backend]) -> None:
        self.config = config
        self.documents: dict[str, Document] = {}
        self.link = Link(config, open_backend)
        self._views: dict[str, View] = {}
        self._roots: tuple[str, ...] = ()
        self._lane = Scheduler(("speculate", "warm"))
        self._flying: set[asyncio.Task[None]] = set()
        self._suggested: OrderedDict[str, Suggestion] = OrderedDict()
        self._numbers = itertools.count(1)
        self._stats = Stats()
        self._rhythm = Rhythm()
        self.client_ms = 0.0  # what the client waits by itself before it asks

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
                self._views[uri].follow(edits)
                self._rhythm.key(time.perf_counter() * 1e3)
            case events.Closed(uri):
                self.documents.pop(uri, None)
                self._views.pop(uri, None)
            case events.FoldersChanged(roots):
                self._roots = roots
                for uri, view in self._views.items():
                    view.file = paths.place(uri, roots)
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
                document, position, view.file.path, invoked=invoked, selected=selected
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
        outcome, drafts = await self._drafts(asked, view)
        polished = [
            polish(d, asked.place) for d in drafts if not engine.doubted(asked, d, self.config)
        ]
        for draft in polished:
            self._stats.cuts.update(cut.filter for cut in draft.cuts)
        shown = {draft.text: draft for draft in reversed(polished) if draft.text}
        if not shown:
            return (polished[0].cuts[-1].filter if polished else "not sure"), []
        suggestions = [
            suggestion
            for draft in reversed(shown.values())
            if (suggestion := engine.suggestion(asked, draft, str(next(self._numbers))))
        ]
        self._remember(suggestions)
        if outcome != "local" and drafts[0].whole and asked.selected is None:
            self._speculate(asked, view, suggestions[0])
        return outcome, suggestions

    async def _drafts(self, asked: Asked, view: View) -> tuple[str, list[Draft]]:
        """What is known at the cursor, what the model says, or else what stands in sight; and which."""
        n_wanted = self.config.completion.candidates if asked.invoked else 1
        found = view.known.find(asked.place, self.link.state.model)
        if found and (len(found) >= n_wanted or not asked.invoked):
            return "cache", found[:n_wanted]
        self.link.reach()
        state = await self.link.wait_ready() if asked.invoked else self.link.state
        if state.health is not Health.READY:
            return "local", found or [self._in_sight(asked)]
        while True:
            try:
                return "backend", await self._said(asked, view, state, n_wanted)
            except PromptTooLong as error:
                if view.scale < SMALLEST:
                    raise
                log.info("shrinking the window of %s: %s", view.file.path, error)
                view.scale, view.window, view.next = view.scale / 2, None, None

    def _in_sight(self, asked: Asked) -> Draft:
        return local.continued(asked.place, ()) if self.config.completion.local else Draft("")

    async def _said(self, asked: Asked, view: View, state: State, n_wanted: int) -> list[Draft]:
        """What the model says, from a flight that agrees with what is typed, or from new ones."""
        budget = engine.budget(self.config, state, view.scale)
        window_ = view.look(asked.document, asked.position, budget)
        if view.next and await self._next_is_warmer(asked, view, state):
            window_ = view.take(view.next)
        typed = window.middle(window_, asked.document, asked.position)
        flight = next((f for f in view.flights if f.agrees(window_, typed)), None)
        if flight is None and not asked.invoked:
            await asyncio.sleep(self._debounce_s(asked))
        flight = flight or self._new_flight(asked, view, window_, typed)
        try:
            await self._land(flight, view, self._patience_s(asked))
            for sample in range(1, n_wanted):
                other = self._new_flight(asked, view, window_, typed, sample)
                await self._land(other, view, self._patience_s(asked))
        finally:
            step = partial(self._warm_step, asked.document.uri)
            self._lane.background("warm", step, delay=IDLE_S)
        found = view.known.find(asked.place, state.model)
        return found[:n_wanted] or [flight.draft(typed)]

    def _debounce_s(self, asked: Asked) -> float:
        """How long an automatic request waits for the next key before it asks the model."""
        fixed = self.config.completion.debounce_ms
        if fixed is not None:
            return fixed / 1000
        return self._rhythm.wait_ms(asked.place, client_ms=self.client_ms) / 1000

    def _patience_s(self, asked: Asked) -> float:
        return self.config.completion.deadline_ms / 1000 * (PATIENCE if asked.invoked else 1)

    async def _next_is_warmer(self, asked: Asked, view: View, state: State) -> bool:
        """
        Whether the window that is being warmed is to be used already, though it is not all warm.

        Warming it may have put out of the cache what the current one needs (one slot, one common
        beginning). Of two cold windows the larger is worth a step more.
        """
        assert view.window
        assert view.next
        budget = engine.budget(self.config, state, view.scale)
        if window.fit(view.next, asked.document, asked.position, budget) is Fit.LOST:
            return False
        cold = []
        for each in (view.window, view.next):
            typed = window.middle(each, asked.document, asked.position)
            known = view.tape if each is view.window else ()
            measure = await self.link.backend.measure(
                engine.compose(self._header(view), each, typed, known)
            )
            cold.append(measure.total - measure.cached)
        return cold[1] <= cold[0] + engine.step_tokens(state)

    def _new_flight(
        self, asked: Asked, view: View, window_: Window, typed: str, sample: int = 0
    ) -> Flight:
        classic = self.config.prompt.layout == "classic"
        prompt = engine.compose(self._header(view), window_, typed, view.tape, classic=classic)
        terms = engine.terms(asked, self.config, self.link.state, sample)
        flight = Flight(asked.place, window_, typed, prompt.forced, prompt, terms, terms.n_predict)
        flight.rests.set()
        if not sample:
            view.flights.appendleft(flight)
            self._stats.flights += 1
        return flight

    async def _land(self, flight: Flight, view: View, seconds: float) -> None:
        """Wait until *flight* is whole, *seconds* at most; with nobody waiting it rests after a burst."""
        flight.waiting += 1
        try:
            if flight.rests.is_set() and not flight.whole:
                flight.rests.clear()
                task = asyncio.create_task(self._fly(flight, view), name="flight")
                self._flying.add(task)
                task.add_done_callback(self._flying.discard)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(flight.rests.wait(), seconds)
        finally:
            flight.waiting -= 1
        if flight.error is not None:
            raise flight.error

    async def _fly(self, flight: Flight, view: View) -> None:
        await fly(flight, self.link.backend, self._lane, self._stats)
        self._keep(flight, view)

    def _keep(self, flight: Flight, view: View) -> None:
        """Keep what a flight brought: the tape, and, once it is whole, what is known now."""
        if flight.window is view.window and flight.tape:
            view.tape = flight.tape
        if flight.whole:
            draft = engine.drafted(flight, (), lines=self.config.completion.local)
            view.known.put(flight.place, draft, self.link.state.model)
        if (flight.whole or flight.error) and flight in view.flights:
            view.flights.remove(flight)

    def _header(self, view: View) -> Header:
        return Header(view.file.repo, (), view.file.path)

    def _remember(self, suggestions: list[Suggestion]) -> None:
        self._suggested.update((suggestion.id, suggestion) for suggestion in suggestions)
        while len(self._suggested) > KNOWN_SUGGESTIONS:
            self._suggested.popitem(last=False)

    # -- while nobody waits ---------------------------------------------------------------------

    def _speculate(self, asked: Asked, view: View, suggestion: Suggestion) -> None:
        """Decode what comes after *suggestion*, in case it is accepted; it is on screen now."""
        after = engine.accepted(asked, suggestion, view.file.path)
        if view.window is None or view.known.find(after.place, self.link.state.model):
            return
        typed = window.middle(view.window, after.document, after.position)
        if any(flight.agrees(view.window, typed) for flight in view.flights):
            return
        flight = self._new_flight(after, view, view.window, typed)
        self._lane.background("speculate", partial(self._speculate_step, flight, view))

    async def _speculate_step(self, flight: Flight, view: View) -> bool:
        """One burst of *flight*, unless somebody waits for it by now and it flies anyway."""
        if flight.waiting or flight.whole:
            return False
        try:
            await advance(flight, self.link.backend, self._stats)
        except BackendError as error:
            flight.error = error
        self._keep(flight, view)
        return not (flight.whole or flight.error)

    async def _warm_step(self, uri: str) -> bool:
        """Evaluate one step of what the next request at this cursor will want; True while there is more."""
        view, document, state = self._views.get(uri), self.documents.get(uri), self.link.state
        if not (view and document and view.position) or state.health is not Health.READY:
            return False
        position = document.clamp(view.position)
        target = view.ahead(document, position, engine.budget(self.config, state, view.scale))
        typed = window.middle(target, document, position)
        known = view.tape if target is view.window else ()
        prompt = engine.compose(self._header(view), target, typed, known)
        warmed = await self.link.backend.warm(prompt, engine.step_tokens(state))
        self._stats.warmed(warmed, waited_for=False)
        if warmed.left == 0 and target is not view.window:
            view.take(target)
        return warmed.left > 0

"""
The tower: sends out flights for views, lets requests wait for them, keeps what they bring.

`ask` answers a request with what the model says. While nobody waits, `speculate` decodes what would
come after the suggestion on screen, and `warm` evaluates what the next request will want. Mutable
state: the scheduler's lanes and the tasks in the air; what flights bring goes into their `View`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from fim_lsp import engine, window
from fim_lsp.config import Config
from fim_lsp.documents import Document, Position
from fim_lsp.engine import Asked, Suggestion
from fim_lsp.flight import Flight, advance, fly
from fim_lsp.link import Link
from fim_lsp.scheduler import Scheduler
from fim_lsp.stats import Stats
from fim_lsp.suggest.place import Draft
from fim_lsp.tape import Tape
from fim_lsp.view import Frame, Header, View
from fim_lsp.window import Window
from server_bridge.protocol import (
    BackendError,
    Chunk,
    Endless,
    Health,
    Measure,
    Prompt,
    PromptTooLong,
    Saves,
    Sink,
)

NOWHERE = Window(0, 0, "", "")
IDLE_S = 0.3  # quiet before background work: longer than a pause between two keys of fast typing
COLD = 128  # tokens to evaluate; from here on a new small window may be cheaper than one at hand
GLANCE_S = 0.1  # a cursor that rests so long has come to stay, or to be typed at
PATIENCE = 10  # who asks by hand waits so many times the deadline of an automatic suggestion

log = logging.getLogger(__name__)


class Tower:
    """
    See the module.

    *header* says what a prompt begins with for a view and a window; *prepare* is called while idle,
    before a view is warmed, to choose what that shall be; *lines* are those that may be said again.
    """

    def __init__(
        self,
        link: Link,
        stats: Stats,
        header: Callable[[View, Window], Header],
        prepare: Callable[[View], Awaitable[bool]],
        lines: Callable[[View], Iterable[str]],
    ) -> None:
        self.config = Config()
        self.lane = Scheduler(("glance", "speculate", "prepare", "warm"), off_wire=("prepare",))
        self._link = link
        self._stats = stats
        self._header = header
        self._prepare = prepare
        self._lines = lines
        self._flying: set[asyncio.Task[None]] = set()
        self._settled: dict[str, tuple[Chunk, ...]] = {}  # by root: the chunks evaluated last

    async def ask(self, asked: Asked, view: View, debounce_s: float, n_wanted: int) -> list[Draft]:
        """
        What the model says at a place, *n_wanted* different drafts at most, the greedy one first.

        A flight that is on its way and agrees with what is typed is joined at once; before a new one
        *debounce_s* are waited for the next key, which cancels this. Raises `BackendError`.
        """
        while True:
            try:
                return await self._said(asked, view, debounce_s, n_wanted)
            except PromptTooLong as error:
                if view.frame is None or not self._shrunk(view, view.frame, error):
                    raise

    def next_prompt(self, view: View, document: Document) -> Prompt | None:
        """What the model would be shown at the cursor; None where it is not known."""
        if view.position is None:
            return None
        position = document.clamp(view.position)
        frames = view.usable(document, position, self._budget(view))
        frame = (frames or self._quick(view, document, position))[0]
        typed = window.middle(frame.window, document, position)
        return self._composed(frame, typed, view)

    async def run_on(
        self, view: View, document: Document, hear: Callable[[str], bool]
    ) -> tuple[str, str]:
        """
        What the model writes at the cursor, past its context if need be, and why it ended too early.

        *hear* is given the text so far and says whether to go on. Nobody else is served meanwhile.
        """
        backend, terms, text = self._link.backend, self.config.completion, ""

        async def write() -> None:
            nonlocal text
            prompt = self.next_prompt(view, document)
            if prompt is None or not isinstance(backend, Endless):
                return
            pieces = backend.run_on(prompt, terms.long_tokens, Sink(terms.long_keeps))
            async with contextlib.aclosing(pieces):
                async for piece in pieces:
                    text += piece
                    if not hear(text):
                        return

        while True:
            try:
                await self.lane.foreground(write)
                return text, ""
            except PromptTooLong as error:
                if view.frame is None or not self._shrunk(view, view.frame, error):
                    return text, str(error)
            except BackendError as error:
                return text, str(error)

    async def revive(self, view: View, header: Header, typed: str) -> None:
        """
        Have the backend load what it saved: of *view*, or at least of what its prompts begin with.

        Where that is of no use, *view* begins anew.
        """
        backend, frame = self._link.backend, view.frame or Frame(header, NOWHERE)
        if not isinstance(backend, Saves) or self._link.state.health is not Health.READY:
            return
        prompt = engine.compose(frame, typed, view.tape)

        async def load() -> int:
            await backend.restore(prompt)
            measure = await backend.measure(prompt)
            return measure.total - measure.cached

        left = await self.lane.foreground(load)
        if left <= engine.step_tokens(self._link.state):
            self._settled[view.file.root] = frame.header.chunks
        elif view.frame is frame:
            view.forget()

    async def save(self, frame: Frame, typed: str, tape: Tape) -> bool:
        """Have the backend save what it evaluated of a prompt; whether it did."""
        backend, ready = self._link.backend, self._link.state.health is Health.READY
        if not ready or not isinstance(backend, Saves):
            return False
        prompt = engine.compose(frame, typed, tape)
        return await self.lane.foreground(partial(backend.save, prompt)) > 0

    def speculate(self, asked: Asked, view: View, suggestion: Suggestion) -> None:
        """Decode what comes after *suggestion*, in case it is accepted; it is on screen now."""
        after = engine.accepted(asked, suggestion, view.file.path)
        if view.frame is None or view.known.find(after.place, self._link.state.model):
            return
        typed = window.middle(view.frame.window, after.document, after.position)
        if any(flight.agrees(view.frame.window, typed) for flight in view.flights):
            return
        flight = self._new_flight(after, view, view.frame, typed)
        self.lane.background("speculate", partial(self._speculate_step, flight, view))

    def glance(self, view: View, document: Callable[[], Document | None]) -> None:
        """
        Should the cursor of *view* rest, evaluate what a request there would need first.

        So who moves it, looks, and types waits for what was typed only.
        """
        self.lane.background("glance", partial(self._glance_step, view, document), delay=GLANCE_S)

    def warm(self, view: View, document: Callable[[], Document | None]) -> None:
        """
        While idle, evaluate what the next request in *view* will want.

        *document* gives the text as it is when its turn comes; None once it is closed.
        """
        self.lane.background("prepare", partial(self._prepare, view), delay=IDLE_S)
        self.lane.background("warm", partial(self._warm_step, view, document), delay=IDLE_S)

    async def aclose(self) -> None:
        """End all work."""
        await self.lane.aclose()
        for task in self._flying:
            task.cancel()
        await asyncio.gather(*self._flying, return_exceptions=True)

    # -- flights --------------------------------------------------------------------------------

    async def _said(
        self, asked: Asked, view: View, debounce_s: float, n_wanted: int
    ) -> list[Draft]:
        if not (flight := self._joinable(asked, view)):
            await asyncio.sleep(debounce_s)
            flight = self._joinable(asked, view) or await self._take_off(asked, view)
        typed = window.middle(flight.window, asked.document, asked.position)
        seconds = self.config.completion.deadline_ms / 1000 * (PATIENCE if asked.invoked else 1)
        await self._land(flight, view, seconds)
        for sample in range(1, n_wanted):
            await self._land(await self._take_off(asked, view, sample), view, seconds)
        found = view.known.find(asked.place, self._link.state.model)
        return found[:n_wanted] or [flight.draft(typed)]

    def _joinable(self, asked: Asked, view: View) -> Flight | None:
        """The flight on its way that agrees with what is typed."""
        frame, document, position = view.frame, asked.document, asked.position
        if frame is None or position.line < frame.window.anchor:
            return None
        typed = window.middle(frame.window, document, position)
        return next((f for f in view.flights if f.agrees(frame.window, typed)), None)

    async def _take_off(self, asked: Asked, view: View, sample: int = 0) -> Flight:
        # On the wire, so that nothing evaluated behind our back makes the choice a wrong one.
        best = partial(self._best, view, asked.document, asked.position)
        frame = await self.lane.foreground(best)
        if frame is not view.frame:
            view.take(frame)
        typed = window.middle(frame.window, asked.document, asked.position)
        return self._new_flight(asked, view, frame, typed, sample)

    def _new_flight(
        self, asked: Asked, view: View, frame: Frame, typed: str, sample: int = 0
    ) -> Flight:
        prompt = self._composed(frame, typed, view)
        terms = engine.terms(asked, self.config, self._link.state, sample)
        flight = Flight(
            asked.place, frame.window, typed, prompt.forced, prompt, terms, terms.n_predict
        )
        flight.rests.set()
        if not sample:
            view.flights.appendleft(flight)
            self._stats.flights += 1
        return flight

    def _composed(self, frame: Frame, typed: str, view: View) -> Prompt:
        classic = self.config.prompt.layout == "classic"
        return engine.compose(frame, typed, view.tape, classic=classic)

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
        await fly(flight, self._link.backend, self.lane, self._stats)
        self._keep(flight, view)

    def _keep(self, flight: Flight, view: View) -> None:
        """Keep what a flight brought: the tape, and, once it is whole, what is known now."""
        if view.frame and flight.window == view.frame.window and flight.tape:
            view.tape = flight.tape
        if flight.whole:
            lines = self._lines(view)
            draft = engine.drafted(flight, lines, lines_too=self.config.completion.local)
            view.known.put(flight.place, draft, self._link.state.model)
        if (flight.whole or flight.error) and flight in view.flights:
            view.flights.remove(flight)

    # -- windows --------------------------------------------------------------------------------

    def _budget(self, view: View) -> window.Budget:
        return engine.budget(self.config, self._link.state, view.scale)

    def _quick(self, view: View, document: Document, position: Position) -> list[Frame]:
        """New small frames after chunks that were evaluated lately, or are being evaluated."""
        at_hand = [frame.header.chunks for frame in (view.frame, view.next) if frame]
        runs = dict.fromkeys([self._settled.get(view.file.root, ()), *at_hand])

        def header(chunks: tuple[Chunk, ...], shown: Window) -> Header:
            chunks = engine.beside(chunks, view.file.path, shown)
            return Header(view.file.repo, chunks[: view.max_chunks], view.file.path, view.language)

        return view.quick(document, position, self._budget(view), runs, header)

    @staticmethod
    def _shrunk(view: View, frame: Frame, error: PromptTooLong) -> bool:
        """Show less in *view* than *frame* does, if less can be shown."""
        log.info("showing less of and around %s: %s", view.file.path, error)
        return view.shrink(frame)

    async def _best(self, view: View, document: Document, position: Position) -> Frame:
        """
        The frame of which least is to be evaluated: one at hand, or a new small one.

        Warming one may have put another out of the cache (one slot, one common beginning).
        """

        async def measured(frame: Frame) -> Measure:
            prompt = self._prompt(view, frame, document, position)
            return await self._link.backend.measure(prompt)

        usable = view.usable(document, position, self._budget(view))
        costs = [((m := await measured(frame)).total - m.cached, frame) for frame in usable]
        if all(cost >= COLD for cost, _ in costs):
            quick = self._quick(view, document, position)
            costs += [engine.affordable(frame, await measured(frame)) for frame in quick]
        return min(costs, key=lambda each: each[0])[1]

    def _prompt(self, view: View, frame: Frame, document: Document, position: Position) -> Prompt:
        typed = window.middle(frame.window, document, position)
        same = view.frame is not None and frame.window == view.frame.window
        return engine.compose(frame, typed, view.tape if same else ())

    # -- while nobody waits ---------------------------------------------------------------------

    async def _glance_step(self, view: View, current: Callable[[], Document | None]) -> bool:
        """One step of the frame that a request at the cursor would get; True while there is more."""
        document, state = current(), self._link.state
        if document is None or view.position is None or state.health is not Health.READY:
            return False
        position = document.clamp(view.position)
        frame = await self._best(view, document, position)
        if frame is not view.frame:
            view.next = frame
        prompt = self._prompt(view, frame, document, position)
        warmed = await self._link.backend.warm(prompt, engine.step_tokens(state))
        self._stats.warmed(warmed, waited_for=False)
        return warmed.left > 0

    async def _speculate_step(self, flight: Flight, view: View) -> bool:
        """One burst of *flight*, unless somebody waits for it by now and it flies anyway."""
        if flight.waiting or flight.whole:
            return False
        try:
            await advance(flight, self._link.backend, self._stats)
        except BackendError as error:
            flight.error = error
        self._keep(flight, view)
        return not (flight.whole or flight.error)

    async def _warm_step(self, view: View, current: Callable[[], Document | None]) -> bool:
        """One step of what the next request at the view's cursor will want; True while there is more."""
        document, state = current(), self._link.state
        if document is None or view.position is None or state.health is not Health.READY:
            return False
        position = document.clamp(view.position)
        frame = view.ahead(document, position, self._budget(view), partial(self._header, view))
        prompt = self._prompt(view, frame, document, position)
        try:
            warmed = await self._link.backend.warm(prompt, engine.step_tokens(state))
        except PromptTooLong as error:
            return self._shrunk(view, frame, error)
        self._stats.warmed(warmed, waited_for=False)
        if warmed.left == 0:
            self._settled[view.file.root] = frame.header.chunks
            if frame is not view.frame:
                view.take(frame)
        return warmed.left > 0

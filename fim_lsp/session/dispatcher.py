"""
The tower: sends out flights for views, lets requests wait for them, keeps what they bring.

`ask` answers a request with what the model says; while nobody waits, `speculate` decodes what would
come after the suggestion on screen. Mutable state: the tasks in the air; what flights bring goes into
their `View`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from functools import partial

from fim_lsp import engine, window
from fim_lsp.engine import Asked, Suggestion
from fim_lsp.flight import Flight, advance, fly
from fim_lsp.framing import Framing
from fim_lsp.link import Link
from fim_lsp.scheduler import Scheduler
from fim_lsp.stats import Stats
from fim_lsp.suggest.place import Draft
from fim_lsp.view import Frame, View
from server_bridge.protocol import BackendError, PromptTooLong

PATIENCE = 10  # who asks by hand waits so many times the deadline of an automatic suggestion


class Tower:
    """See the module. *lines* are those that may be said again in a view."""

    def __init__(
        self,
        link: Link,
        stats: Stats,
        framing: Framing,
        lane: Scheduler,
        lines: Callable[[View], Iterable[str]],
    ) -> None:
        self._link = link
        self._stats = stats
        self._framing = framing
        self._lane = lane
        self._lines = lines
        self._flying: set[asyncio.Task[None]] = set()

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
                if not self._framing.shrunk(view, view.frame, error):
                    raise

    def speculate(self, asked: Asked, view: View, suggestion: Suggestion) -> None:
        """Decode what comes after *suggestion*, in case it is accepted; it is on screen now."""
        after = engine.accepted(asked, suggestion, view.file.path)
        if view.frame is None or view.known.find(after.place, self._link.state.model):
            return
        typed = window.middle(view.frame.window, after.document, after.position)
        if any(flight.agrees(view.frame.window, typed) for flight in view.flights):
            return
        flight = self._new_flight(after, view, view.frame, typed)
        self._lane.background("speculate", partial(self._speculate_step, flight, view))

    async def aclose(self) -> None:
        """End all flights."""
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
        seconds = (
            self._link.config.completion.deadline_ms / 1000 * (PATIENCE if asked.invoked else 1)
        )
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
        best = partial(self._framing.best, view, asked.document, asked.position)
        frame = await self._lane.foreground(best)
        if frame is not view.frame:
            view.take(frame)
        typed = window.middle(frame.window, asked.document, asked.position)
        return self._new_flight(asked, view, frame, typed, sample)

    def _new_flight(
        self, asked: Asked, view: View, frame: Frame, typed: str, sample: int = 0
    ) -> Flight:
        prompt = self._framing.compose(frame, typed, view.tape)
        terms = engine.terms(asked, self._link.config, self._link.state, sample)
        flight = Flight(
            asked.place, frame.window, typed, prompt.forced, prompt, terms, terms.n_predict
        )
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
        await fly(flight, self._link.backend, self._lane, self._stats)
        self._keep(flight, view)

    def _keep(self, flight: Flight, view: View) -> None:
        """Keep what a flight brought: the tape, and, once it is whole, what is known now."""
        if view.frame and flight.window == view.frame.window and flight.tape:
            view.tape = flight.tape
        if flight.whole:
            lines = self._lines(view)
            draft = engine.drafted(flight, lines, lines_too=self._link.config.completion.local)
            view.known.put(flight.place, draft, self._link.state.model)
        if (flight.whole or flight.error) and flight in view.flights:
            view.flights.remove(flight)

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

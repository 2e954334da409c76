"""
A flight: one completion on its way, decoded in bursts until it is whole or nobody waits for it.

Operations: advance by a step, fly to the end, ask what it says to somebody who typed on.
Goal: a keystroke that agrees with what is being decoded joins it instead of starting anew, and one
that does not stops it within one burst.
Plan: a flight belongs to the session, not to the request that began it. It knows the middle it
began at (`typed`) and what came so far (`text`), so whoever stands at a middle that
`typed + text` begins with can wait for it. Requests come and go as `waiting`; a flight with nobody
waiting rests after the burst that is on the wire, and can be resumed. A whole one has said all it
has to say, and goes into the known continuations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from fim_lsp import tape
from fim_lsp.scheduler import Scheduler
from fim_lsp.stats import Stats
from fim_lsp.suggest.place import Draft, Place
from fim_lsp.window import Window
from server_bridge.protocol import Backend, Prompt, PromptTooLong, Request, Stop, extended


@dataclass(frozen=True, slots=True)
class Terms:
    """
    How to decode: *n_predict* tokens at most in bursts of *burst*, until *enough* says of the text
    after the cursor that it is whole. A *step* of prefill is the tokens of about a quarter of a second.
    """

    burst: int
    n_predict: int
    step: int
    enough: Callable[[str], bool]
    stop: tuple[str, ...] = ()
    sample: int = 0


@dataclass(slots=True, eq=False)
class Flight:
    """
    State of one flight. *typed* ends with *half*, the half word that is forced; *raw* begins with
    it and *tokens* spell it; *prompt* is what the next burst continues, *left* how many tokens it may still decode.
    *whole*: nothing more is to come; *short*: because the budget ended it, not the text.
    """

    place: Place
    window: Window
    typed: str
    half: str
    prompt: Prompt
    terms: Terms
    left: int
    warmed: bool = False
    raw: str = ""
    tokens: tape.Tape = ()
    tape: tape.Tape = ()
    whole: bool = False
    short: bool = False
    waiting: int = 0
    rests: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    def __repr__(self) -> str:
        state = "whole" if self.whole else "rests" if self.rests.is_set() else "flies"
        return f"<Flight {self.typed[-20:]!r}+{self.text[:20]!r} {state} waiting={self.waiting}>"

    @property
    def text(self) -> str:
        """What follows the cursor it began at."""
        return self.raw[len(self.half) :] if self.raw.startswith(self.half) else ""

    def agrees(self, window: Window, middle: str) -> bool:
        """Whether it says something to somebody at *middle*, or may yet."""
        if window != self.window or not middle.startswith(self.typed):
            return False
        so_far = self.typed + self.text
        return so_far.startswith(middle) or (not self.whole and middle.startswith(so_far))

    def draft(self, middle: str) -> Draft:
        """What it says to somebody at *middle*, empty if nothing."""
        so_far = self.typed + self.text
        text = so_far[len(middle) :] if so_far.startswith(middle) else ""
        return Draft(text, whole=self.whole and not self.short)


async def fly(flight: Flight, backend: Backend, lane: Scheduler, stats: Stats) -> None:
    """Decode until *flight* is whole or nobody waits; never raises: an error is left in the flight."""
    flight.rests.clear()
    try:
        while flight.waiting and not flight.whole:
            await lane.foreground(partial(advance, flight, backend, stats))
    except Exception as error:  # noqa: BLE001  whoever waits hears of it
        flight.error = error
    finally:
        flight.rests.set()


async def advance(flight: Flight, backend: Backend, stats: Stats) -> None:
    """
    One step on the wire: of a long prompt's evaluation, so that a newer flight waits for no more
    than that, or else a burst.
    """
    if not flight.warmed:
        measure = await backend.measure(flight.prompt)
        if measure.total - measure.cached > flight.terms.step:
            warmed = await backend.warm(flight.prompt, flight.terms.step)
            stats.warmed(warmed, waited_for=flight.waiting > 0)
            return
        flight.warmed = True
    await _burst(flight, backend, stats)


async def _burst(flight: Flight, backend: Backend, stats: Stats) -> None:
    """Decode one burst and see whether that makes it whole."""
    terms = flight.terms
    request = Request(flight.prompt, min(flight.left, terms.burst), terms.stop, terms.sample)
    try:
        reply = await backend.complete(request)
    except PromptTooLong:
        if not flight.text:
            raise
        flight.whole = flight.short = True  # what it said so far fills the context
        return
    stats.heard(reply, waited_for=flight.waiting > 0)
    flight.raw += reply.text
    flight.tokens += reply.tokens
    flight.left -= max(1, reply.timings.predicted_n)
    flight.tape = tape.after(reply)
    flight.prompt = extended(flight.prompt, reply)
    done = reply.stop in (Stop.END, Stop.WORD) or terms.enough(flight.text)
    flight.short = not done and (reply.stop is Stop.FULL or flight.left <= 0)
    flight.whole = done or flight.short

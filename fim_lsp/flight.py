"""
A flight: one completion on its way, decoded in bursts until it is whole or nobody waits for it.

Operations: begin, join, resume, ask what it says to somebody who typed on.
Goal: a keystroke that agrees with what is being decoded joins it instead of starting anew, and one
that does not stops it within one burst.
Plan: a flight belongs to the session, not to the request that began it. It knows the middle it
began at (`typed`) and what came so far (`text`), so whoever stands at a middle that
`typed + text` begins with is answered, also long after it landed. Requests come and go as
`waiting`; a flight with nobody waiting rests after the burst that is on the wire, and can be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from fim_lsp import tape
from fim_lsp.scheduler import Scheduler
from fim_lsp.window import Window
from server_bridge.protocol import Backend, Prompt, Reply, Request, Stop, extended

Heard = Callable[[Reply], None]  # told of every reply, for the statistics


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
    it; *prompt* is what the next burst continues, *left* how many tokens it may still decode.
    *whole*: nothing more is to come; *short*: because the budget ended it, not the text.
    """

    uri: str
    window: Window
    typed: str
    half: str
    prompt: Prompt
    terms: Terms
    left: int
    raw: str = ""
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

    def agrees(self, uri: str, window: Window, middle: str) -> bool:
        """Whether it says something to somebody at *middle*, or may yet."""
        if (uri, window) != (self.uri, self.window) or not middle.startswith(self.typed):
            return False
        so_far = self.typed + self.text
        return so_far.startswith(middle) or (not self.whole and middle.startswith(so_far))

    def rest(self, middle: str) -> str:
        """What it says to somebody at *middle*; "" if nothing."""
        so_far = self.typed + self.text
        return so_far[len(middle) :] if so_far.startswith(middle) else ""


async def fly(flight: Flight, backend: Backend, lane: Scheduler, heard: Heard) -> None:
    """Decode until *flight* is whole or nobody waits; never raises: an error is left in the flight."""
    flight.rests.clear()
    try:
        await _warm(flight, backend, lane)
        while flight.waiting and not flight.whole:
            await _burst(flight, backend, lane, heard)
    except Exception as error:  # noqa: BLE001  whoever waits hears of it
        flight.error = error
    finally:
        flight.rests.set()


async def _warm(flight: Flight, backend: Backend, lane: Scheduler) -> None:
    """Evaluate a long prompt in steps, so that a newer flight waits for one step at most."""
    measure = await backend.measure(flight.prompt)
    left = measure.total - measure.cached
    while left > flight.terms.step and flight.waiting:
        left = (await lane.foreground(lambda: backend.warm(flight.prompt, flight.terms.step))).left


async def _burst(flight: Flight, backend: Backend, lane: Scheduler, heard: Heard) -> None:
    """Decode one burst and see whether that makes it whole."""
    terms = flight.terms
    request = Request(flight.prompt, min(flight.left, terms.burst), terms.stop, terms.sample)
    reply = await lane.foreground(lambda: backend.complete(request))
    heard(reply)
    flight.raw += reply.text
    flight.left -= max(1, reply.timings.predicted_n)
    flight.tape = tape.after(reply)
    flight.prompt = extended(flight.prompt, reply)
    done = reply.stop in (Stop.END, Stop.WORD) or terms.enough(flight.text)
    flight.short = not done and (reply.stop is Stop.FULL or flight.left <= 0)
    flight.whole = done or flight.short

"""
A generation: one completion, decoded in bursts until it is whole or no request waits for it.

Operations: advance by a step, run to the end, ask what it says at a middle that was typed since.
Goal: a keystroke that agrees with what is being decoded joins it instead of starting another, and one
that does not stops it within one burst.
Plan: a generation belongs to the session, not to the request that began it. It knows the middle it
began at (`typed`) and what came so far (`text`), so each request at a middle that `typed + text`
begins with can wait for it. Requests come and go as `waiting`; without one, it rests after the burst
that is on the wire and can be resumed. When it has ended, its text goes into the known continuations.

    PREFILL ─ evaluated ─▶ DECODE ─ the text is complete ─▶ WHOLE
       │                     ├──── budget or context used ─▶ SHORT
       └─ backend error ─────┴─────────────────────────────▶ FAILED
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from fim_lsp.prompt import tape
from fim_lsp.prompt.window import Window
from fim_lsp.session.scheduler import Scheduler
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.cursor import Candidate, Cursor
from server_bridge.protocol import Backend, Prompt, PromptTooLong, Reply, Request, Stop, extended


class Phase(enum.Enum):
    """Where a generation is; the arrows are in the module's docstring."""

    PREFILL = "prefill"
    DECODE = "decode"
    WHOLE = "whole"
    SHORT = "short"
    FAILED = "failed"


ENDED = frozenset({Phase.WHOLE, Phase.SHORT, Phase.FAILED})


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
class Generation:
    """
    *typed* is the middle at *cursor* where it began. *raw* is all that came: it begins with what the
    prompt *forced*, and *tokens* spell it. *prompt* is what the next burst continues, *left* how many
    tokens it may still decode. *idle* is set while no task runs it.
    """

    cursor: Cursor
    window: Window
    typed: str
    prompt: Prompt
    terms: Terms
    left: int
    phase: Phase = Phase.PREFILL
    forced: str = field(init=False)  # of the first prompt; later ones have it behind them
    raw: str = ""
    tokens: tape.Tape = ()
    tape: tape.Tape = ()
    waiting: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.forced = self.prompt.forced
        self.idle.set()

    def __repr__(self) -> str:
        state = self.phase.value + (" resting" if self.idle.is_set() else "")
        return (
            f"<Generation {self.typed[-20:]!r}+{self.text[:20]!r} {state} waiting={self.waiting}>"
        )

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        return self.phase in ENDED

    @property
    def text(self) -> str:
        """What follows the cursor it began at."""
        return self.raw[len(self.forced) :] if self.raw.startswith(self.forced) else ""

    def agrees(self, window: Window, middle: str) -> bool:
        """Whether it says something to a request at *middle*, or still may."""
        if window != self.window or not middle.startswith(self.typed):
            return False
        so_far = self.typed + self.text
        return so_far.startswith(middle) or (not self.ended and middle.startswith(so_far))

    def candidate(self, middle: str) -> Candidate:
        """What it says to a request at *middle*, empty if nothing."""
        so_far = self.typed + self.text
        text = so_far[len(middle) :] if so_far.startswith(middle) else ""
        return Candidate(text, whole=self.phase is Phase.WHOLE)

    def end(self) -> None:
        """Decode no more; what came is all."""
        if not self.ended:
            self.phase = Phase.SHORT

    def failed(self, error: Exception) -> None:
        """End it; each request that waits raises *error*."""
        self.phase, self.error = Phase.FAILED, error


async def generate(
    generation: Generation, backend: Backend, scheduler: Scheduler, stats: Stats
) -> None:
    """Decode until *generation* has ended or no request waits; never raises, see `failed`."""
    generation.idle.clear()
    try:
        while generation.waiting and not generation.ended:
            await scheduler.foreground(partial(advance, generation, backend, stats))
    except Exception as error:  # noqa: BLE001  (each request that waits raises it)
        generation.failed(error)
    finally:
        generation.idle.set()


async def advance(generation: Generation, backend: Backend, stats: Stats) -> None:
    """
    One step on the wire: of a long prompt's evaluation, so that a newer generation waits for no more
    than that, or else a burst.
    """
    if generation.phase is Phase.PREFILL:
        measure = await backend.measure(generation.prompt)
        if measure.total - measure.cached > generation.terms.step:
            warmed = await backend.warm(generation.prompt, generation.terms.step)
            stats.warmed(warmed, waited_for=generation.waiting > 0)
            return
        generation.phase = Phase.DECODE
    await _burst(generation, backend, stats)


async def _burst(generation: Generation, backend: Backend, stats: Stats) -> None:
    """Decode one burst."""
    terms = generation.terms
    n_predict = min(generation.left, terms.burst)
    try:
        reply = await backend.complete(
            Request(generation.prompt, n_predict, terms.stop, terms.sample)
        )
    except PromptTooLong:
        if not generation.text:
            raise
        generation.phase = Phase.SHORT  # what it said so far fills the context
        return
    stats.heard(reply, waited_for=generation.waiting > 0)
    _take(generation, reply)


def _take(generation: Generation, reply: Reply) -> None:
    """Append what a burst brought, and see whether that ends it."""
    generation.raw += reply.text
    generation.tokens += reply.tokens
    generation.left -= max(1, reply.timings.predicted_n)
    generation.tape = tape.after(reply)
    generation.prompt = extended(generation.prompt, reply)
    if reply.stop in (Stop.END, Stop.WORD) or generation.terms.enough(generation.text):
        generation.phase = Phase.WHOLE
    elif reply.stop is Stop.FULL or generation.left <= 0:
        generation.phase = Phase.SHORT

"""
A generation: one completion, decoded in one stream until it is whole or not wanted any more.

Operations: advance by a step, run to the end, ask what it says at a middle that was typed since.
Goal: a keystroke that agrees with what is being decoded joins it instead of starting another, and a
keystroke that disagrees stops it within one token. Plan: a generation belongs to the session, not
to the request that began it. It knows the middle it began at (`typed`) and what came so far
(`text`), so each request at a middle that `typed + text` begins with can wait for it. Requests come
and go as `waiting`; without one the stream goes on `until` a moment later, because the next key may
bring another, then rests and can be resumed. A key that contradicts it pauses it at once. `news`
wakes those that wait: a line is whole, the text is not sure any more, or it rests. When it has
ended, its text goes into the known continuations.

    PREFILL ─ evaluated ─▶ DECODE ─ the text is complete ─▶ WHOLE
       │                     ├──── budget or context used ─▶ SHORT
       └─ backend error ─────┴─────────────────────────────▶ FAILED
"""

from __future__ import annotations

import asyncio
import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from fim_lsp.prompt.half_words import Tape, resume
from fim_lsp.prompt.window import Window
from fim_lsp.session.lane import Effort
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import NOT_SURE, least, likely, odds
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.repeats import looping_lines, stuttering
from fim_lsp.suggest.known import Known, Said
from fim_lsp.suggest.request import CompletionRequest
from fim_lsp.tasks import Claim
from server_bridge.protocol import Prompt, Reply, Request, Stop, Timings


class Now(NamedTuple):
    """
    What decides whether a generation goes on: the *time* (of the loop), whether the cursor *leads*
    to it, and whether another step waits for the wire.
    """

    time: float
    leads: bool
    is_wire_wanted: bool


class Phase(enum.Enum):
    """The phase of a generation; the arrows are in the module's docstring."""

    PREFILL = "prefill"
    DECODE = "decode"
    WHOLE = "whole"
    SHORT = "short"
    FAILED = "failed"


LOOK_TOKENS = 8  # a loop is a dozen tokens and more
ENDED = frozenset({Phase.WHOLE, Phase.SHORT, Phase.FAILED})


@dataclass(slots=True, eq=False, repr=False)
class Generation:
    """
    *typed* is the middle at the cursor of *request*, where it began, *prompt* the one it began
    with. *left* is how many tokens it may still decode. *raw* is all that came: it begins with what
    the prompt forced, and *tokens* spell it. *is_idle*: no task runs it. *until* is a time of the
    event loop. *is_shown*: a request was answered with a part of it; *is_kept*: what it says is
    among the known continuations. *cost* is what the model did for it so far.
    """

    request: CompletionRequest
    window: Window
    typed: str
    prompt: Prompt
    left: int
    sample: int = 0
    phase: Phase = Phase.PREFILL
    raw: str = ""
    tokens: Tape = ()
    waiting: int = 0
    claim: Claim[str] | None = None  # of the last request that waited for it, to be the newest
    until: float = 0.0
    is_idle: bool = True
    is_paused: bool = False
    is_shown: bool = False
    is_kept: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)
    cost: Timings = field(default_factory=Timings)
    effort: Effort = field(default_factory=Effort)  # of its prompt's evaluation
    logprob: float = 0.0  # of the text, as far as the tokens tell
    least: float = field(init=False)  # that it must have to be shown
    n_judged: int = 0  # of *tokens*, when it was last seen whether they are enough
    error: Exception | None = None
    _known: Known = field(default_factory=Known)
    _known_at: object = None  # the request, and how far it had come

    def __post_init__(self) -> None:
        self.least = least(self.request.config.sure)

    @property
    def rest(self) -> Prompt:
        """The prompt that goes on behind all that came."""
        return resume(self.prompt, self.raw, self.tokens)

    @property
    def next_request(self) -> Request:
        """The request for what it may still say."""
        return Request(self.rest, self.left, boundary.stops(self.request.cursor), self.sample)

    @property
    def is_over(self) -> bool:
        """Return whether nothing more is to come."""
        return self.phase in ENDED

    @property
    def text(self) -> str:
        """The text after the cursor it began at."""
        forced = self.prompt.forced
        return self.raw[len(forced) :] if self.raw.startswith(forced) else ""

    @property
    def said(self) -> Said:
        """The text that it says so far, behind the middle it began at."""
        its_odds = odds(self.tokens, self.prompt.forced, self.text)
        return Said(self.typed + self.text, len(self.typed), self.phase is Phase.WHOLE, its_odds)

    def at(self, request: CompletionRequest) -> Known:
        """Return what it says to *request* by now; found once for each piece of its text."""
        now = request, len(self.raw), self.phase, self.is_paused, self.is_shown
        if now != self._known_at:
            self._known = self._find_known(request)
            self._known_at = now
        return self._known

    def _find_known(self, request: CompletionRequest) -> Known:
        typed = request.document.before(request.position, self.window.anchor)
        said = self.said
        is_over = self.is_over
        is_typed = is_over and said.is_typed(typed, request.cursor)
        if is_typed or not self.agrees(self.window, typed):
            return Known()
        left = said.find_rest(typed) or Candidate("")
        unsure = typed != self.typed or self.is_unsure
        return Known(
            (left,),
            is_over=is_over or self.is_paused,
            is_settled=unsure and likely(left, request.sure).why == NOT_SURE,
            has_line="\n" in left.text.lstrip(),
            was_shown=self.is_shown,
        )

    def agrees(self, window: Window, middle: str) -> bool:
        """Return whether it has text for a request at *middle*, or may still have."""
        if window != self.window or not middle.startswith(self.typed):
            return False
        so_far = self.typed + self.text
        return so_far.startswith(middle) or (not self.is_over and middle.startswith(so_far))

    def is_on_the_way(self, window: Window, middle: str) -> bool:
        """Return whether a user who typed *middle* can still type this."""
        return self.agrees(window, middle) or (
            window == self.window and self.typed.startswith(middle)
        )

    @property
    def is_unsure(self) -> bool:
        """Return whether no more than a beginning of it can be shown where it began."""
        return self.logprob < self.least

    def is_wanted(self, look: Callable[[], Now]) -> bool:
        """Return whether it is to be run: for a request, or for a key that may come."""
        if self.is_paused or (self.waiting and not self.sample):
            return not self.is_paused
        now = look()
        is_free = self.is_newest and not now.is_wire_wanted
        return now.leads and (self.waiting > 0 or (is_free and self._lingers(now)))

    def goes_on(self, now: Now) -> bool:
        """
        Return whether its stream goes on, being asked after each piece of text.

        what it is for                           no other waits       another step waits
        ---------------------------------------  -------------------  ------------------
        the newest request waits for it          go on                go on
        another request waits for it             go on                stop
        none waits, more could be shown          go on for a moment   stop
        none waits, no more can be shown         stop                 stop
        contradicted by a key                    stop                 stop
        """
        if not now.leads:
            self.news.set()  # a request that joined it may need another
        if self.is_paused or not (now.leads or self.waiting):
            return False
        if now.is_wire_wanted:  # perhaps by this very generation, if it began ahead
            return self.waiting > 0 and self.is_newest
        return self.waiting > 0 or self._lingers(now)

    def _lingers(self, now: Now) -> bool:
        """Return whether it goes on for a key that may come, if more of it could be shown."""
        return now.time < self.until and not self.is_unsure

    def take(self, reply: Reply) -> bool:
        """Append what a reply brought; return whether that ends it."""
        was_unsure = self.is_unsure
        self.cost = self.cost.plus(reply.timings)
        if len(self.raw) >= len(self.prompt.forced):
            self.logprob += sum(token.logprob or 0.0 for token in reply.tokens)
        self.raw += reply.text
        self.tokens += reply.tokens
        self.left -= reply.n_tokens
        if reply.stop in (Stop.END, Stop.WORD) or self._is_enough(reply.text):
            self.phase = Phase.WHOLE
        elif reply.stop is Stop.FULL or self.left <= 0:
            self.phase = Phase.SHORT
        if self.is_over or "\n" in reply.text or (self.is_unsure and not was_unsure):
            self.news.set()
        return self.is_over

    def _is_enough(self, new: str) -> bool:
        """
        Return whether the text is whole: asked at line ends, where it may be, and now and then
        because of loops.
        """
        if "\n" not in new and len(self.tokens) - self.n_judged < LOOK_TOKENS:
            return False
        self.n_judged = len(self.tokens)
        return enough(self.text, self.request.cursor)

    def join(self, claim: Claim[str]) -> None:
        """Have a request wait for it, which decodes it further."""
        self.waiting += 1
        self.is_paused = False
        self.claim = claim

    @property
    def is_newest(self) -> bool:
        """Return whether the newest request waits, or waited, for it."""
        return self.claim is not None and self.claim.is_newest

    def leave(self, until: float, *, shown: bool) -> None:
        """
        Have a request wait for it no longer, *shown* a part of it; it goes on *until* then, for the
        next one.
        """
        self.waiting -= 1
        self.until = until
        self.is_shown |= shown

    def go_ahead(self) -> None:
        """Decode without a request that waits, as long as nothing else is to be done."""
        self.until = math.inf

    def begin_run(self) -> bool:
        """Return whether a task is to run it: the caller's, and no other from now on."""
        is_mine = self.is_idle and not self.is_over
        self.is_idle &= not is_mine
        return is_mine

    def release(self) -> None:
        """Let another task run it: this one has ended."""
        self.is_idle = True
        self.news.set()

    def hand_over(self) -> bool:
        """Return whether its text is all that there will be, and was not handed over before."""
        first = self.phase in (Phase.WHOLE, Phase.SHORT) and not self.is_kept
        self.is_kept |= first
        return first

    def count_step(self, evaluated: int) -> None:
        """Add the cost of a step of its prompt; after a step without any it is decoded."""
        self.cost = self.cost.plus(Timings(prompt_n=evaluated))
        if not evaluated:
            self.phase = Phase.DECODE

    def pause(self) -> None:
        """Decode no more, unless a request joins it."""
        self.is_paused = True
        self.news.set()

    def end(self) -> None:
        """Decode no more; what came is all."""
        if not self.is_over:
            self.phase = Phase.SHORT
            self.news.set()

    def fail(self, error: Exception) -> None:
        """End it; each request that waits raises *error*."""
        self.phase = Phase.FAILED
        self.error = error
        self.news.set()


def enough(text: str, cursor: Cursor) -> bool:
    """
    Return whether decoding can stop: the text is whole, or it went into a loop that would be cut.
    """
    candidate = Candidate(text, whole=False)
    loops = any(step(candidate, cursor).text != text for step in (stuttering, looping_lines))
    return loops or boundary.enough(text, cursor)

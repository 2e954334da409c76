"""
A generation: a completion that is being decoded, and the requests that wait for it.

Goal: a keystroke that agrees with what is being decoded joins it instead of starting another, and a
keystroke that disagrees stops it within one token. Requests come and go as `waiting`; without one
the stream goes on for a moment, because the next key may bring another, then it pauses and can be
resumed (`life`). `news` wakes those that wait: a line is whole, the text is not sure any more, or
something happened.

`Decoding` runs generations: the steps of a prompt, then the stream, while that is wanted. `keep`
stores the text that they bring.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from fim_lsp.session.answering.completion import Completion
from fim_lsp.session.answering.life import ENDED, StreamEvent, StreamState
from fim_lsp.session.lane import OVER, Effort, Lane, PermittedModel, Withdrawn
from fim_lsp.session.state.open_document import CHANGED, OpenDocument
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.request import CompletionRequest
from fim_lsp.tasks import LAST_S, Claim, Tasks
from server_bridge.protocol import BackendError, PromptTooLong, Reply, Stop, Timings

UNWANTED = "the user typed something else"


@dataclass(slots=True, eq=False, repr=False)
class Generation:
    """
    *completion* is for *doc*. *waiting* is how many requests wait for it, *cost* what the model did
    for it so far, *effort* that for its prompt, which *is_evaluated* but for what the stream
    evaluates. Each request that waits raises *error*. *was_shown*: a request was answered with a
    part of it.

    *_claim* is of the last request that waited for it, to be the newest. Without one it goes on
    *_until* then, a time of the event loop.
    """

    completion: Completion
    doc: OpenDocument
    waiting: int = 0
    error: Exception | None = None
    cost: Timings = field(default_factory=Timings)
    effort: Effort = field(default_factory=Effort)
    is_evaluated: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)
    was_shown: bool = False
    _claim: Claim[str] | None = None
    _until: float = 0.0

    @property
    def is_reachable(self) -> bool:
        """
        Return whether the cursor may still come to what it says; another sample is for the text
        alone that it was asked in.
        """
        frame = self.doc.view.ladder.current
        at = self.doc.cursor
        if frame is None or at is None or at.line < frame.window.anchor:
            return False
        if self.completion.sample:
            return self.doc.document is self.completion.request.document
        typed = self.doc.document.before(at, frame.window.anchor)
        return self.completion.is_on_the_way(frame.window, typed)

    def is_wanted(self, now: float, *, is_wire_wanted: bool) -> bool:
        """Return whether it is to be run: for a request, or for a key that may come."""
        if self.completion.state is not StreamState.GENERATING:
            return False
        if self.waiting:
            return not self.completion.sample or self.is_reachable
        return not is_wire_wanted and self._is_newest and self._lingers(now) and self.is_reachable

    def goes_on(self, now: float, *, is_wire_wanted: bool) -> bool:
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
        is_reachable = self.is_reachable
        if not is_reachable:
            self.news.set()  # a request that joined it may need another
        if self.completion.state is not StreamState.GENERATING:
            return False
        if self.waiting:  # the step that waits may be for this very one, if it began ahead
            return self._is_newest or not is_wire_wanted
        return is_reachable and not is_wire_wanted and self._lingers(now)

    def _lingers(self, now: float) -> bool:
        """Return whether it goes on for a key that may come, if more of it could be shown."""
        return now < self._until and not self.completion.is_unsure

    @property
    def _is_newest(self) -> bool:
        """Return whether the newest request waits, or waited, for it."""
        return self._claim is not None and self._claim.is_newest

    def take(self, reply: Reply) -> bool:
        """Append what a reply brought; return whether that ends it."""
        was_unsure = self.completion.is_unsure
        self.cost = self.cost.plus(reply.timings)
        ends = self.completion.take(reply)
        if ends or "\n" in reply.text or (self.completion.is_unsure and not was_unsure):
            self.news.set()
        return ends

    def happen(self, event: StreamEvent) -> bool:
        """Wake the requests that wait, for *event*; return whether it changes the state."""
        self.news.set()
        return self.completion.happen(event)

    async def wait_news(self) -> None:
        """Wait for news that come from now on."""
        self.news.clear()
        await self.news.wait()

    def join(self, claim: Claim[str]) -> None:
        """Have a request wait for it, which decodes it further."""
        self.waiting += 1
        self._claim = claim
        self.completion.happen(StreamEvent.JOIN)

    def leave(self, until: float, *, shown: bool) -> None:
        """
        Have a request wait for it no longer, *shown* a part of it; it goes on *until* then, for the
        next one.
        """
        self.waiting -= 1
        self._until = until
        self.was_shown |= shown

    def go_ahead(self) -> None:
        """Decode without a request that waits, as long as nothing else is to be done."""
        self._until = math.inf

    def count_step(self, evaluated: int) -> None:
        """Add the cost of a step of its prompt; after a step without any it is decoded."""
        self.cost = self.cost.plus(Timings(prompt_n=evaluated))
        self.is_evaluated = not evaluated

    def fail(self, error: Exception) -> None:
        """End it; each request that waits raises *error*."""
        self.error = error
        self.happen(StreamEvent.ERROR)


@dataclass(eq=False, repr=False)
class Decoding:
    """The generations under way; *keep* gets each that has ended."""

    _lane: Lane
    _stats: Stats
    _keep: Callable[[Generation], None]
    _tasks: Tasks = field(default_factory=Tasks)
    _running: set[Generation] = field(default_factory=set)

    async def aclose(self) -> None:
        """End all generations."""
        await self._tasks.aclose(LAST_S)

    def run(self, generation: Generation) -> None:
        """Have *generation* run, unless it does."""
        if generation not in self._running and generation.completion.state not in ENDED:
            self._running.add(generation)
            task = self._tasks.start(self._generate(generation), "generation")
            task.add_done_callback(partial(self._end_run, generation))

    def _end_run(self, generation: Generation, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # perhaps before it began
            self._fail(generation, Withdrawn("the session ends"))

    async def _generate(self, generation: Generation) -> None:
        """Decode until *generation* has ended or is not wanted; never raises, see `fail`."""
        advance = partial(self._advance, generation)

        def is_wanted() -> bool:
            now = asyncio.get_running_loop().time()
            return generation.is_wanted(now, is_wire_wanted=self._lane.is_wanted)

        def why_over() -> str:
            return "" if is_wanted() else UNWANTED

        try:
            while is_wanted():
                await self._lane.run(generation.doc.permit(), advance, why_over)
        except Exception as error:  # noqa: BLE001  (each request that waits raises it)
            if is_wanted() or not isinstance(error, Withdrawn):
                self._fail(generation, error)
        finally:
            self._running.discard(generation)
            generation.happen(StreamEvent.LATE)

    async def _advance(self, generation: Generation, model: PermittedModel) -> None:
        """
        Make one step on the wire: of a long prompt's evaluation, so that a newer generation waits
        for no more than that, or else the stream.
        """
        if not generation.is_evaluated:
            prompt = generation.completion.rest
            warmed = await self._lane.step(prompt, generation.effort, model)
            generation.count_step(warmed.evaluated)
            if warmed.evaluated:
                self._stats.count_warm(warmed, waited_for=generation.waiting > 0)
                return
        if generation.completion.state not in ENDED:
            await self._decode(generation, model)

    async def _decode(self, generation: Generation, model: PermittedModel) -> None:
        completion = generation.completion
        self._stats.count_stream(waited_for=generation.waiting > 0)
        try:
            async with aclosing(model.stream(completion.next_request)) as replies:
                async for reply in replies:
                    self._stats.count_reply(reply, waited_for=generation.waiting > 0)
                    if generation.take(reply):
                        self._keep(generation)
                    if why_late(completion.request, generation.doc) and not generation.is_reachable:
                        generation.happen(StreamEvent.KEY)
                    if reply.stop is not Stop.LIMIT or completion.left <= 0:
                        # the last piece: a stream that is read to its end keeps its connection
                        if completion.left < -OVER:
                            return
                    elif not self._goes_on(generation):
                        return
        except PromptTooLong:
            if not completion.text:
                raise
        if generation.happen(StreamEvent.CUT):  # its text so far fills the context
            self._keep(generation)

    def _goes_on(self, generation: Generation) -> bool:
        now = asyncio.get_running_loop().time()
        return generation.goes_on(now, is_wire_wanted=self._lane.is_wanted)

    def _fail(self, generation: Generation, error: Exception) -> None:
        """End *generation* with *error*: no request joins it any more."""
        generation.fail(error)
        self._keep(generation)

    async def step(self, generation: Generation) -> bool:
        """
        Advance *generation*, until the wire is wanted; a request that joins it meanwhile waits for
        it.
        """
        completion = generation.completion
        is_left = completion.state is StreamState.GENERATING and not generation.waiting
        if not is_left or completion.is_unsure:
            return False
        generation.go_ahead()

        def why_over() -> str:
            return UNWANTED if completion.state is StreamState.PAUSED else ""

        try:
            model = await self._lane.model(generation.doc.permit(), why_over)
            await self._advance(generation, model)
        except (BackendError, Withdrawn) as error:
            if completion.state is StreamState.PAUSED and isinstance(error, Withdrawn):
                return False
            self._fail(generation, error)
            raise  # the lane looks for the server again
        return completion.state not in ENDED


def why_late(request: CompletionRequest, doc: OpenDocument) -> str:
    """Return why *request* is answered no more, "" where it may be."""
    return "" if doc.document.version == request.document.version else CHANGED

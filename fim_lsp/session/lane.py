"""
The way to the model: work shows a permit, and gets a model that asks the permit before each call.

The text that may be shown to a model changes while a request waits: a rule, the text, a file that
is deleted. A check before a wait is a guess after it, so the permit is asked when the wire is taken
and the model is there, before every call, and for every piece of an answer. Only this module hands
out the model, so no work can leave that out.

Operations: run one step on the wire, evaluate a prompt in steps, write an answer in a stream that
makes way. A prompt is evaluated in as many steps as its tokens allow (`Effort`), whatever the
server says that it keeps; between two steps the event loop runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from fim_lsp.documents import unix, well_formed
from fim_lsp.session.connection import Connection
from fim_lsp.session.scheduler import Scheduler, Step
from server_bridge.protocol import (
    BackendError,
    Measure,
    Model,
    Prompt,
    Reply,
    Request,
    State,
    Stop,
    Warmed,
    rest,
)

T = TypeVar("T")

STEP_S = 0.25  # a step of prefill: a request that comes meanwhile may have to wait for it
STEP_TOKENS = (16, 4096)  # fewer cost more in requests than in evaluation
# Times its tokens, and the steps that they make: what took so many is not evaluated ahead any
# further. A server that keeps nothing, or says so, would be asked for ever.
TWICE = 2
SEAMS = 8  # steps that end sooner, because prompts part there, and the last ones
OVER = 256  # tokens more than were asked for: the server does not stop where it was told to

log = logging.getLogger(__name__)


class Withdrawn(Exception):
    """
    The text that the work would show is private now, or out of date; the error says which.

    *judged*: it may be asked for again, behind what may be shown once all is judged.
    """

    def __init__(self, why: str, *, judged: bool = False) -> None:
        super().__init__(why)
        self.judged = judged


Permit = Callable[[Prompt], None]
"""
The right to show the model texts: raises Withdrawn where a prompt may not be shown at this moment.
"""


WhyOver = Callable[[], str]
"""Returns why work is not wanted any more, "" while it is; asked before each call."""


@dataclass(frozen=True, slots=True)
class PermittedModel:
    """The model for work with a permit, until *why_over* says why not; see `Model`."""

    _model: Model
    _permit: Permit
    _why_over: WhyOver

    async def measure(self, prompt: Prompt) -> Measure:
        """Count the prompt."""
        return await self._model.measure(self._show(prompt))

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """Evaluate about *step* tokens more of the prompt."""
        return await self._model.warm(self._show(prompt), step)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """Decode piece by piece, with `\n` line ends, whichever the model writes."""
        shown = replace(request, prompt=self._show(request.prompt))
        async with aclosing(self._model.stream(shown)) as replies:
            ended = False  # with the first half of a line end, perhaps
            async for reply in replies:
                self._permit(request.prompt)
                text = unix(reply.text.removeprefix("\n") if ended else reply.text)
                ended = reply.text.endswith("\r") if reply.text else ended
                yield reply if text == reply.text else replace(reply, text=text)

    async def save(self, prompt: Prompt, files: tuple[str, ...]) -> int:
        """Keep *prompt*, which has text of *files*, over a restart; return its tokens."""
        return await self._model.save(self._show(prompt), files)

    async def restore(self, prompt: Prompt) -> int:
        """Load what serves *prompt* best; return how many tokens that spares."""
        return await self._model.restore(self._show(prompt))

    def _show(self, prompt: Prompt) -> Prompt:
        """Return *prompt* as the model gets it, if it may be shown now."""
        self._permit(prompt)
        if why := self._why_over():
            raise Withdrawn(why)
        own = (prompt.prefix, prompt.suffix, prompt.middle, *prompt.turns)
        if all(map(str.isascii, (*own, *(chunk.text for chunk in prompt.chunks)))):
            return prompt
        return replace(
            prompt,
            chunks=tuple(chunk._replace(text=well_formed(chunk.text)) for chunk in prompt.chunks),
            prefix=well_formed(prompt.prefix),
            suffix=well_formed(prompt.suffix),
            middle=well_formed(prompt.middle),
            turns=tuple(map(well_formed, prompt.turns)),
        )


Work = Callable[[PermittedModel], Awaitable[T]]


@dataclass(slots=True)
class Effort:
    """The steps and tokens that the evaluation of one prompt took so far."""

    n_steps: int = 0
    n_tokens: int = 0

    def is_enough(self, total: int, size: int) -> bool:
        """Return whether a prompt of *total* tokens, *size* a step, is to take no more."""
        return self.n_tokens >= TWICE * total or self.n_steps >= TWICE * (total // size + SEAMS)

    def add(self, warmed: Warmed) -> None:
        """Count one step more."""
        self.n_steps += 1
        self.n_tokens += warmed.evaluated


class Lane(Scheduler):
    """
    The scheduler whose steps get the model of *connection*, each with a permit.

    *_efforts* are what background work of each kind spent on each prompt, by its hash, which holds
    no text, since the user did something that it was left for.
    """

    def __init__(
        self, connection: Connection, kinds: tuple[str, ...], off_wire: tuple[str, ...] = ()
    ) -> None:
        super().__init__(kinds, off_wire)
        self.connection = connection
        self._efforts: dict[str, dict[int, Effort]] = {}

    async def run(self, permit: Permit, work: Work[T], why_over: WhyOver = lambda: "") -> T:
        """
        Do a step of *work* as soon as the one on the wire is done. Raises Withdrawn, BackendError.
        """
        await asyncio.sleep(0)  # a loop over steps lets the event loop run, whatever the steps do

        def check(*prompts: Prompt) -> None:
            if self._tasks.are_over:
                raise Withdrawn("the session ends")
            for prompt in prompts:
                permit(prompt)

        async def step() -> T:
            check()
            return await self._do(check, work, why_over)

        return await self.foreground(step)

    async def look(self, permit: Permit, work: Work[T]) -> T:
        """
        Do the same for the page, a report or the disk: background work goes on as if nothing was
        asked for.
        """
        return await self.observe(partial(self._do, permit, work))

    async def _do(self, permit: Permit, work: Work[T], why_over: WhyOver = lambda: "") -> T:
        try:
            return await work(await self.model(permit, why_over))
        except BackendError:
            self.connection.start_connecting()  # if it is not ready any more
            raise

    async def model(self, permit: Permit, why_over: WhyOver = lambda: "") -> PermittedModel:
        """
        Return the model, connected where that is needed; for a step that has the wire. Raises
        BackendError.
        """
        return PermittedModel(await self.connection.connect(), permit, why_over)

    def background(self, kind: str, step: Step, *, delay: float = 0.0) -> None:
        """
        Leave *step* for when no request was there for *delay* seconds; a failure of the backend
        ends it.
        """
        self._efforts[kind] = {}
        super().background(kind, partial(self._end_quietly, kind, step), delay=delay)

    def again(self, kind: str, step: Step, *, delay: float) -> None:
        """Leave *step* for later on behalf of the work of this *kind*; see `Scheduler`."""
        super().again(kind, partial(self._end_quietly, kind, step), delay=delay)

    async def _end_quietly(self, kind: str, step: Step) -> bool:
        try:
            return await step()
        except Withdrawn as reason:
            log.debug("%s ended: %s", kind, reason)
        except BackendError as error:
            log.info("%s failed: %s", kind, error)
            self.connection.note_change()
        return False

    async def evaluate(self, permit: Permit, prompt: Prompt, *, to_end: bool = False) -> int:
        """
        Evaluate *prompt* in steps, between which others may come; return how many tokens that took.
        """
        effort = Effort()
        warmed = Warmed(1, 1)
        while warmed.evaluated and warmed.left:
            warmed = await self.run(permit, partial(self.step, prompt, effort, to_end=to_end))
        return effort.n_tokens

    async def ahead(self, kind: str, prompt: Prompt, model: PermittedModel) -> Warmed:
        """Evaluate a step of *prompt*, to its end, for background work of this *kind*."""
        effort = self._efforts.setdefault(kind, {}).setdefault(hash(prompt), Effort())
        warmed = await self.step(prompt, effort, model, to_end=True)
        if warmed.evaluated:
            self.note_progress(kind)
        return warmed

    async def step(
        self, prompt: Prompt, effort: Effort, model: PermittedModel, *, to_end: bool = False
    ) -> Warmed:
        """
        Evaluate a step of *prompt*; nothing where less than a step is left, which the request for
        text evaluates, but *to_end*, and nothing after enough *effort*, to which it adds.
        """
        size = step_tokens(self.connection.state)
        measure = await model.measure(prompt)
        least = 0 if to_end else size
        if measure.total - measure.cached <= least or effort.is_enough(measure.total, size):
            return Warmed(0, 0)
        warmed = await model.warm(prompt, size)
        effort.add(warmed)
        return warmed

    async def write(
        self,
        permit: Permit,
        request: Request,
        take: Callable[[Reply], bool],
        can_rest: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Have the model write: *take* gets each piece, and returns whether to go on.

        Where *can_rest* says that the rest can be asked for later, another step that waits comes in
        between.
        """
        left: Request | None = request
        while left is not None:
            left = await self.run(permit, partial(self._write, left, take, can_rest))

    async def _write(
        self,
        request: Request,
        take: Callable[[Reply], bool],
        can_rest: Callable[[], bool],
        model: PermittedModel,
    ) -> Request | None:
        """Write until another step waits; return what is left to ask for then, else None."""
        replies = list[Reply]()
        n_left = request.n_predict
        async with aclosing(model.stream(request)) as stream:
            async for reply in stream:
                await asyncio.sleep(0)  # many pieces may be there at once
                replies.append(reply)
                n_left -= reply.n_tokens
                if not take(reply) or n_left < -OVER:
                    return None
                if self.is_wanted and reply.stop is Stop.LIMIT and can_rest():
                    return rest(request, *replies)
        return None


def step_tokens(state: State) -> int:
    """Return how many tokens the backend evaluates in one step of about `STEP_S`."""
    low, high = STEP_TOKENS
    return max(low, min(high, int(state.prefill_per_s * STEP_S)))

"""
Runs generations: the steps of a prompt, then the stream, while that is wanted.

State: the tasks under way. What generations bring goes into their `OpenDocument`.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from fim_lsp.session.generation import Generation, Now, Phase
from fim_lsp.session.lane import OVER, Lane, PermittedModel, Withdrawn
from fim_lsp.session.state.open_document import CHANGED, OpenDocument
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.request import CompletionRequest
from fim_lsp.tasks import LAST_S, Tasks
from server_bridge.protocol import BackendError, PromptTooLong, Stop

UNWANTED = "the user typed something else"


@dataclass(eq=False, repr=False)
class Decoding:
    """The generations under way."""

    _lane: Lane
    _stats: Stats
    _tasks: Tasks = field(default_factory=Tasks)

    async def aclose(self) -> None:
        """End all generations."""
        await self._tasks.aclose(LAST_S)

    def run(self, generation: Generation, doc: OpenDocument) -> None:
        """Have *generation* run, unless it does."""
        if generation.begin_run():
            task = self._tasks.start(self._generate(generation, doc), "generation")
            task.add_done_callback(partial(self._end_run, generation, doc))

    def _end_run(self, generation: Generation, doc: OpenDocument, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # perhaps before it began
            self._fail(generation, doc, Withdrawn("the session ends"))

    async def _generate(self, generation: Generation, doc: OpenDocument) -> None:
        """Decode until *generation* has ended or is not wanted; never raises, see `fail`."""
        advance = partial(self._advance, generation, doc)

        def is_wanted() -> bool:
            return generation.is_wanted(partial(self._now, doc, generation))

        def why_over() -> str:
            return "" if is_wanted() else UNWANTED

        try:
            while not generation.is_over and is_wanted():
                await self._lane.run(doc.permit(), advance, why_over)
        except Exception as error:  # noqa: BLE001  (each request that waits raises it)
            if is_wanted() or not isinstance(error, Withdrawn):
                self._fail(generation, doc, error)
        finally:
            generation.release()

    async def _advance(
        self, generation: Generation, doc: OpenDocument, model: PermittedModel
    ) -> None:
        """
        Make one step on the wire: of a long prompt's evaluation, so that a newer generation waits
        for no more than that, or else the stream.
        """
        if generation.phase is Phase.PREFILL:
            warmed = await self._lane.step(generation.rest, generation.effort, model)
            generation.count_step(warmed.evaluated)
            if warmed.evaluated:
                self._stats.count_warm(warmed, waited_for=generation.waiting > 0)
                return
        if not generation.is_over:
            await self._decode(generation, doc, model)

    async def _decode(
        self, generation: Generation, doc: OpenDocument, model: PermittedModel
    ) -> None:
        self._stats.streams[generation.waiting > 0] += 1
        try:
            async with aclosing(model.stream(generation.next_request)) as replies:
                async for reply in replies:
                    self._stats.count_reply(reply, waited_for=generation.waiting > 0)
                    if is_over := generation.take(reply):
                        self._keep(generation, doc)
                    if why_late(generation.request, doc) and not doc.leads_to(generation):
                        generation.pause()
                    if reply.stop is not Stop.LIMIT or generation.left <= 0:
                        # the last piece: a stream that is read to its end keeps its connection
                        if generation.left < -OVER:
                            return
                    elif is_over or not generation.goes_on(self._now(doc, generation)):
                        return
        except PromptTooLong:
            if not generation.text:
                raise
        generation.end()  # its text so far fills the context
        self._keep(generation, doc)

    def _now(self, doc: OpenDocument, generation: Generation) -> Now:
        """Return what decides whether *generation* goes on now."""
        time = asyncio.get_running_loop().time()
        return Now(time, doc.leads_to(generation), self._lane.is_wanted)

    def _keep(self, generation: Generation, doc: OpenDocument) -> None:
        """Store the text of a finished generation as a known continuation."""
        doc.view.known.keep(generation, self._lane.connection.state.model)

    def _fail(self, generation: Generation, doc: OpenDocument, error: Exception) -> None:
        """End *generation* with *error*: no request joins it any more."""
        generation.fail(error)
        self._keep(generation, doc)

    async def step(self, generation: Generation, doc: OpenDocument) -> bool:
        """
        Advance *generation*, until the wire is wanted; a request that joins it meanwhile waits for
        it.
        """
        if generation.waiting or generation.is_over or generation.is_paused or generation.is_unsure:
            return False
        generation.go_ahead()

        def why_over() -> str:
            return UNWANTED if generation.is_paused else ""

        try:
            await self._advance(generation, doc, await self._lane.model(doc.permit(), why_over))
        except (BackendError, Withdrawn) as error:
            if generation.is_paused and isinstance(error, Withdrawn):
                return False
            self._fail(generation, doc, error)
            raise  # the lane looks for the server again
        return not generation.is_over


def why_late(request: CompletionRequest, doc: OpenDocument) -> str:
    """Return why *request* is answered no more, "" where it may be."""
    return "" if doc.document.version == request.document.version else CHANGED

"""
Starts generations, and lets requests wait for them.

`ask` answers a request with what the model says; while no request waits, `decode_ahead` decodes
what would come after the suggestion on screen. State: which request is the newest.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from fim_lsp.prompt.frame import Frame, compose
from fim_lsp.session.answering.completion import Completion
from fim_lsp.session.answering.generation import Decoding, Generation, why_late
from fim_lsp.session.answering.texts import KnownTexts
from fim_lsp.session.framing import Framing
from fim_lsp.session.lane import Lane, Withdrawn
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters.order import polish
from fim_lsp.suggest.known import Known, Wait, is_answered
from fim_lsp.suggest.request import CompletionRequest, Suggestion, accept
from fim_lsp.tasks import Newest
from server_bridge.protocol import BackendError, PromptTooLong, Timings

# A stream continues for this long after a request was answered: the next key brings one that joins
# it. Where a request left without its text, cancelled or late, it goes on to its end.
LINGER_S = 1.0
# The text behind a suggestion is decoded once the user looks at it for as long as so many tokens
# take.
AHEAD_TOKENS = 32

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class Dispatcher:
    """The requests that wait for generations."""

    _lane: Lane
    _stats: Stats
    _framing: Framing
    texts: KnownTexts = field(default_factory=KnownTexts)
    _newest: Newest[str] = field(default_factory=Newest)  # the newest request
    _decoding: Decoding = field(init=False)

    def __post_init__(self) -> None:
        self._decoding = Decoding(self._lane, self._stats, self._keep)

    @property
    def _model(self) -> str:
        """The name of the model now."""
        return self._lane.connection.state.model

    async def ask(
        self, request: CompletionRequest, doc: OpenDocument, wait: Wait
    ) -> tuple[list[Candidate], Timings]:
        """
        Return the likeliest text of the model, and its cost; by hand, where all of that is on
        screen or filters leave nothing of it, different ones behind it.

        A generation under way that agrees with what is typed is joined at once; before a new one,
        the next key is waited for, which cancels this. Raises `BackendError`, Withdrawn.
        """
        if request.invoked:
            return await self._ask_by_hand(request, doc, wait)
        return await self._ask_first(request, doc, wait)

    def has_more(
        self, request: CompletionRequest, doc: OpenDocument, known: Sequence[Candidate]
    ) -> bool:
        """
        Return whether a user who asks gets more than what is *known*: other texts where all of the
        first is on screen or filters leave nothing of it, or any text where none is known and the
        model is away.
        """
        if not request.invoked:
            return False
        if not self._lane.connection.is_ready:
            return not any(each.text for each in known)
        return self._has_others(request, doc, known)

    def _has_others(
        self, request: CompletionRequest, doc: OpenDocument, known: Sequence[Candidate]
    ) -> bool:
        if doc.current is not request.document or len(known) >= request.n_wanted:
            return False
        if self.texts.of(doc).has_others(request.cursor, self._model):
            return False
        first = polish(known[0], request.cursor, request.sure)
        if known[0].text and not first.text:
            return True
        shown = doc.requests.displayed
        return shown is not None and shown.shows(request, first, self._model)

    def decode_ahead(
        self, request: CompletionRequest, doc: OpenDocument, suggestion: Suggestion
    ) -> None:
        """Decode what comes after *suggestion*, in case it is accepted; it is on screen now."""
        if doc.current is not request.document:
            return  # the user typed on
        after = accept(request, suggestion)
        frame = doc.view.ladder.current
        if frame is None or self.texts.find(doc, after, self._model).candidates:
            return
        if self.texts.joinable(doc, after):
            return
        if frame.prompt(request.place).suffix != frame.window.suffix:
            return  # the suggestion may come between a secret and the name that tells it is one
        generation = self._new(after, doc, frame)
        step = partial(self._decoding.step, generation)
        delay_s = AHEAD_TOKENS * request.state.decode_ms / 1000
        self._lane.background("decode ahead", step, delay=delay_s)

    def _keep(self, generation: Generation) -> None:
        """Store the text of a generation that has ended as a known continuation."""
        self.texts.keep(generation, self._model)

    async def aclose(self) -> None:
        """End all generations."""
        await self._decoding.aclose()

    async def _ask_by_hand(
        self, request: CompletionRequest, doc: OpenDocument, wait: Wait
    ) -> tuple[list[Candidate], Timings]:
        said = [*self.texts.of(doc).at(request, self._model).candidates[: request.n_wanted]]
        cost = Timings()
        if not said:
            said, cost = await self._ask_first(request, doc, wait)
        if not self._has_others(request, doc, said):
            return said, cost
        said, more = await self._ask_others(request, doc, wait, said[0])
        return said, cost.plus(more)

    async def _ask_first(
        self, request: CompletionRequest, doc: OpenDocument, wait: Wait
    ) -> tuple[list[Candidate], Timings]:
        """Return the likeliest text, of a prompt that fits."""
        while True:
            try:
                return await self._ask(request, doc, wait)
            except PromptTooLong as error:
                if not self._framing.shrunk(doc, doc.view.ladder.current, error):
                    raise

    async def _ask_others(
        self, request: CompletionRequest, doc: OpenDocument, wait: Wait, first: Candidate
    ) -> tuple[list[Candidate], Timings]:
        """
        Return *first*, and behind it what else the model says at the place, as far as it is whole.

        The other texts are for the document that was asked about: a key ends them.
        """
        cost = Timings()
        try:
            for sample in range(1, request.n_wanted):
                if doc.current is not request.document:
                    break
                another = await self._start(request, doc, sample)
                _, more = await self._wait(another, request, wait._replace(early=wait.until))
                cost = cost.plus(more)
            else:
                self.texts.of(doc).note_others(request.cursor, self._model)
        except BackendError as error:
            log.info("no other text: %s", error)
        kept = self.texts.of(doc).kept.find(request.cursor, self._model)
        others = [each for each in kept if each.text != first.text]
        return [first, *others][: request.n_wanted], cost

    async def _ask(
        self, request: CompletionRequest, doc: OpenDocument, wait: Wait
    ) -> tuple[list[Candidate], Timings]:
        cost = Timings()
        debounce_s = wait.debounce_s
        while True:
            generation = self.texts.joinable(doc, request)
            if generation is None:
                await asyncio.sleep(debounce_s)
                generation = self.texts.joinable(doc, request) or await self._start(request, doc)
            known, more = await self._wait(generation, request, wait)
            cost = cost.plus(more)
            if known.candidates or doc.current is not request.document:
                return [*known.candidates] or [Candidate("")], cost
            debounce_s = 0.0  # the user typed ahead of it, and it says something else or no more

    async def _start(
        self, request: CompletionRequest, doc: OpenDocument, sample: int = 0
    ) -> Generation:
        # On the wire, so that no other evaluation makes the choice a wrong one.
        why_over = partial(why_late, request, doc)
        best = partial(self._framing.best, doc, request.place, by_hand=request.invoked)
        frame = await self._lane.run(doc.permit(), best, why_over)
        if why := why_over():
            raise Withdrawn(why)
        if frame is not doc.view.ladder.current:
            doc.view.ladder.install(frame)
        return self._new(request, doc, frame, sample)

    def _new(
        self, request: CompletionRequest, doc: OpenDocument, frame: Frame, sample: int = 0
    ) -> Generation:
        typed = request.document.before(request.position, frame.window.anchor)
        prompt = compose(frame, typed)
        n_predict = request.config.completion.max_tokens
        completion = Completion(request, frame.window, typed, prompt, n_predict, sample)
        generation = Generation(completion, doc)
        if not sample:
            self.texts.begin(generation)
            self._stats.count_generation()
        return generation

    async def _wait(
        self, generation: Generation, request: CompletionRequest, wait: Wait
    ) -> tuple[Known, Timings]:
        """
        Wait until *generation* says enough to *request*, or its time is up; return that, and what
        it cost meanwhile.
        """
        loop = asyncio.get_running_loop()
        before = generation.cost
        alarms = [loop.call_at(at, generation.news.set) for at in (wait.early, wait.until)]
        n_lines = 0
        shown = False
        completion = generation.completion
        is_sample = completion.sample > 0
        lingers_s = 0.0 if is_sample else math.inf  # where the request leaves without it
        generation.join(self._newest.claim(""))
        try:
            self._decoding.run(generation)
            while True:
                known = completion.at(request, was_shown=generation.was_shown)
                if is_answered(known, wait, loop.time()):
                    break
                if is_sample and not generation.is_reachable:
                    break
                [so_far] = known.candidates
                if wait.on_lines and (n := so_far.text.count("\n")) > n_lines:
                    n_lines = n
                    wait.on_lines(so_far)
                await generation.wait_news()
            shown = known.has_line
            if known.is_over or known.is_settled or shown:
                lingers_s = LINGER_S
        finally:
            generation.leave(loop.time() + lingers_s, shown=shown)
            for alarm in alarms:
                alarm.cancel()
        if generation.error is not None:
            raise generation.error
        return known, generation.cost.since(before)

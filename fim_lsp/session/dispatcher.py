"""
Starts generations, lets requests wait for them, keeps what they bring.

`ask` answers a request with what the model says; while no request waits, `decode_ahead` decodes what
would come after the suggestion on screen. Mutable state: the tasks under way; what generations bring
goes into their `DocumentState`.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

from fim_lsp.prompt import window
from fim_lsp.prompt.frame import Frame
from fim_lsp.session import pacing
from fim_lsp.session.connection import Connection
from fim_lsp.session.document_state import DocumentState
from fim_lsp.session.framing import Framing
from fim_lsp.session.generation import Generation, Phase, advance, generate
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.session.scheduler import Scheduler
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.choice import chosen
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.request import CompletionRequest, Suggestion, accepted
from server_bridge.protocol import BackendError, PromptTooLong

PATIENCE = 10  # a request by hand waits so many times the deadline of an automatic suggestion


class Dispatcher:
    """See the module."""

    def __init__(
        self,
        connection: Connection,
        stats: Stats,
        framing: Framing,
        scheduler: Scheduler,
        open_documents: OpenDocuments,
    ) -> None:
        self._connection = connection
        self._stats = stats
        self._framing = framing
        self._scheduler = scheduler
        self._open_documents = open_documents
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(
        self, request: CompletionRequest, doc_state: DocumentState, debounce_s: float, n_wanted: int
    ) -> list[Candidate]:
        """
        What the model says at a place, *n_wanted* different candidates at most, the greedy one first.

        A generation under way that agrees with what is typed is joined at once; before a new one,
        *debounce_s* are waited for the next key, which cancels this. Raises `BackendError`.
        """
        while True:
            try:
                return await self._said(request, doc_state, debounce_s, n_wanted)
            except PromptTooLong as error:
                if not self._framing.shrunk(doc_state, doc_state.frame, error):
                    raise

    def decode_ahead(
        self, request: CompletionRequest, doc_state: DocumentState, suggestion: Suggestion
    ) -> None:
        """Decode what comes after *suggestion*, in case it is accepted; it is on screen now."""
        after = accepted(request, suggestion)
        if doc_state.frame is None or doc_state.continuations.find(after.cursor, self._model):
            return
        if doc_state.generation_for(after.document, after.position):
            return
        typed = window.middle(doc_state.frame.window, after.document, after.position)
        generation = self._new(after, doc_state, doc_state.frame, typed)
        self._scheduler.background("decode ahead", partial(self._step, generation, doc_state))

    async def aclose(self) -> None:
        """End all generations."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- generations ----------------------------------------------------------------------------

    @property
    def _model(self) -> str:
        return self._connection.state.model

    async def _said(
        self, request: CompletionRequest, doc_state: DocumentState, debounce_s: float, n_wanted: int
    ) -> list[Candidate]:
        document, position = request.document, request.position
        if not (generation := doc_state.generation_for(document, position)):
            await asyncio.sleep(debounce_s)
            if self._open_documents.current(doc_state) is None:  # closed, or judged again
                return []
            generation = doc_state.generation_for(document, position)
        generation = generation or await self._start(request, doc_state)
        typed = window.middle(generation.window, document, position)
        await self._wait(generation, doc_state, request)
        for sample in range(1, n_wanted):
            await self._wait(await self._start(request, doc_state, sample), doc_state, request)
        found = doc_state.continuations.find(request.cursor, self._model)
        return found[:n_wanted] or [generation.candidate(typed)]

    async def _start(
        self, request: CompletionRequest, doc_state: DocumentState, sample: int = 0
    ) -> Generation:
        # On the wire, so that no other evaluation makes the choice a wrong one.
        best = partial(self._framing.best, doc_state, request.document, request.position)
        frame = await self._scheduler.foreground(best)
        if frame is not doc_state.frame:
            doc_state.install(frame)
        typed = window.middle(frame.window, request.document, request.position)
        return self._new(request, doc_state, frame, typed, sample)

    def _new(
        self,
        request: CompletionRequest,
        doc_state: DocumentState,
        frame: Frame,
        typed: str,
        sample: int = 0,
    ) -> Generation:
        prompt = self._framing.compose(frame, typed, doc_state.tape)
        terms = pacing.terms(request, sample)
        generation = Generation(request.cursor, frame.window, typed, prompt, terms, terms.n_predict)
        if not sample:
            doc_state.generations.appendleft(generation)
            self._stats.generations += 1
        return generation

    async def _wait(
        self, generation: Generation, doc_state: DocumentState, request: CompletionRequest
    ) -> None:
        """Wait until *generation* has ended, no longer than the deadline; without a request it rests."""
        deadline_s = request.config.completion.deadline_ms / 1000
        generation.waiting += 1
        try:
            if generation.idle.is_set() and not generation.ended:
                generation.idle.clear()
                task = asyncio.create_task(self._run(generation, doc_state), name="generation")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            with contextlib.suppress(asyncio.TimeoutError):
                seconds = deadline_s * (PATIENCE if request.invoked else 1)
                await asyncio.wait_for(generation.idle.wait(), seconds)
        finally:
            generation.waiting -= 1
        if generation.error is not None:
            raise generation.error

    async def _run(self, generation: Generation, doc_state: DocumentState) -> None:
        await generate(generation, self._connection.backend, self._scheduler, self._stats)
        self._keep(generation, doc_state)

    def _keep(self, generation: Generation, doc_state: DocumentState) -> None:
        """Keep what a generation brought: the tape, and, once it is whole, what is known now."""
        doc_state.took(generation)
        if generation.phase in (Phase.WHOLE, Phase.SHORT):
            local = self._connection.config.completion.local
            lines = self._open_documents.lines(doc_state) if local else None
            said = generation.candidate(generation.typed)
            tokens, forced, cursor = generation.tokens, generation.forced, generation.cursor
            candidate = chosen(said, tokens, forced, cursor, lines)
            doc_state.continuations.put(cursor, candidate, self._model)

    async def _step(self, generation: Generation, doc_state: DocumentState) -> bool:
        """One burst of *generation* ahead, unless a request waits for it by now and runs it anyway."""
        if generation.waiting or generation.ended:
            return False
        try:
            await advance(generation, self._connection.backend, self._stats)
        except BackendError as error:
            generation.failed(error)
        self._keep(generation, doc_state)
        return not generation.ended

"""
One completion request into suggestions: where it is decided what to ask, and waited for the answer.

What is known at the place is answered at once, the model is asked otherwise. A request lives as long as the backend
computes and the client wants it; only a menu, which opens with the answers that are there, has a deadline.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Coroutine
from functools import partial

from fim_lsp.documents import Document, Edit, Position
from fim_lsp.session.commit_messages import CommitMessages
from fim_lsp.session.connection import Connection
from fim_lsp.session.dispatcher import Dispatcher, Wait
from fim_lsp.session.document_state import DocumentState
from fim_lsp.session.judging import Judging
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.session.persistence import Persistence
from fim_lsp.session.prefill import Prefill
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.line_match import continued
from fim_lsp.suggest.request import (
    EDITOR,
    Client,
    CompletionRequest,
    Selected,
    Suggestion,
    request_at,
    suggestion,
    why_not,
    why_off,
)
from fim_lsp.suggest.typed_through import Displayed, left
from fim_lsp.workspace import paths
from fim_lsp.workspace.git_commit import is_message
from server_bridge.protocol import BackendError, BackendUnavailable, Health

# A cursor that only moved may still be moving: the model is not asked for every stop.
PASSING_MS = 250.0
PATIENCE_MS = 250.0  # for all of a text; then a line of it is shown
BY_HAND = 10  # a user who asked waits so many times the deadline of an automatic suggestion
BY_HAND_S = 1.0  # and so long for all of a text
LOOK_S = 0.25  # between two looks at a backend that starts: it may turn out not to be there
SPARE_S = 0.03  # between the deadline of the model's text and that of the answer

log = logging.getLogger(__name__)


class Completer:
    """
    See the module. *client_ms* is what the client waits by itself before it asks. *trouble* are words for a
    user who asked and got nothing, *current* is the document that was asked about last.
    """

    def __init__(  # noqa: PLR0913 (the parts of the session)
        self,
        *,
        connection: Connection,
        stats: Stats,
        open_documents: OpenDocuments,
        judging: Judging,
        persistence: Persistence,
        dispatcher: Dispatcher,
        prefill: Prefill,
        commit_messages: CommitMessages,
    ) -> None:
        self.client_ms = 0.0
        self.trouble = ""
        self.current = ""
        self._connection = connection
        self._stats = stats
        self._open = open_documents
        self._judging = judging
        self._persistence = persistence
        self._dispatcher = dispatcher
        self._prefill = prefill
        self._commit_messages = commit_messages
        self._numbers = itertools.count(1)

    async def complete(
        self,
        uri: str,
        position: Position,
        *,
        invoked: bool,
        selected: Selected | None = None,
        client: Client = EDITOR,
    ) -> list[Suggestion]:
        """The suggestions at *position*; raises nothing but `CancelledError`."""
        started, outcome = time.perf_counter(), "superseded"
        document, self.trouble = self._open.documents.get(uri), ""
        self.current = uri
        try:
            if document is None:
                outcome = "not open"
                return []
            doc_state = self._open.states[uri]
            doc_state.position = document.clamp(position)
            path, state, config = (
                doc_state.file.path,
                self._connection.state,
                client.config or self._connection.config,
            )
            request = request_at(
                document, position, path, config, state,
                invoked=invoked, selected=selected, client=client,
            )  # fmt: skip
            until = asyncio.get_running_loop().time() + self._seconds(request)
            answer = self._answer(request, doc_state, until - SPARE_S)
            outcome, suggestions = await self._in_time(request, answer, until)
            if client.offers:
                self._offer(document, suggestions)
            return suggestions
        except BackendError as error:
            outcome, self.trouble = type(error).__name__, str(error)
            log.warning("no completion: %s", error)
            if isinstance(error, BackendUnavailable):
                self._connection.reach()
            return []
        finally:
            self._stats.answered(outcome, (time.perf_counter() - started) * 1e3)
            self._connection.tell()

    async def _in_time(
        self,
        request: CompletionRequest,
        answer: Coroutine[None, None, tuple[str, list[Suggestion]]],
        until: float,
    ) -> tuple[str, list[Suggestion]]:
        """The *answer*; none where its time is up, for a client that does not cancel what it no longer wants."""
        if request.client.cancels or request.invoked:
            return await answer
        try:
            seconds = until - asyncio.get_running_loop().time()
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            self.trouble = self._connection.state.message or "the model server does not answer"
            log.warning("no completion in time: %s", self.trouble)
            return "too late", []

    async def _answer(
        self, request: CompletionRequest, doc_state: DocumentState, until: float
    ) -> tuple[str, list[Suggestion]]:
        """How the request ends (a word for the statistics) and what it gets."""
        await self._judging.wait_judged()
        uri = request.document.uri
        if is_message(paths.local_path(uri)):
            return await self._in_message(request)
        if reason := self._judging.why_private(uri):
            return f"private: {reason}", []
        self._open.memory(uri).moved(uri, request.position.line)
        if reason := why_off(request):
            return reason, []
        self._prefill.prefill_cursor(doc_state)
        if reason := why_not(request, deleted=doc_state.deleted):
            return reason, []
        if (rest := self._displayed_rest(request, doc_state)) is not None:
            found = suggestion(request, rest, str(next(self._numbers)))
            return "cache", [found] if found else []
        outcome, candidates = await self._candidates(request, doc_state, until)
        return self._offered(request, doc_state, outcome, candidates)

    async def _in_message(self, request: CompletionRequest) -> tuple[str, list[Suggestion]]:
        """The same for a request in a commit message, which is private but for this."""
        if reason := why_off(request):
            return reason, []
        text, self.trouble = await self._commit_messages.suggest(request)
        if not text:
            return "no commit message", []
        at = request.position
        return "backend", [Suggestion(str(next(self._numbers)), at, at, text)]

    def _offered(
        self,
        request: CompletionRequest,
        doc_state: DocumentState,
        outcome: str,
        candidates: list[Candidate],
    ) -> tuple[str, list[Suggestion]]:
        """What is left of *candidates* behind the filters, as suggestions; the first comes first."""
        polished = [polish(each, request.cursor, request.sure) for each in candidates]
        for candidate in polished:
            self._stats.cuts.update(cut.filter for cut in candidate.cuts)
        lasting = outcome != "local" and candidates[0].whole and request.selected is None
        model = self._connection.state.model
        one = lasting and len(candidates) == 1
        doc_state.displayed = Displayed(request.cursor, polished[0], model) if one else None
        different: dict[str, Candidate] = {}
        for candidate in polished:
            if candidate.text:
                different.setdefault(candidate.text, candidate)
        made = (suggestion(request, each, str(next(self._numbers))) for each in different.values())
        suggestions = [each for each in made if each]
        if not suggestions:
            return _why_none(polished), []
        if lasting:
            self._dispatcher.decode_ahead(request, doc_state, suggestions[0])
        return outcome, suggestions

    def _displayed_rest(
        self, request: CompletionRequest, doc_state: DocumentState
    ) -> Candidate | None:
        """What is left of the one suggestion on screen while the user types along it."""
        if doc_state.displayed is None or request.invoked or request.selected is not None:
            return None
        return left(doc_state.displayed, request.cursor, self._connection.state.model)

    async def _candidates(
        self, request: CompletionRequest, doc_state: DocumentState, until: float
    ) -> tuple[str, list[Candidate]]:
        """What is known at the cursor, what the model says, or else what stands in sight; and which."""
        n_wanted = request.config.completion.candidates if request.invoked else 1
        found = doc_state.continuations.find(request.cursor, self._connection.state.model)
        if found and (len(found) >= n_wanted or not request.invoked):
            return "cache", found[:n_wanted]
        line = found or [self._in_sight(request, doc_state)]
        if not await self._is_ready(request, has_line=bool(line[0].text)):
            self.trouble = self._connection.state.message or "the model is not ready yet"
            return "local", line
        await self._persistence.wait_restored(doc_state)
        self._persistence.used(doc_state, self._open.workspace(doc_state))
        try:
            wait = self._wait(request, doc_state, until)
            doc_state.typed = False
            said = await self._dispatcher.ask(request, doc_state, wait, n_wanted)
            return "backend", said
        finally:
            self._prefill.prefill_next(doc_state)

    async def _is_ready(self, request: CompletionRequest, *, has_line: bool) -> bool:
        """Whether the backend can be asked: soon, if it is just starting and no line can be offered."""
        self._connection.reach()
        if request.invoked:
            await self._connection.wait_ready()
        elif not has_line and self._connection.is_starting:
            deadline_s = request.config.completion.deadline_ms / 1000
            while self._connection.is_starting and deadline_s > 0:
                await self._connection.wait_ready(LOOK_S)
                deadline_s -= 0 if request.client.cancels else LOOK_S
        return self._connection.state.health is Health.READY

    def _in_sight(self, request: CompletionRequest, doc_state: DocumentState) -> Candidate:
        """What can be said without a model."""
        if not request.config.completion.local:
            return Candidate("")
        return continued(request.cursor, self._open.lines(doc_state))

    @staticmethod
    def _seconds(request: CompletionRequest) -> float:
        """How long the request may take."""
        seconds = request.config.completion.deadline_ms / 1000
        return seconds * BY_HAND if request.invoked else seconds

    def _wait(self, request: CompletionRequest, doc_state: DocumentState, until: float) -> Wait:
        """How long the request waits for what from now on."""
        debounce_s = self._debounce_s(request, doc_state)
        lasts = request.client.cancels or request.invoked
        if request.client.hear is not None:  # shown line by line, so all of it can be waited for
            hear = partial(self._tell, request)
            return Wait(debounce_s, until, until, grows=False, lasts=lasts, hear=hear)
        fixed = request.config.completion.patience_ms
        patience_s = (PATIENCE_MS if fixed is None else fixed) / 1000
        if request.invoked:
            patience_s = max(BY_HAND_S, patience_s)
        early = asyncio.get_running_loop().time() + debounce_s + patience_s
        return Wait(debounce_s, min(early, until), until, grows=not request.invoked, lasts=lasts)

    def _tell(self, request: CompletionRequest, so_far: Candidate) -> None:
        """Let the client of *request* hear what there is before the answer."""
        candidate = polish(so_far, request.cursor, request.sure)
        found = suggestion(request, candidate, str(next(self._numbers)))
        if request.client.hear is not None and found:
            if request.client.offers and request.selected is None:
                self._offer(request.document, [found])
            request.client.hear(found)

    def _offer(self, document: Document, suggestions: list[Suggestion]) -> None:
        """Remember what the user is shown."""
        edits = [(each.id, Edit(each.start, each.end, each.text)) for each in suggestions]
        self._open.acceptance.offered(document, edits)

    def _debounce_s(self, request: CompletionRequest, doc_state: DocumentState) -> float:
        """How long an automatic request waits for the next key before it asks the model."""
        if request.invoked:
            return 0.0
        fixed = request.config.completion.debounce_ms
        wait = self._open.pace.wait_ms(request.cursor, client_ms=self.client_ms)
        if not doc_state.typed:
            wait = max(wait, PASSING_MS - self.client_ms)
        return (wait if fixed is None else fixed) / 1000


def _why_none(polished: list[Candidate]) -> str:
    """The filter that left nothing of the first candidate, or that the model was not sure of it."""
    return polished[0].cuts[-1].filter if polished else "model"

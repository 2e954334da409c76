"""
One completion request into suggestions: where it is decided what to ask, and waited for the answer.

A text that is known at the place is the answer at once, else the model is asked. A request lives as
long as the backend computes and the client wants it (`CompletionRequest.limit_s`): a menu opens
with the answers that are there, and inside a word an editor's list may wait for ours.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from fim_lsp.documents import Edit, Position, TextPlace
from fim_lsp.session.answering.dispatcher import Dispatcher
from fim_lsp.session.connection import Connection
from fim_lsp.session.judging import Judging
from fim_lsp.session.lane import Withdrawn
from fim_lsp.session.persistence import Persistence
from fim_lsp.session.prefill import Prefill
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.state.open_document import TOP, OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.stats import Answer, LastAnswer, Stats
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters.order import polish
from fim_lsp.suggest.known import Displayed, Wait
from fim_lsp.suggest.lines_in_sight import continue_line
from fim_lsp.suggest.reasons import End, Outcome
from fim_lsp.suggest.request import (
    EDITOR,
    CompletionRequest,
    Requester,
    Suggestion,
    request_at,
    suggestion,
)
from fim_lsp.suggest.why import (
    NOT_OPEN,
    SLOW,
    SUPERSEDED,
    UNASKED,
    end_with,
    why_away,
    why_failed,
    why_none,
    why_superseded,
)
from fim_lsp.tasks import Newest
from server_bridge.protocol import BackendUnavailable

# A cursor that only moved may still be moving: the model is not asked for every stop.
PASSING_MS = 250.0
PATIENCE_MS = 250.0  # for all of a text; then a line of it is shown
BY_HAND_S = 1.0  # for all of a text
LOOK_S = 0.25  # between two looks at a backend that starts
STARTING_S = 120.0  # for all of them
ASK_AGAIN = 3  # times, where rules or files change while the model is asked
SPARE_S = 0.03  # between the deadline of the model's text and that of the answer

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class Completer:
    """The way from a request to its answer, on what the parts of the session know."""

    _connection: Connection
    _stats: Stats
    _open: OpenDocuments
    _judging: Judging
    _persistence: Persistence
    _dispatcher: Dispatcher
    _prefill: Prefill
    _quiet: Quietness
    _newest: Newest[str] = field(default_factory=Newest)  # the newest request in each document
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def complete(
        self,
        uri: str,
        position: Position,
        *,
        invoked: bool,
        selected: Edit | None = None,
        client: Requester = EDITOR,
    ) -> Answer:
        """Return suggestions at *position*, or why there are none; only raises `CancelledError`."""
        started = time.perf_counter()
        is_in_word = False
        mine = self._newest.claim(uri)
        doc = self._open.ask_in(uri)
        answer = Answer([], SUPERSEDED if doc else NOT_OPEN)
        version = doc.document.version if doc else 0
        try:
            if doc is None:
                return answer
            place = doc.place_at(position)
            doc.move_to(place)
            self._open.go_to(doc)
            request = request_at(
                *place, doc.file.path,
                client.config or doc.workspace.settings(self._connection.config),
                self._connection.state, invoked=invoked, selected=selected, client=client,
            )  # fmt: skip
            is_in_word = request.cursor.is_in_word
            answer = await self._settle(request, doc, place)
            if client.offers:
                doc.acceptance.offer(
                    request.document, answer.suggestions, by_itself=request.sure > 0
                )
            return answer
        finally:
            if mine.is_newest and doc and self._open.by_uri.get(uri) is doc:
                doc.requests.note_answer(LastAnswer(version, position, invoked, answer))
            mine.release()
            ms = (time.perf_counter() - started) * 1e3
            self._stats.count_answer(answer, ms, is_in_word=is_in_word)
            self._connection.report_state()

    async def explain(self, uri: str, position: Position | None) -> LastAnswer:
        """Return why there is nothing at *position*: see `Session.explain`."""
        doc = self._open.by_uri.get(uri)
        last = doc.requests.answer_at(doc.document.version, position) if doc else None
        if last is not None and not last.is_withdrawn:
            return last
        await self._judging.wait_judged(uri)
        if (doc := self._open.by_uri.get(uri)) is None:
            return LastAnswer(0, position or TOP, False, Answer([], NOT_OPEN))
        place = doc.place_at(position)
        answer = self._explain(doc, place)
        if last is not None and answer.end.outcome is Outcome.UNASKED:
            return last
        return LastAnswer(place.document.version, place.position, False, answer)

    def _explain(self, doc: OpenDocument, place: TextPlace) -> Answer:
        """
        Return the rule by which a request would get nothing at *place*, or what is known there.

        This is no request: the model is asked nothing, and nothing is counted or remembered.
        """
        connection = self._connection
        config = doc.workspace.settings(connection.config)
        request = request_at(*place, doc.file.path, config, connection.state)
        # White space taken off a line that is left empty may be the editor's indentation.
        is_told = (request.cursor.before + request.cursor.after).strip()
        deleted = bool(is_told) and doc.deleted == place.position
        if end := self._why_none(request, doc, deleted=deleted):
            return Answer([], end)
        known = self._dispatcher.texts.find(doc, request, connection.state.model)
        if not known.candidates:
            return Answer([], UNASKED)
        first = known.candidates[0]
        left = first if known.is_on_screen else polish(first, request.cursor, request.sure)
        return self._choose(request, Outcome.CACHE, [left])

    async def _settle(
        self, request: CompletionRequest, doc: OpenDocument, place: TextPlace
    ) -> Answer:
        """Return the answer: an error is one, and that time is up."""
        limit_s = request.limit_s
        until = asyncio.get_running_loop().time() + min(limit_s, request.deadline_s) - SPARE_S
        try:
            async with asyncio.timeout(None if math.isinf(limit_s) else limit_s):
                return await self._answer(request, doc, place, until)
        except Withdrawn as why:
            log.debug("no completion: %s", why)
            end = why_superseded(str(why))
        except Exception as error:
            end = why_failed(error, request, self._connection.state)
            if end.outcome is Outcome.FAILED:
                log.exception("no completion")
            elif end.is_failure:
                log.warning("no completion (%s): %s", end.key, end.words)
        return Answer([], end)

    async def _answer(
        self, request: CompletionRequest, asked: OpenDocument, place: TextPlace, until: float
    ) -> Answer:
        """
        Answer by what may be shown once the verdicts are there, as what was open may be judged
        again, or closed; again where that changed while the model was asked, and where the server
        turned out to load its model.
        """
        for n_more in reversed(range(ASK_AGAIN)):
            await self._judging.wait_judged(asked.uri, invoked=request.invoked)
            if (doc := self._open.by_uri.get(asked.uri)) is None:
                break
            if doc is not asked:
                doc.move_to(place)
            if (answer := self._answer_at_once(request, doc)) is not None:
                return answer
            try:
                return await self._ask(request, doc, until)
            except Withdrawn as over:
                if not (over.judged and n_more):
                    raise
            except BackendUnavailable:
                if not (self._connection.may_start and n_more):
                    raise
        return Answer([], SUPERSEDED)

    def _answer_at_once(self, request: CompletionRequest, doc: OpenDocument) -> Answer | None:
        """
        Return the answer that needs no model: nothing, by a rule, or what is known at the place;
        None where the model is to be asked.
        """
        if not doc.view.refusal:
            doc.workspace.memory.note_move(doc.uri, request.position.line)
            self._prefill.prefill(doc)
        if end := self._why_none(request, doc, deleted=doc.deleted == request.position):
            return Answer([], end)
        known = self._dispatcher.texts.find(doc, request, self._connection.state.model)
        candidates = [*known.candidates]
        if known.is_on_screen:
            return self._choose(request, Outcome.CACHE, candidates)
        if candidates and not self._dispatcher.has_more(request, doc, candidates):
            return self._polish(request, doc, Outcome.CACHE, candidates[: request.n_wanted])
        return None

    def _why_none(
        self, request: CompletionRequest, doc: OpenDocument, *, deleted: bool
    ) -> End | None:
        """Return why nothing of *doc* is suggested now; None where something may be."""
        return why_none(
            request, doc.view.refusal, is_snoozed=self._quiet.is_snoozed, deleted=deleted
        )

    async def _ask(self, request: CompletionRequest, doc: OpenDocument, until: float) -> Answer:
        """Answer by the model, or else from the lines in sight."""
        if not self._connection.is_ready:
            line = continue_line(request.cursor, self._open.lines(doc))
            if not await self._wait_ready(request, has_line=bool(line.text)):
                answer = self._polish(request, doc, Outcome.LOCAL, [line])
                if answer.suggestions or not request.invoked:
                    return answer
                return answer._replace(end=why_away(answer.end, self._connection.state))
        if doc.view.restoring is not None:
            await asyncio.wait([doc.view.restoring])
        await self._persistence.restore_again(doc)
        self._persistence.note_use(doc)
        wait = self._wait(request, doc, until)
        candidates, cost = await self._dispatcher.ask(request, doc, wait)
        if doc.current is None:
            return Answer([], SUPERSEDED)
        answer = self._polish(request, doc, Outcome.BACKEND, candidates)
        is_late = not wait.lasts and asyncio.get_running_loop().time() >= wait.until
        if is_late and not answer.suggestions and not candidates[0].whole:
            answer = Answer([], SLOW)
        return answer._replace(cost=cost)

    def _polish(
        self, request: CompletionRequest, doc: OpenDocument, outcome: Outcome, said: list[Candidate]
    ) -> Answer:
        """Return the suggestions that the filters leave of *said*, in order."""
        polished = [polish(each, request.cursor, request.sure) for each in said]
        self._stats.count_cuts(cut.filter for candidate in polished for cut in candidate.cuts)
        is_text = outcome is not Outcome.LOCAL and request.selected is None
        lasts = is_text and said[0].whole
        answer = self._choose(request, outcome, polished)
        shown = Displayed(request.cursor, polished[0], self._connection.state.model, lasts)
        doc.requests.display(shown if is_text and len(said) == 1 else None)
        if lasts and answer.suggestions:
            self._dispatcher.decode_ahead(request, doc, answer.suggestions[0])
        return answer

    def _choose(
        self, request: CompletionRequest, outcome: Outcome, left: list[Candidate]
    ) -> Answer:
        """Return the answer with those candidates that the filters *left*."""
        different: dict[str, Candidate] = {}
        for candidate in left:
            if candidate.text:
                different.setdefault(candidate.text, candidate)
        made = (self._suggest(request, candidate) for candidate in different.values())
        suggestions = [item for item in made if item]
        state = self._connection.state
        return Answer(suggestions, end_with(outcome, left[0], state, is_shown=bool(suggestions)))

    def _suggest(self, request: CompletionRequest, candidate: Candidate) -> Suggestion | None:
        """Return the suggestion for *candidate*, with a number of its own."""
        return suggestion(request, candidate, str(next(self._numbers)))

    async def _wait_ready(self, request: CompletionRequest, *, has_line: bool) -> bool:
        """Return whether the backend can be asked, or soon where no line can be offered."""
        self._connection.start_connecting()
        if request.invoked:
            await self._connection.wait_ready()
        elif not has_line:
            left_s = request.deadline_s
            most_s = STARTING_S
            while self._connection.may_start and min(left_s, most_s) > 0:
                waits_on = request.client.cancels and self._connection.is_starting
                await self._connection.wait_ready(LOOK_S)
                left_s -= 0 if waits_on else LOOK_S
                most_s -= LOOK_S
        return self._connection.is_ready

    def _wait(self, request: CompletionRequest, doc: OpenDocument, until: float) -> Wait:
        """Return how long the request waits for what from now on."""
        debounce_s = self._debounce_s(request, typed=doc.requests.take_typed())
        lasts = math.isinf(request.limit_s)
        if request.client.on_progress is not None:
            # Shown line by line, so all of it can be waited for.
            on_lines = partial(self._send_so_far, request, doc)
            return Wait(debounce_s, until, until, grows=False, lasts=lasts, on_lines=on_lines)
        fixed = request.config.completion.patience_ms
        patience_s = (PATIENCE_MS if fixed is None else fixed) / 1000
        if request.invoked:
            patience_s = max(BY_HAND_S, patience_s)
        early = asyncio.get_running_loop().time() + debounce_s + patience_s
        return Wait(debounce_s, min(early, until), until, grows=not request.invoked, lasts=lasts)

    def _send_so_far(self, request: CompletionRequest, doc: OpenDocument, said: Candidate) -> None:
        """Send the client of *request* what the model *said* so far."""
        suggested = self._suggest(request, polish(said, request.cursor, request.sure))
        if request.client.on_progress is None or suggested is None:
            return
        if request.client.offers and request.selected is None:
            doc.acceptance.offer(request.document, [suggested], by_itself=request.sure > 0)
        request.client.on_progress(suggested)

    def _debounce_s(self, request: CompletionRequest, *, typed: bool) -> float:
        """Return how long an automatic request waits for the next key before it asks the model."""
        if request.invoked:
            return 0.0
        fixed = request.config.completion.debounce_ms
        wait = self._open.pace.wait_ms(request.cursor, client_ms=request.client.waits_ms)
        if not typed:
            wait = max(wait, PASSING_MS - request.client.waits_ms)
        wanted = request.config.suggestions
        return (self._quiet.wait_ms(wait, wanted) if fixed is None else fixed) / 1000

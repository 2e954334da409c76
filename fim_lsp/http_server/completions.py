"""
A stateless request into the text to insert at its cursor. State: what is being asked now.

The same question, asked several times at once, is asked once. A newer request about a text ends the
older ones, as in an editor; these get nothing. A question that nothing waits for any more ends,
too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from fim_lsp.http_server import dialects
from fim_lsp.http_server.client_documents import ClientDocuments, ClientPlace
from fim_lsp.http_server.dialects import AnswerLimits, ClientRequest
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config
from fim_lsp.suggest.reasons import Outcome
from fim_lsp.suggest.request import Requester, Suggestion
from server_bridge.protocol import Timings

# Such clients wait by themselves before they ask, and show nothing before the whole answer is
# there.
DEBOUNCE_MS = 0
PATIENCE_MS = 150

log = logging.getLogger(__name__)


class Insertion(NamedTuple):
    """Text to insert, "" for none, and what it cost."""

    text: str
    cost: Timings


OnText = Callable[[str], None]
NOTHING = Insertion("", Timings())


@dataclass(slots=True)
class PendingCompletion:
    """
    A question that is being answered: the version of its document, the cursor, the text to treat
    as already inserted there, how long the answer may be, and whether its text is wanted as it
    grows.

    *n_waiting* requests wait for it, and *listeners* get the text as it grows.
    """

    question: tuple[object, ...]
    task: asyncio.Task[Insertion]
    listeners: list[OnText]
    n_waiting: int = 0


class Completions:
    """
    The requests that are asked now, each once, and their answers; *texts* are those that they show.
    """

    def __init__(self, session: Session, root: str) -> None:
        self.texts = ClientDocuments(session, root)
        self._session = session
        self._pending: dict[str, PendingCompletion] = {}
        self._told: set[str] = set()  # why texts were not sent, once each

    async def complete(
        self, request: ClientRequest, limits: AnswerLimits, on_text: OnText | None = None
    ) -> Insertion:
        """
        Return the text to insert at the cursor of *request*; *on_text* gets its beginning, longer
        each time.
        """
        if request.is_warm_up:
            await self.texts.show(request)
            return NOTHING
        place = await self.texts.place(request)
        if place is None:
            return NOTHING
        return await self._share(place, limits, on_text)

    async def _share(
        self, place: ClientPlace, limits: AnswerLimits, on_text: OnText | None
    ) -> Insertion:
        uri = place.text.uri
        version = self._session.documents[uri].version
        question = (version, place.cursor, place.selected, limits, on_text is not None)
        pending = self._pending.get(uri)
        if pending is None or pending.question != question:
            if pending is not None:
                pending.task.cancel()
            listeners: list[OnText] = []
            task = asyncio.create_task(self._text(place, limits, listeners), name="http completion")
            pending = self._pending[uri] = PendingCompletion(question, task, listeners)
        if on_text is not None:
            pending.listeners.append(on_text)
        pending.n_waiting += 1
        try:
            return await asyncio.shield(pending.task)
        except asyncio.CancelledError:
            if pending.task.cancelled():
                return NOTHING  # a newer request took its place
            raise
        finally:
            pending.n_waiting -= 1
            if not pending.n_waiting:
                pending.task.cancel()
                if self._pending.get(uri) is pending:
                    del self._pending[uri]

    async def _text(
        self, place: ClientPlace, limits: AnswerLimits, listeners: list[OnText]
    ) -> Insertion:
        uri = place.text.uri
        selected = place.selected
        config = _limit(self._session.config_of(uri), limits)

        def on_suggestion(suggestion: Suggestion) -> None:
            if selected is None and suggestion.start == suggestion.end:
                for on_text in listeners:
                    on_text(limits.cut_at_stop(suggestion.text))

        answer = await self._session.complete(
            uri,
            selected.start if selected else place.cursor,
            invoked=False,
            selected=selected,
            client=Requester(selected is None, config, on_suggestion if listeners else None),
        )
        if answer.end.outcome is Outcome.PRIVATE and answer.end.key not in self._told:
            self._told.add(answer.end.key)
            log.warning("nothing was sent: %s", answer.end.key)
        document = self._session.document(uri)
        if not answer.suggestions or document is None:
            return Insertion("", answer.cost)
        best = answer.suggestions[0]
        accepted, start = (selected.text, selected.end) if selected else ("", best.start)
        replaced = document.between(start, best.end)
        text = limits.cut_at_stop(dialects.insertion(best.text.removeprefix(accepted), replaced))
        if selected is None:
            place.text.note_suggested(text)
        return Insertion(text, answer.cost)


def _limit(config: Config, limits: AnswerLimits) -> Config:
    """
    Return the user's settings, as far as the client does not say how long an answer may be, and how
    late.
    """
    ours = config.completion
    limits_ms = (ms for ms in (ours.patience_ms, limits.patience_ms) if ms is not None)
    patience_ms = 0 if "\n" in limits.stops else min(limits_ms, default=PATIENCE_MS)
    completion = replace(
        ours,
        max_tokens=min(ours.max_tokens, limits.max_tokens or ours.max_tokens),
        debounce_ms=DEBOUNCE_MS if ours.debounce_ms is None else ours.debounce_ms,
        patience_ms=patience_ms,
    )
    return replace(config, completion=completion)

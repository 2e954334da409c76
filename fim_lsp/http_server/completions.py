"""
A stateless request into the text to insert at its cursor. State: what is being asked now.

The same question, asked several times at once, is asked once. A newer request about a text ends the older ones, as in an
editor; these get nothing. A question that nothing waits for any more ends, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fim_lsp.documents import Position
from fim_lsp.http_server import zeta
from fim_lsp.http_server.answers import insertion
from fim_lsp.http_server.client_documents import ClientDocuments, Place
from fim_lsp.http_server.requests import Asked, Limits
from fim_lsp.session.session import Session
from fim_lsp.session.stats import Cost
from fim_lsp.settings.config import Config
from fim_lsp.suggest.request import Client, Suggestion

# Such clients wait by themselves before they ask, and show nothing before the whole answer is there.
DEBOUNCE_MS, PATIENCE_MS = 0, 150

log = logging.getLogger(__name__)


class Completion(NamedTuple):
    """Text to insert, "" for none, or a region as zeta2 writes it again; and what it cost."""

    text: str
    cost: Cost


Hear = Callable[[str], None]
NOTHING = Completion("", Cost())


class Question(NamedTuple):
    """
    A question about a document: its version, the cursor, what is taken to be accepted, how long the
    answer may be.
    """

    version: int
    cursor: Position
    accepted: str
    limits: Limits
    streams: bool


@dataclass(slots=True)
class Asking:
    """A question that is being answered: *n_waiting* requests wait, and some *hear* the text as it grows."""

    question: Question
    task: asyncio.Task[Completion] | None = None
    n_waiting: int = 0
    hear: list[Hear] = field(default_factory=list)

    def publish(self, text: str) -> None:
        """Pass on *text*, which is certain now."""
        for hear in self.hear:
            hear(text)


class Completions:
    """See the module."""

    def __init__(self, session: Session, texts: ClientDocuments) -> None:
        self._session = session
        self._texts = texts
        self._asked: dict[str, Asking] = {}
        self._told: set[str] = set()  # why texts were not sent, once each

    async def complete(self, asked: Asked, limits: Limits, hear: Hear | None = None) -> Completion:
        """Return the text to insert at the cursor of *asked*; *hear* gets its beginning, longer each time."""
        if asked.is_warm_up:
            self._texts.show(asked.extras)
            return NOTHING
        place = await self._texts.place(asked)
        if place is None:
            return NOTHING
        completion = await self._share(place, limits, hear)
        if asked.region is not None:
            return completion._replace(
                text=await self._region(place, asked.region, completion.text)
            )
        return completion

    async def _region(self, place: Place, region: zeta.Region, text: str) -> str:
        """Return *region* with *text* in it, or else with the next edit, if that is there."""
        if text or not (
            found := await self._session.next_edit(place.text.uri, unasked=True, unopened=False)
        ):
            return zeta.answer(region, text)
        first = place.cursor.line - region.before.count("\n")
        is_here = found.document.uri == place.text.uri
        edited = zeta.rewrite(region, first, found.proposal) if is_here else ""
        return edited or zeta.answer(region, "")

    async def _share(self, place: Place, limits: Limits, hear: Hear | None) -> Completion:
        uri = place.text.uri
        version = self._session.documents[uri].version
        accepted = place.selected.text if place.selected else ""
        question = Question(version, place.cursor, accepted, limits, hear is not None)
        asking = self._asked.get(uri)
        if asking is None or asking.question != question:
            if asking is not None and asking.task is not None:
                asking.task.cancel()
            asking = self._asked[uri] = Asking(question)
            asking.task = asyncio.create_task(self._text(place, asking), name="http completion")
        assert asking.task is not None
        if hear is not None:
            asking.hear.append(hear)
        asking.n_waiting += 1
        try:
            return await asyncio.shield(asking.task)
        except asyncio.CancelledError:
            if asking.task.cancelled():
                return NOTHING  # a newer request took its place
            raise
        finally:
            asking.n_waiting -= 1
            if not asking.n_waiting:
                asking.task.cancel()
                if self._asked.get(uri) is asking:
                    del self._asked[uri]

    async def _text(self, place: Place, asking: Asking) -> Completion:
        uri, selected = place.text.uri, place.selected
        limits = asking.question.limits
        config = _limit(self._session.config, limits)

        def on_suggestion(suggestion: Suggestion) -> None:
            if selected is None and suggestion.start == suggestion.end:
                asking.publish(limits.cut_at_stop(suggestion.text))

        answer = await self._session.complete(
            uri,
            selected.start if selected else place.cursor,
            invoked=False,
            selected=selected,
            client=Client(
                selected is None, config, on_suggestion if asking.question.streams else None
            ),
        )
        if answer.outcome.startswith("private: ") and answer.outcome not in self._told:
            self._told.add(answer.outcome)
            log.warning("nothing was sent: %s", answer.outcome)
        document = self._session.document(uri)
        if not answer.suggestions or document is None:
            return Completion("", answer.cost)
        best = answer.suggestions[0]
        if selected is not None:
            text = best.text.removeprefix(selected.text)
            rest = insertion(text, document.between(selected.end, best.end))
            return Completion(limits.cut_at_stop(rest), answer.cost)
        text = limits.cut_at_stop(insertion(best.text, document.between(best.start, best.end)))
        place.text.suggested = text
        return Completion(text, answer.cost)


def _limit(config: Config, limits: Limits) -> Config:
    """Return the user's settings, as far as the client does not say how long an answer may be, and how late."""
    given = config.completion
    said = (ms for ms in (given.patience_ms, limits.patience_ms) if ms is not None)
    patience_ms = 0 if "\n" in limits.stops else min(said, default=PATIENCE_MS)
    completion = replace(
        given,
        max_tokens=min(given.max_tokens, limits.max_tokens or given.max_tokens),
        debounce_ms=DEBOUNCE_MS if given.debounce_ms is None else given.debounce_ms,
        patience_ms=patience_ms,
    )
    return replace(config, completion=completion)

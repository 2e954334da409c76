"""
A stateless request into the text to insert at its cursor. State: what is being asked now.

The same question, asked several times at once, is asked once. A newer request about a text ends the older ones, as in an
editor; these get nothing.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from fim_lsp.documents import Position
from fim_lsp.http.answers import Cost, insertion
from fim_lsp.http.requests import Asked
from fim_lsp.http.texts import Place, Texts
from fim_lsp.session.session import Session


class Completion(NamedTuple):
    """Text to insert, "" for none, and what it cost."""

    text: str
    cost: Cost


NOTHING = Completion("", Cost())
Question = tuple[
    str, int, Position, str
]  # a document, its version, the cursor, what is taken to be accepted


class Completions:
    """See the module."""

    def __init__(self, session: Session, texts: Texts) -> None:
        self._session = session
        self._texts = texts
        self._asked: dict[str, tuple[Question, asyncio.Task[str]]] = {}

    async def complete(self, asked: Asked) -> Completion:
        """What to insert where *asked* has its cursor."""
        if asked.is_warm_up:
            self._texts.show(asked.extras)
            return NOTHING
        place = await self._texts.place(asked)
        if place is None:
            return NOTHING
        before = self._cost()
        text = await self._shared(place)
        return Completion(text, self._cost().since(before))

    async def _shared(self, place: Place) -> str:
        uri = place.text.uri
        version = self._session.documents[uri].version
        question = (uri, version, place.cursor, place.selected.text if place.selected else "")
        last, task = self._asked.get(uri, (None, None))
        if task is None or last != question:
            if task is not None:
                task.cancel()
            task = asyncio.create_task(self._text(place), name="http completion")
            self._asked[uri] = question, task
            task.add_done_callback(lambda done: self._done(uri, done))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                return ""  # a newer request took its place
            raise

    async def _text(self, place: Place) -> str:
        uri, selected = place.text.uri, place.selected
        position = selected.start if selected else place.cursor
        found = await self._session.complete(
            uri, position, invoked=False, selected=selected, offers=selected is None
        )
        if not found:
            return ""
        best, document = found[0], self._session.documents[uri]
        if selected is not None:
            text = best.text.removeprefix(selected.text)
            return insertion(text, document.between(selected.end, best.end))
        text = insertion(best.text, document.between(best.start, best.end))
        place.text.suggested = text
        return text

    def _done(self, uri: str, task: asyncio.Task[str]) -> None:
        if self._asked.get(uri, (None, None))[1] is task:
            del self._asked[uri]

    def _cost(self) -> Cost:
        now = self._session.counters
        return Cost(now.evaluated, now.cached, now.predicted, now.prompt_ms, now.predicted_ms)

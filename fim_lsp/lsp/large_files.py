"""
Documents that are too large for suggestions: in step with the client, and unknown to the session. State.

Operations: `filter_event` takes what happens to documents and returns the events to forward to the session.
Goal: what a key costs stays below what is noticed, and so does the memory of a document.
Plan: a document that grows too large is closed for the session; one that shrinks is opened again.
The length is not counted per key: it is at most what it was, with all that was inserted since.
"""

from __future__ import annotations

from collections.abc import Callable

from fim_lsp.documents import DOCUMENT_CHARS, Document, apply_edits, open_document
from fim_lsp.events import Changed, Closed, Event, Opened


class LargeFiles:
    """
    See the module. *documents* are those of more than `DOCUMENT_CHARS`, by URI.

    *tell* is called with the URI of each document that is found too large.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.documents: dict[str, Document] = {}
        self._tell = tell
        self._most: dict[str, int] = {}  # characters that the others can have

    def __repr__(self) -> str:
        return f"<LargeFiles {[*self.documents]}>"

    def filter_event(self, event: Event, find: Callable[[str], Document | None]) -> list[Event]:
        """Return the events to forward to the session, which can *find* a document by URI."""
        match event:
            case Opened(uri):
                return self._open(event, known=find(uri) is not None)
            case Changed(uri) if uri in self.documents:
                return self._change(event, self.documents[uri])
            case Changed(uri) if (document := find(uri)) is not None:
                return self._grow(event, document)
            case Closed(uri):
                self._most.pop(uri, None)
                self.documents.pop(uri, None)
        return [event]

    def _open(self, event: Opened, *, known: bool) -> list[Event]:
        self.documents.pop(event.uri, None)
        self._most[event.uri] = len(event.text)
        if len(event.text) <= DOCUMENT_CHARS:
            return [event]
        self._keep(open_document(*event))
        return [Closed(event.uri)] if known else []

    def _grow(self, event: Changed, document: Document) -> list[Event]:
        """Apply a change to a document of the session."""
        inserted = sum(len(edit if isinstance(edit, str) else edit.text) for edit in event.edits)
        self._most[event.uri] = self._most.get(event.uri, 0) + inserted
        if self._most[event.uri] <= DOCUMENT_CHARS:
            return [event]
        document = apply_edits(document, event.edits, event.version)
        self._most[event.uri] = _n_chars(document)
        if self._most[event.uri] <= DOCUMENT_CHARS:
            return [event]
        self._keep(document)
        return [Closed(event.uri)]

    def _change(self, event: Changed, document: Document) -> list[Event]:
        """Apply a change to a large document; it may be shorter if more was replaced than within a line."""
        uri, version, edits, _ = event
        self.documents[uri] = document = apply_edits(document, edits, version)
        if all(not isinstance(edit, str) and edit.start.line == edit.end.line for edit in edits):
            return []
        if _n_chars(document) > DOCUMENT_CHARS:
            return []
        return self._open(Opened(uri, document.language, version, document.text), known=False)

    def _keep(self, document: Document) -> None:
        self._most.pop(document.uri, None)
        self.documents[document.uri] = document
        self._tell(document.uri)


def _n_chars(document: Document) -> int:
    return sum(map(len, document.lines))

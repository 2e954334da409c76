"""
The open documents by URI: made and dropped here, and nowhere else. State, besides: how fast the
user types.

Nothing here waits. A new document is private until it is judged.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from fim_lsp import events
from fim_lsp.documents import Document, open_document
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.state.acceptance import Acceptance
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.workspaces import Workspace, Workspaces
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.lines_in_sight import lines_in_sight
from fim_lsp.suggest.pace import TypingPace
from fim_lsp.workspace import paths


class OpenDocuments:
    """
    The open documents of a session. *workspaces* are those the documents belong to; *last_uri* is
    that of the last request.
    """

    def __init__(self, workspaces: Workspaces, stats: Stats, quiet: Quietness) -> None:
        self.workspaces = workspaces
        self.by_uri: dict[str, OpenDocument] = {}
        self.pace = TypingPace()
        self.last_uri = ""
        self._stats, self._quiet = stats, quiet
        self._says_shown = False  # the client, of each suggestion

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(self.by_uri.values())

    def document(self, uri: str) -> Document | None:
        """Return the text of *uri*, None if it is not open."""
        doc = self.by_uri.get(uri)
        return None if doc is None else doc.document

    def open(
        self, uri: str, language: str, version: int, text: str, lines: tuple[str, ...] | None = None
    ) -> OpenDocument:
        """Know a document from now on; one that is open already begins again."""
        return self._begin(open_document(uri, language, version, text, lines), len(text))

    def reopen(self) -> list[OpenDocument]:
        """Begin again with every document, because the rules or the folders changed."""
        return [self._begin_again(doc) for doc in [*self]]

    def change(self, doc: OpenDocument, event: events.Changed) -> OpenDocument:
        """
        Apply the edits of *event*; returns the document, begun again where it crossed the limit of
        size.
        """
        if event.is_a_key:
            self.pace.key(time.perf_counter() * 1e3)
        doc.change(event.edits, event.version)
        return self._begin_again(doc) if doc.crosses_limit(event.edits) else doc

    def close(self, doc: OpenDocument) -> None:
        """Know a document no longer."""
        doc.close()
        del self.by_uri[doc.uri]

    def reopen_unknown(self, changed: Iterable[str]) -> list[OpenDocument]:
        """
        Begin again with the documents of files that changed on disk and are not remembered: their
        verdict may be another now.
        """
        documents = [self.by_uri[uri] for uri in self.by_uri.keys() & {*changed}]
        unknown = [doc for doc in documents if not doc.workspace.memory.knows(doc.uri)]
        return [self._begin_again(doc) for doc in unknown]

    def note_report(self, event: events.OfSuggestion) -> None:
        """Record what the client says of a suggestion."""
        if isinstance(event, events.Dismissed):
            if doc := self.by_uri.get(event.uri):
                doc.acceptance.dismiss()
            return
        self._says_shown |= isinstance(event, events.Shown)
        for doc in self:
            doc.acceptance.note_report(event)

    def of(self, workspace: Workspace) -> list[OpenDocument]:
        """Return the documents of *workspace*, the one opened last first."""
        return [doc for doc in reversed(self.by_uri.values()) if doc.workspace is workspace]

    def lines(self, doc: OpenDocument) -> Iterator[str]:
        """
        Return the lines of this file, of others that are open, and of the ring, that may be said
        again.
        """
        others = {
            other.file.path: other.document.lines
            for other in self.of(doc.workspace)
            if other is not doc and other.is_usable
        }
        frame = doc.ladder.current
        shown = frame.header.chunks if frame else ()
        open_paths = {doc.file.path, *others}
        unseen = (chunk.text for chunk in reversed(shown) if chunk.name not in open_paths)
        line = doc.place.position.line if doc.place else 0
        return lines_in_sight(doc.document.lines, line, others.values(), unseen)

    def _begin_again(self, doc: OpenDocument) -> OpenDocument:
        return self._begin(doc.document, doc.most_chars)

    def _begin(self, document: Document, most_chars: int) -> OpenDocument:
        """Return a document to be judged; what the user was shown of it stays on screen."""
        location = paths.locate(document.uri, self.workspaces.roots)
        workspace = self.workspaces.of(location, {doc.workspace for doc in self})
        if before := self.by_uri.get(document.uri):
            before.suspend()
            acceptance = before.acceptance
        else:
            acceptance = Acceptance(self._stats, self._quiet, says_shown=self._says_shown)
        doc = OpenDocument(document, location, workspace, acceptance, most_chars)
        self.by_uri[document.uri] = doc
        return doc

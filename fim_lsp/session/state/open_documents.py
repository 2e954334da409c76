"""
The open documents by URI: made and dropped here, and nowhere else. State, besides: how fast the
user types.

Nothing here waits. A new document is private until it is judged.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from itertools import accumulate

from fim_lsp import events
from fim_lsp.documents import Document, open_document
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.state.acceptance import Acceptance
from fim_lsp.session.state.model_view import ModelView
from fim_lsp.session.state.open_document import YANKS, OpenDocument
from fim_lsp.session.state.workspaces import Workspace, Workspaces
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.lines_in_sight import lines_in_sight
from fim_lsp.suggest.pace import TypingPace
from fim_lsp.workspace import paths

# Documents that were closed before they were judged: copies from the last few are remembered.
CLOSED = 8


class OpenDocuments:
    """
    The open documents of a session. *workspaces* are those the documents belong to; *last_uri* is
    that of the last request, *here* the one in which the user did something last, *rests* whether
    that was to move the cursor.
    """

    def __init__(self, workspaces: Workspaces, stats: Stats, quiet: Quietness) -> None:
        self.workspaces = workspaces
        self.by_uri: dict[str, OpenDocument] = {}
        self.pace = TypingPace()
        self.last_uri = ""
        self.here: OpenDocument | None = None
        self.rests = False
        self._stats = stats
        self._quiet = quiet
        self._says_shown = False  # the client, of each suggestion
        self._yanks: dict[str, deque[str]] = {}  # of closed documents that were not judged yet

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(self.by_uri.values())

    def go_to(self, doc: OpenDocument, *, rests: bool = False) -> None:
        """Note that the user is at work in *doc*: this document alone is evaluated ahead."""
        self.here = doc
        self.rests = rests

    def ask_in(self, uri: str) -> OpenDocument | None:
        """Note that a request is made in *uri*; return the document, None if it is not open."""
        self.last_uri = uri
        return self.by_uri.get(uri)

    def document(self, uri: str) -> Document | None:
        """Return the text of *uri*, None if it is not open."""
        return doc.document if (doc := self.by_uri.get(uri)) else None

    def open(
        self, uri: str, language: str, version: int, text: str, lines: tuple[str, ...] | None = None
    ) -> OpenDocument:
        """Know a document from now on; one that is open already is another from now on."""
        document = open_document(uri, language, version, text, lines)
        if before := self.by_uri.get(uri):
            before.retire()
            acceptance = before.acceptance  # its suggestion stays on screen
        else:
            acceptance = Acceptance(self._stats, self._quiet, says_shown=self._says_shown)
        yanks = deque(before.yanks if before else self._yanks.pop(uri, ()), YANKS)
        doc = OpenDocument(document, self._view(uri), acceptance, len(text), yanks=yanks)
        self.by_uri[uri] = doc
        doc.refuse_large()
        return doc

    def suspend(self) -> list[OpenDocument]:
        """Show nothing of the documents until each is judged again: rules or folders changed."""
        for doc in self:
            doc.suspend()
        return [*self]

    def place(self, uri: str) -> OpenDocument | None:
        """Return the document, begun again if the folders changed and it is in another one."""
        if (doc := self.by_uri.get(uri)) and paths.locate(uri, self.workspaces.roots) != doc.file:
            doc.show_in(self._view(uri))
            doc.refuse_large()
        return doc

    def change(self, doc: OpenDocument, event: events.Changed) -> bool:
        """
        Apply the edits of *event*; return whether the document is to be judged again, because it
        crossed the limit of size.
        """
        if event.is_a_key:
            self.pace.key(time.perf_counter() * 1e3)
            if any(doc.cursor in (edit.start, edit.end) for edit in event.edits):
                self.go_to(doc)
        if crosses := doc.change(event.edits, event.version):
            doc.show_in(ModelView(doc.file, doc.workspace))
            doc.refuse_large()
        return crosses

    def close(self, doc: OpenDocument) -> None:
        """Know a document no longer."""
        doc.close()
        if doc.yanks:
            self._yanks[doc.uri] = doc.yanks
        while len(self._yanks) > CLOSED:
            del self._yanks[next(iter(self._yanks))]
        del self.by_uri[doc.uri]
        self.here = None if self.here is doc else self.here

    def at(self, places: set[str]) -> list[OpenDocument]:
        """Return the documents of files, and below folders, at *places*."""
        return [doc for doc in self if places & {*accumulate(doc.uri.split("/"), "{}/{}".format)}]

    def note_report(self, event: events.OfSuggestion) -> None:
        """Record what the client says of a suggestion."""
        if isinstance(event, events.Dismissed):
            if doc := self.by_uri.get(event.uri):
                doc.acceptance.dismiss()
                doc.requests.display(None)
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
        beside = [d for d in self.of(doc.workspace) if d is not doc and d.current is not None]
        others = {other.file.path: other.document.lines for other in beside}
        frame = doc.view.ladder.current
        shown = frame.header.chunks if frame else ()
        open_paths = {doc.file.path, *others}
        unseen = (chunk.text for chunk in reversed(shown) if chunk.name not in open_paths)
        line = doc.place.position.line if doc.place else 0
        return lines_in_sight(doc.document.lines, line, others.values(), unseen)

    def _view(self, uri: str) -> ModelView:
        """Return a new view of the document, in the folder that it is in now, to be judged."""
        location = paths.locate(uri, self.workspaces.roots)
        workspace = self.workspaces.of(location, lambda: {doc.workspace for doc in self})
        return ModelView(location, workspace)

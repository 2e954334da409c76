"""
What is open, and what is remembered of it: events in, state changed.

Mutable state: the documents, a `DocumentState` of each, what becomes of suggestions, how fast the user
types. Nothing here waits: `handle` returns the documents whose privacy is to be judged.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from fim_lsp import events
from fim_lsp.context.memory import Memory
from fim_lsp.documents import Document, Edit, edited, opened
from fim_lsp.prompt.frame import Header
from fim_lsp.prompt.window import Window
from fim_lsp.session.acceptance import Acceptance
from fim_lsp.session.document_state import DocumentState
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.stats import Stats
from fim_lsp.session.workspace import Workspace
from fim_lsp.session.workspaces import Workspaces, source
from fim_lsp.suggest.debounce import TypingPace
from fim_lsp.suggest.line_match import lines_in_sight
from fim_lsp.workspace import paths


class OpenDocuments:
    """See the module. *workspaces* are those the documents belong to."""

    def __init__(self, workspaces: Workspaces, stats: Stats, quiet: Quietness) -> None:
        self.workspaces = workspaces
        self.documents: dict[str, Document] = {}
        self.states: dict[str, DocumentState] = {}
        self.acceptance = Acceptance(stats, quiet)
        self.pace = TypingPace()

    def handle(self, event: events.Event) -> list[str]:  # noqa: C901 (the closed set, a case each)
        """Take in one event; fast, and never waits. Returns the URIs to be judged (`allow`)."""
        match event:
            case events.Opened(uri, language, version, text):
                return self._open([opened(uri, language, version, text)])
            case events.Changed(uri, version, edits, is_a_key) if uri in self.documents:
                if is_a_key:
                    self.pace.key(time.perf_counter() * 1e3)
                self._change(uri, version, edits)
            case events.Closed(uri) if uri in self.documents:
                self.acceptance.closed(self.documents[uri])
                self.memory(uri).closed(uri)
                self.states.pop(uri).retire()
                del self.documents[uri]
            case events.Saved(uri) if uri in self.documents:
                self.memory(uri).saved(uri)
            case events.Focused(uri) if uri in self.documents:
                self.memory(uri).focused(uri)
            case events.Yanked(uri, text) if uri in self.documents:
                self.memory(uri).yanked(uri, text)
            case events.CursorMoved(uri, position) if uri in self.documents:
                self.states[uri].position = position
                self.memory(uri).moved(uri, position.line)
            case events.FilesChanged(changed, deleted):
                return self._files_changed(changed, deleted)
            case events.FoldersChanged(roots):
                self.workspaces.roots = roots
                return self.reopen()
            case events.Shown() | events.Accepted() | events.PartlyAccepted():
                self.acceptance.heard(event, time.perf_counter())
        return []

    def reopen(self) -> list[str]:
        """Begin again with every document, because the rules or the folders changed."""
        return self._open(list(self.documents.values()))

    def allow(self, doc_state: DocumentState) -> None:
        """The document of *doc_state* is not private: let it inform others."""
        doc_state.private = ""
        document = self.documents[doc_state.uri]
        self.workspace(doc_state).open(source(document, doc_state.file))

    def refuse(self, doc_state: DocumentState, reason: str) -> None:
        """The document of *doc_state* is private: nothing of it is used or remembered."""
        doc_state.private = reason
        workspace = self.workspace(doc_state)
        workspace.memory.deleted(doc_state.uri)
        workspace.evaluated = ()

    def current(self, doc_state: DocumentState) -> Document | None:
        """
        The text of *doc_state* now; None where nothing of it may be used any more: it was closed, or
        the rules changed and it is judged again.
        """
        if doc_state.private or self.states.get(doc_state.uri) is not doc_state:
            return None
        return self.documents[doc_state.uri]

    def workspace(self, doc_state: DocumentState) -> Workspace:
        """The workspace that the document of *doc_state* belongs to."""
        return self.workspaces.of(doc_state.file)

    def memory(self, uri: str) -> Memory:
        """What is remembered of the workspace *uri* belongs to; private files never get there."""
        state = self.states.get(uri)
        location = state.file if state else paths.locate(uri, self.workspaces.roots)
        return self.workspaces.of(location).memory

    def header(self, doc_state: DocumentState, shown: Window) -> Header:
        """What a prompt with the window *shown* begins with."""
        return doc_state.header(self.workspace(doc_state).chunks(doc_state.viewport(shown)))

    def lines(self, doc_state: DocumentState) -> Iterator[str]:
        """The lines of this file, of others that are open, and of the ring, that may be said again."""
        others = {
            self.states[uri].file.path: other.lines
            for uri, other in reversed(self.documents.items())
            if uri != doc_state.uri
            and self.states[uri].file.key == doc_state.file.key
            and not self.states[uri].private
        }
        shown = doc_state.frame.header.chunks if doc_state.frame else ()
        open_paths = {doc_state.file.path, *others}
        unseen = (chunk.text for chunk in reversed(shown) if chunk.name not in open_paths)
        document, position = self.documents.get(doc_state.uri), doc_state.position
        own, line = document.lines if document else (), position.line if position else 0
        return lines_in_sight(own, line, others.values(), unseen)

    def _open(self, documents: Iterable[Document]) -> list[str]:
        """Know *documents*; until they are judged they are private."""
        for document in documents:
            uri = document.uri
            location = paths.locate(uri, self.workspaces.roots)
            if uri in self.states:
                self.states[uri].retire()
            self.documents[uri] = document
            self.states[uri] = DocumentState(uri, location, document.language)
        return [document.uri for document in documents]

    def _change(self, uri: str, version: int, edits: tuple[Edit | str, ...]) -> None:
        before, now = self.documents[uri], time.perf_counter()
        self.acceptance.followed(before, edits, now)
        self.documents[uri] = after = edited(before, edits, version)
        self.states[uri].follow(edits)
        self.memory(uri).edited(before, after, edits)

    def _files_changed(self, changed: tuple[str, ...], deleted: tuple[str, ...]) -> list[str]:
        """Open documents whose verdict may be another now: all after a change of the rules."""
        if self.workspaces.files_changed(changed, deleted):
            return self.reopen()
        unknown = [uri for uri in self.documents.keys() & {*changed} if not self._knows(uri)]
        return self._open([self.documents[uri] for uri in unknown])

    def _knows(self, uri: str) -> bool:
        return self.memory(uri).knows(uri)

"""
The desk: what lies open, how it is looked at, and what is remembered of it. Events in, state changed.

Mutable state: the documents, a `View` of each, the workspaces they belong to, what becomes of
suggestions, how fast somebody types. Nothing here waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from fim_lsp import engine, events, paths
from fim_lsp.acceptance import Acceptance
from fim_lsp.context.memory import Memory
from fim_lsp.documents import Document, Edit, edited, opened
from fim_lsp.link import Link
from fim_lsp.stats import Stats
from fim_lsp.suggest.rhythm import Rhythm
from fim_lsp.view import Header, View
from fim_lsp.window import Window
from fim_lsp.workspace import Workspace, Workspaces, source


class Desk:
    """See the module. `on_open` is told of a view whose document may be used."""

    def __init__(self, link: Link, stats: Stats) -> None:
        self._link = link
        self.documents: dict[str, Document] = {}
        self.views: dict[str, View] = {}
        self.spaces = Workspaces()
        self.acceptance = Acceptance(stats)
        self.rhythm = Rhythm()
        self.on_open: Callable[[View, Workspace], None] = lambda *_: None

    def handle(self, event: events.Event) -> None:  # noqa: C901 (the closed set, a case each)
        """Take in one event; fast, and never waits."""
        match event:
            case events.Opened(uri, language, version, text):
                self._open(opened(uri, language, version, text))
            case events.Changed(uri, version, edits) if uri in self.documents:
                self._change(uri, version, edits)
            case events.Closed(uri) if uri in self.documents:
                self.acceptance.closed(self.documents[uri])
                self.memory(uri).closed(uri)
                self.spaces.forget(uri)
                del self.documents[uri], self.views[uri]
            case events.Saved(uri) if uri in self.documents:
                self.memory(uri).saved(uri)
            case events.Focused(uri) if uri in self.documents:
                self.memory(uri).focused(uri)
            case events.Yanked(uri, text) if uri in self.documents:
                self.memory(uri).yanked(uri, text)
            case events.CursorMoved(uri, position) if uri in self.documents:
                self.views[uri].position = position
                self.memory(uri).moved(uri, position.line)
            case events.FilesChanged(changed, deleted):
                self._files_changed(changed, deleted)
            case events.FoldersChanged(roots):
                self.spaces.roots = roots
                self._open_all()
            case events.Shown() | events.Accepted() | events.PartlyAccepted():
                self.acceptance.heard(event, time.perf_counter())
            case _:
                pass

    def rules_changed(self) -> None:
        """What is private may be another now."""
        self.spaces.rules_changed()
        self._open_all()

    def workspace(self, view: View) -> Workspace:
        """The workspace that the document of *view* belongs to."""
        return self.spaces.of(view.file)

    def memory(self, uri: str) -> Memory:
        """What is remembered of the workspace *uri* belongs to; of private files nothing gets there."""
        view = self.views.get(uri)
        return self.spaces.of(view.file if view else paths.place(uri, self.spaces.roots)).memory

    def header(self, view: View, shown: Window) -> Header:
        """What a prompt with the window *shown* begins with."""
        return view.header(self.workspace(view).chunks(view.sight(shown)))

    def lines(self, view: View) -> Iterator[str]:
        """The lines of this file, of others that are open, and of the ring, that may be said again."""
        others = {
            self.views[uri].file.path: other
            for uri, other in reversed(self.documents.items())
            if uri != view.uri and self.views[uri].file.root == view.file.root
            and not self.spaces.why_private(uri)
        }  # fmt: skip
        return engine.lines_in_sight(self.documents.get(view.uri), view, others)

    def _open(self, document: Document) -> None:
        """Know *document*, and let it inform others unless it is private."""
        uri = document.uri
        view = View(uri, paths.place(uri, self.spaces.roots), document.language)
        self.documents[uri], self.views[uri] = document, view

        def allowed() -> None:
            if (now := self.documents.get(uri)) and self.views[uri] is view:
                self.workspace(view).opened(source(now, view.file))
                self.on_open(view, self.workspace(view))

        self.spaces.judge(uri, view.file, self._link.config, allowed)

    def _open_all(self) -> None:
        for document in [*self.documents.values()]:
            self._open(document)

    def _change(self, uri: str, version: int, edits: tuple[Edit | str, ...]) -> None:
        before, now = self.documents[uri], time.perf_counter()
        self.acceptance.followed(before, edits, now)
        self.documents[uri] = after = edited(before, edits, version)
        self.views[uri].follow(edits)
        self.rhythm.key(now * 1e3)
        self.memory(uri).edited(before, after, edits)

    def _files_changed(self, changed: tuple[str, ...], deleted: tuple[str, ...]) -> None:
        all_again = self.spaces.files_changed(changed, deleted)
        for uri in [*self.documents] if all_again else self.documents.keys() & set(changed):
            if all_again or not self.memory(uri).knows(uri):
                self._open(self.documents[uri])

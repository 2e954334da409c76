"""
Saves the session while it rests and when it ends, and restores it at the start.

State: what was loaded of each workspace, which documents are being restored, and which were used
last. Without a folder, or with `fim.state.save` off, it does nothing at all.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import NamedTuple

from fim_lsp.context.secrets.scrub import scrubbed_parts
from fim_lsp.context.update import Viewport
from fim_lsp.documents import Document
from fim_lsp.prompt import window
from fim_lsp.prompt.frame import Header, still_true
from fim_lsp.prompt.window import Window
from fim_lsp.session import state_file
from fim_lsp.session.connection import Connection
from fim_lsp.session.document_state import DocumentState
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.session.prefill import NOWHERE, Prefill
from fim_lsp.session.state_file import SavedDocument, SavedWorkspace
from fim_lsp.session.workspace import Workspace
from fim_lsp.settings.config import Config
from server_bridge.protocol import BackendError

REST_S = 30.0  # without a request before it is saved: a look at the documentation, a coffee
N_DOCUMENTS = 2  # whose states are saved, of those used last: each costs up to 250 MB

log = logging.getLogger(__name__)


class Persistence:
    """See the module. *cache* is a folder of our own, None to keep nothing."""

    def __init__(
        self,
        cache: Path | None,
        connection: Connection,
        open_documents: OpenDocuments,
        prefill: Prefill,
    ) -> None:
        self._cache = cache
        self._open_documents = open_documents
        self._connection = connection
        self._prefill = prefill
        self._restoring: dict[str, asyncio.Task[None]] = {}
        self._used: dict[str, _Used] = {}  # by URI, the one used last at the end
        self._on_disk: dict[str, SavedDocument] = {}
        self._rest: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    # -- at the start ----------------------------------------------------------------------------

    async def restore_ring(self, workspace: Workspace, config: Config) -> None:
        """Load the ring of *workspace*, once."""
        if self._cache is None or not config.state.save:
            return
        if workspace.loading is None:
            work = self._restore_ring(self._cache, workspace, config)
            workspace.loading = asyncio.create_task(work, name="restore ring")
        await asyncio.wait([workspace.loading])

    def opened(self, doc_state: DocumentState, workspace: Workspace) -> None:
        """Put *doc_state* where it was, and have the backend load what it saved of it."""
        if workspace.saved is None or doc_state.uri in self._restoring:
            return
        typed, saved = "", workspace.saved.documents.pop(doc_state.uri, None)
        shown = saved.frame.window if saved else NOWHERE
        chunks = workspace.chunks(_viewport(doc_state.uri, shown))
        header = doc_state.header(chunks)
        if saved is not None and _same_file(saved.frame.header, header):
            doc_state.frame = still_true(saved.frame, chunks)
            typed = saved.typed
        if chunks or doc_state.frame:
            work = self._restore(doc_state, header, typed)
            self._restoring[doc_state.uri] = asyncio.create_task(work, name="restore")

    async def wait_restored(self, doc_state: DocumentState) -> None:
        """Until *doc_state* is as it was, or is not to be."""
        if (task := self._restoring.get(doc_state.uri)) and not task.done():
            await asyncio.wait([task])

    async def _restore_ring(self, cache: Path, workspace: Workspace, config: Config) -> None:
        saved = await asyncio.to_thread(state_file.load, cache, workspace.key)
        await workspace.restore_ring(saved.ring, config)
        workspace.saved = saved

    async def _restore(self, doc_state: DocumentState, header: Header, typed: str) -> None:
        await self._connection.wait_ready()
        try:
            await self._prefill.restore(doc_state, header, typed)
        except BackendError as error:
            log.info("nothing restored: %s", error)
            doc_state.reset()

    # -- while documents come and go --------------------------------------------------------------

    def used(self, doc_state: DocumentState, workspace: Workspace) -> None:
        """A request came in *doc_state*: save it at rest."""
        if self._cache is None or not self._connection.config.state.save:
            return
        self._used.pop(doc_state.uri, None)
        self._used[doc_state.uri] = _Used(doc_state, workspace)
        if self._rest is not None:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(REST_S, self._begin)

    def closed(self, uri: str) -> None:
        """A document was closed: nothing is held for it any more."""
        self._used.pop(uri, None)
        if (task := self._restoring.get(uri)) and task.done():
            del self._restoring[uri]

    async def forget(self) -> None:
        """Delete all that is on disk: the user switched saving off, or a saved file is private now."""
        for workspace in self._open_documents.workspaces:
            workspace.saved = None
        self._on_disk.clear()
        if self._cache is not None:
            await asyncio.to_thread(state_file.forget, self._cache)

    # -- at rest and at the end ------------------------------------------------------------------

    async def aclose(self) -> None:
        """Save for the next time."""
        tasks = [*self._restoring.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._rest is not None:
            self._rest.cancel()
        if self._saving is not None:
            await asyncio.wait([self._saving])
        await self.save()

    async def save(self) -> None:
        """
        Save the documents used last and their workspaces, as far as they are not saved already.

        Texts without a file, and files outside of every workspace, leave nothing on disk.
        """
        if self._cache is None or not self._connection.config.state.save:
            return
        recent = [each for each in self._used.values() if each.workspace.root][-N_DOCUMENTS:]
        for workspace in {each.workspace.key: each.workspace for each in recent}.values():
            here = [each for each in recent if each.workspace is workspace]
            try:
                await self._save(self._cache, workspace, here)
            except (BackendError, OSError) as error:
                log.info("%s is not saved: %s", workspace.key, error)

    async def _save(self, cache: Path, workspace: Workspace, used: list[_Used]) -> None:
        states = [each.doc_state for each in used]
        found = (
            (state.uri, _to_save(state, self._open_documents.current(state))) for state in states
        )
        documents = {uri: document for uri, document in found if document}
        fresh = {uri for uri, each in documents.items() if each != self._on_disk.get(uri)}
        for uri in fresh:
            each = documents[uri]
            if not await self._prefill.save(each.frame, each.typed):
                del documents[uri]
        if fresh and documents:
            self._on_disk |= documents
            saved = SavedWorkspace(workspace.memory.ring, documents)
            await asyncio.to_thread(state_file.store, cache, workspace.key, saved)

    def _begin(self) -> None:
        self._saving = asyncio.create_task(self.save(), name="save")


class _Used(NamedTuple):
    doc_state: DocumentState
    workspace: Workspace


def _to_save(state: DocumentState, document: Document | None) -> SavedDocument | None:
    """Where the user is in a document that is still open; None where that must not be on disk."""
    if state.frame is None or state.position is None or document is None:
        return None
    if not state.uri.startswith("file:"):  # a text that is on no disk yet
        return None
    position, shown = document.clamp(state.position), state.frame.window
    if position.line < shown.anchor:  # the cursor went up, or what stood there was deleted
        return None
    typed = window.middle(shown, document, position)
    parts = (shown.prefix, typed, shown.suffix)
    if scrubbed_parts(parts) != parts:  # a window must be as the file has it, or it is of no use
        return None
    return SavedDocument(state.frame, typed)


def _viewport(uri: str, shown: Window) -> Viewport:
    """What a window shows, the cursor being at its anchor."""
    return Viewport(uri, shown.anchor, shown.first, shown.anchor + 1 + shown.suffix.count("\n"))


def _same_file(saved: Header, header: Header) -> bool:
    return (saved.repo, saved.path) == (header.repo, header.path)

"""
Saves the session while it rests and when it ends, and restores it at the start.

Workspaces and documents keep the state that was loaded and saved. State: the work under way.
Without a folder, or with `fim.state.save` off, it does nothing at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, starmap
from pathlib import Path

from fim_lsp.context.secrets.scan import scrub_parts
from fim_lsp.prompt.frame import NOWHERE, Frame, Header, still_true
from fim_lsp.session.connection import Connection
from fim_lsp.session.lane import Withdrawn
from fim_lsp.session.prefill import Prefill
from fim_lsp.session.state import state_file
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.state_file import SavedDocument, SavedWorkspace
from fim_lsp.session.state.verdicts import CALM_S, LIMIT_S
from fim_lsp.session.state.workspaces import Workspace
from fim_lsp.tasks import Tasks
from fim_lsp.workspace.paths import local_path, locate
from server_bridge.machine import notes
from server_bridge.machine.disks import in_disk_thread, within
from server_bridge.protocol import BackendError

REST_S = 30.0  # without a request before it is saved: a look at the documentation, a coffee
BURST = 10  # calls for an audit that follow each other and are one
N_DOCUMENTS = 2  # whose states are saved, of those used last: each costs up to 250 MB

Kept = dict[Path, tuple[str, ...]]  # what is on disk, with the files whose text it has

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class Persistence:
    """
    The saved state of a session. *cache* is a folder of our own, None to keep nothing.
    """

    _cache: Path | None
    _connection: Connection
    _open_documents: OpenDocuments
    _prefill: Prefill
    _restoring: Tasks = field(default_factory=Tasks)
    _forgetting: Tasks = field(default_factory=Tasks)
    _tasks: Tasks = field(default_factory=Tasks)
    _saves: Tasks = field(default_factory=Tasks)  # one may wait for its disk when the next begins
    _rest: asyncio.TimerHandle | None = None
    _auditing: asyncio.Task[None] | None = None
    _is_due: bool = False  # what is on disk is to be judged
    _roots: set[str] = field(default_factory=set)  # whose rules this session knows, or knew
    # at the files of a root that have no answer yet
    _looks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def restore_ring(self, workspace: Workspace) -> None:
        """Load the ring of *workspace*, once."""
        if self._cache is None or not self._keeps(workspace):
            return
        work = partial(self._restore_ring, self._cache, workspace)
        await asyncio.wait([workspace.begin_loading(work)])

    def begin_restore(self, doc: OpenDocument) -> None:
        """
        Put *doc* where it was, have the backend load what it saved of it, and evaluate the rest
        while idle: the cursor may be there already.
        """
        self._prefill.prefill(doc)
        workspace = doc.workspace
        if workspace.saved is None or doc.view.restoring or doc.view.ladder.current:
            return
        typed = ""
        saved = workspace.saved.documents.get(doc.uri)
        shown = saved.frame.window if saved else NOWHERE
        chunks = workspace.chunks(doc.viewport(shown, shown.anchor), self._connection.config)
        header = doc.view.ladder.header(chunks)
        if saved and replace(saved.frame.header, chunks=header.chunks) == header:
            doc.view.ladder.install(still_true(saved.frame, chunks))
            typed = saved.typed
        if chunks or doc.view.ladder.current:
            work = self._restore(doc, header, typed)
            doc.view.begin_restoring(lambda: self._restoring.start(work, "restore"))

    async def _restore_ring(self, cache: Path, workspace: Workspace) -> None:
        saved = await in_disk_thread(partial(state_file.load, cache, workspace.key))
        workspace.restore_ring(saved.ring)
        workspace.note_saved(saved)

    async def _restore(self, doc: OpenDocument, header: Header, typed: str) -> None:
        ladder = doc.view.ladder
        await self._connection.wait_ready()
        frame = ladder.current or Frame(header, NOWHERE)
        is_of_use = False
        try:
            is_of_use = await self._prefill.restore(doc, frame, typed)
        except Withdrawn:
            return  # it is private, or in another folder now
        except BackendError as error:
            log.info("nothing restored: %s", error)
        if not is_of_use and ladder.current is frame:
            ladder.reset()
        if saved := doc.workspace.saved:
            doc.workspace.note_saved(saved.without(doc.uri))

    async def restore_again(self, doc: OpenDocument) -> None:
        """
        Have the backend load what it saved of *doc* in this session, once each time that it was
        reached again.
        """
        was_lost = doc.view.note_connected(self._connection.n_connected)
        saved = doc.view.saved
        if not was_lost or saved is None:
            return
        with contextlib.suppress(BackendError):  # then it is evaluated
            if await self._prefill.restore(doc, saved.frame, saved.typed):
                doc.view.ladder.restore()  # a newer frame in use stays

    def note_use(self, doc: OpenDocument) -> None:
        """Note a request in *doc*: save it at rest."""
        if self._cache is None or not self._keeps(doc.workspace):
            return
        loop = asyncio.get_running_loop()
        doc.requests.note_use(loop.time())
        if self._rest is not None:
            self._rest.cancel()
        self._rest = loop.call_later(REST_S, self._begin_save)

    def begin_forget(self) -> None:
        """Delete all that is on disk: the user switched saving off."""
        if self._cache is not None:
            self._forgetting.start(self._forget(self._cache), "forget")

    async def _forget(self, cache: Path) -> None:
        delete = partial(state_file.forget, cache)
        await in_disk_thread(delete)
        await asyncio.gather(*self._saves, return_exceptions=True)
        await in_disk_thread(delete)  # what they had on their way to the disk
        for workspace in self._open_documents.workspaces:
            workspace.note_saved(None)
        for doc in self._open_documents:
            doc.view.note_saved(None)

    async def end_engines(self) -> None:
        """End the engines that sessions share, with all that they hold of prompts."""
        if self._cache is not None:
            with contextlib.suppress(OSError):  # they end when its disk answers
                await within(partial(state_file.end_engines, self._cache))

    def begin_audit(self) -> None:
        """
        Judge what is on disk of the workspaces of this session, of earlier ones too; delete what
        has text of files that are private now, or gone, or of none.

        A file that cannot be judged stays: its disk does not answer, or it is of other workspaces,
        whose rules this session does not know. Called at the start, and when files are gone or the
        rules of what is private changed; a folder that the user closed since is looked at, too. If
        rules change during an audit, or text is saved, the audit is run again.
        """
        self._is_due = True
        self._roots |= {*self._open_documents.workspaces.roots}
        if self._cache is not None and (self._auditing is None or self._auditing.done()):
            self._auditing = self._tasks.start(self._audit_while_due(self._cache), "audit")

    async def wait_audited(self) -> None:
        """Wait until what is on disk is judged, as far as disks answer."""
        if self._auditing is not None:
            await asyncio.wait([self._auditing])
        if self._looks:
            await asyncio.wait(self._looks.values(), timeout=LIMIT_S)

    async def _audit_while_due(self, cache: Path) -> None:
        while self._is_due:
            for _ in range(BURST):
                if self._is_due:
                    self._is_due = False
                    await asyncio.sleep(CALM_S)
            for save in self._saves:
                save.add_done_callback(lambda _: self.begin_audit())
            roots = self._open_documents.workspaces.roots, tuple(self._roots)
            try:
                kept, by_root = await in_disk_thread(partial(_list_kept, cache, *roots))
            except OSError as error:
                log.warning("text on disk is not judged: %s", error)
                return
            await self._drop(cache, kept, {*notes.NAMELESS})
            for root, uris in by_root.items():
                if not self._connection.config.of(local_path(root)).state.save:
                    await self._drop(cache, kept, uris)
                elif root in self._looks:  # it began before what this is called for
                    self._looks[root].add_done_callback(lambda _: self.begin_audit())
                else:
                    work = self._judge(cache, kept, root, uris)
                    self._looks[root] = self._tasks.start(work, "audit")

    async def _judge(self, cache: Path, kept: Kept, root: str, uris: set[str]) -> None:
        """Delete what has text of private or missing files, once the disk of *root* answers."""
        verdicts = self._open_documents.workspaces.verdicts
        try:
            look = partial(verdicts.list_private, uris, self._connection.config.privacy)
            await self._drop(cache, kept, await in_disk_thread(look))
        finally:
            del self._looks[root]

    async def _drop(self, cache: Path, kept: Kept, private: Collection[str]) -> None:
        """Delete what is kept and has text of files that are *private* now."""
        gone = [path for path, uris in kept.items() if not {*uris}.isdisjoint(private)]
        for path in gone:
            await in_disk_thread(partial(notes.drop, path))
        for workspace in self._open_documents.workspaces:
            if state_file.path_of(cache, workspace.key) in gone:
                workspace.note_saved(None)
        for doc in self._open_documents if gone else ():
            doc.view.note_saved(None)  # it is saved again

    async def aclose(self) -> None:
        """Save for the next time."""
        await self._restoring.aclose()
        if self._rest is not None:
            self._rest.cancel()
        await asyncio.gather(*self._saves, *self._forgetting, return_exceptions=True)
        await asyncio.wait([self._begin_save()])
        await self.wait_audited()
        await self._forgetting.aclose(None)
        self._saves.end()
        self._tasks.end()  # the rest waits for a disk that does not answer

    async def save(self) -> None:
        """
        Save the documents used last and their workspaces, as far as they are not saved already.

        Texts without a file, and files outside of every workspace, leave nothing on disk.
        """
        if self._cache is None:
            return
        used = [d for d in self._open_documents if d.requests.used and self._keeps(d.workspace)]
        recent = sorted(used, key=lambda doc: doc.requests.used)[-N_DOCUMENTS:]
        for workspace in dict.fromkeys(doc.workspace for doc in recent):
            here = [doc for doc in recent if doc.workspace is workspace]
            try:
                await self._save(self._cache, workspace, here)
            except (BackendError, OSError, Withdrawn, UnicodeEncodeError) as error:
                log.info("%s is not saved: %s", workspace.key, error)

    async def _save(self, cache: Path, workspace: Workspace, used: list[OpenDocument]) -> None:
        places = {doc: _to_save(doc) for doc in used}
        documents = {doc: saved for doc, saved in places.items() if saved}
        fresh = {doc for doc, saved in documents.items() if saved != doc.view.saved}
        for doc in fresh:
            saved = documents[doc]
            if not await self._prefill.save(doc, saved.frame, saved.typed):
                places[doc] = doc.view.saved  # what an earlier save wrote is of use still
        documents = {  # documents as public as they were, with all files shown beside them
            doc: s for doc, s in places.items() if s and doc.current and all(_list_files(doc, s))
        }
        if fresh and documents and self._keeps(workspace):
            for doc, saved in documents.items():
                doc.view.note_saved(saved)
            written = _state_of(workspace, documents)
            await in_disk_thread(state_file.store, cache, workspace.key, written)
            self.begin_audit()  # a file may be gone, or private, of which only the text is open

    def _keeps(self, workspace: Workspace) -> bool:
        """Return whether anything of *workspace* may be on disk."""
        return bool(workspace.root) and workspace.settings(self._connection.config).state.save

    def _begin_save(self) -> asyncio.Task[None]:
        return self._saves.start(self.save(), "save")


def _list_kept(cache: Path, *roots: tuple[str, ...]) -> tuple[Kept, dict[str, set[str]]]:
    """
    Return what is on disk, but what is being written, and by root the files of which there is text:
    the first of *roots* that have one count.
    """
    found = state_file.list_kept(cache).items()
    by_root = dict[str, set[str]]()
    kept = {path: of for path, of in found if of != notes.NAMELESS or not notes.is_new(path)}
    for uri in {*chain(*kept.values())}:
        if root := next(filter(None, (locate(uri, each).root for each in roots)), ""):
            by_root.setdefault(root, set()).add(uri)
    return kept, by_root


def _to_save(doc: OpenDocument) -> SavedDocument | None:
    """
    Return the user's place in a document that is still open; None where it must not be on disk.
    """
    place = doc.place
    frame = doc.view.ladder.current
    if frame is None or place is None or not doc.uri.startswith("file:"):
        return None
    shown = frame.window
    if place.position.line < shown.anchor:  # the cursor went up, or what stood there was deleted
        return None
    typed = frame.middle(place)
    parts = (shown.prefix, typed, shown.suffix)
    if scrub_parts(parts) != parts:  # a window must be as the file has it, or it is of no use
        return None
    return SavedDocument(frame, typed)


def _state_of(workspace: Workspace, documents: dict[OpenDocument, SavedDocument]) -> SavedWorkspace:
    """Return the state to save, with the names of all files in it."""
    ring = workspace.ring_to_save()
    files = {*chain(*starmap(_list_files, documents.items())), *(c.uri for c in ring.chunks)}
    by_uri = {doc.uri: saved for doc, saved in documents.items()}
    return SavedWorkspace(ring, by_uri, tuple(sorted(files)))


def _list_files(doc: OpenDocument, saved: SavedDocument) -> tuple[str, ...]:
    return (doc.uri, *doc.workspace.uris_of(saved.frame.header.chunks))

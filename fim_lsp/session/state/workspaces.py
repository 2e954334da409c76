"""
The workspaces of a session: made in one place, dropped in one place. Also the verdicts on
documents.

What is open in one workspace never shows in the prompts of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from fim_lsp.context.chunks import Source
from fim_lsp.context.index import Index
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import Ring, RingLimits, RingUpdate, Snapshot, Viewport, update_ring
from fim_lsp.prompt.frame import Chunks, scrub_name
from fim_lsp.session.state.edit_history import EditHistory
from fim_lsp.session.state.state_file import SavedWorkspace
from fim_lsp.settings.backend import is_local
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths
from fim_lsp.workspace.explorer import EMPTY, Explorer, Progress
from fim_lsp.workspace.files import pieces_of, reread, uri_of
from fim_lsp.workspace.git_files import excludes_files
from fim_lsp.workspace.ignore_files import why_private
from fim_lsp.workspace.paths import FileLocation
from fim_lsp.workspace.reader import SourceReader
from server_bridge.protocol import Chunk

NO_ROOM = RingLimits(0, 1, 0)
T = TypeVar("T")

# The default threads may all be busy: with names that do not resolve, long texts, git.
_JUDGES = ThreadPoolExecutor(2, "judge")


async def judge_apart(look: Callable[[], T]) -> T:
    """
    Return what *look* sees on disk, which a verdict waits for, from a thread that only verdicts
    use.
    """
    return await asyncio.get_running_loop().run_in_executor(_JUDGES, look)


class Workspace:
    """
    *key* tells it from all others, see `FileLocation.key`; *root* is its URI, "" for a folder
    outside of all.

    *evaluated* are the chunks of the prompt that was evaluated
    last; *saved* is what an earlier run left, once *loading* has read it.
    """

    def __init__(self, key: str, root: str, reader: SourceReader, progress: Progress) -> None:
        self.key = key
        self.root = root
        self.memory = Memory(NO_ROOM)
        self.files = Explorer(root, reader, progress)
        self.evaluated: Chunks = ()
        self.edits = EditHistory()
        self.saved: SavedWorkspace | None = None
        self.loading: asyncio.Task[None] | None = None
        self.find_uses = reader.find_uses
        self._reader = reader
        self._updated: tuple[int, Index] | None = None  # what the ring was last chosen from
        self._is_verified = True  # what is remembered of closed files is not private
        self._refreshing = asyncio.Lock()
        self._shown: dict[str, str] = {}  # the files whose text prompts may have: URI by name

    def mark_evaluated(self, chunks: Chunks) -> None:
        """Note that the backend has evaluated these chunks last."""
        self.evaluated = chunks

    def begin_loading(self, work: Callable[[], Coroutine[None, None, None]]) -> asyncio.Task[None]:
        """Have *work* load what an earlier run left, once."""
        self.loading = self.loading or asyncio.create_task(work(), name="restore ring")
        return self.loading

    def mark_saved(self, saved: SavedWorkspace | None) -> None:
        """Remember what an earlier run left, None where that was deleted."""
        self.saved = saved

    def open(self, source: Source) -> None:
        """
        Take in a text that the editor shows and that may be used; it may spell the URI in its own
        way.
        """
        if source.uri != (default := uri_of(self.root, source.name)):
            self.memory.note_deletion(default)
        self.memory.note_open(source)

    def chunks(self, viewport: Viewport) -> tuple[Chunk, ...]:
        """Return the chunks to show with a window."""
        visible = self.memory.visible(viewport)
        shown = tuple(Chunk(scrub_name(chunk.name), chunk.text) for chunk in visible)
        for chunk, source in zip(shown, visible, strict=True):
            self.show(chunk.name, source.uri)
        return shown

    def show(self, name: str, uri: str) -> None:
        """Note that prompts may have text of the file *uri*, by *name*, from now on."""
        self._shown[name] = uri

    def shows(self, name: str) -> bool:
        """
        Return whether text of this file, of an earlier prompt, may still be shown: it is there, and
        not private.
        """
        return name in self._shown

    def withdraw(self, uri: str) -> None:
        """Show nothing of this file from now on, and remember nothing: it is gone, or private."""
        self.edits.stop()
        self.memory.note_deletion(uri)
        names = [name for name, shown in self._shown.items() if shown == uri]
        for name in names:
            del self._shown[name]
        if names:
            self.mark_evaluated(())

    async def update_ring(self, viewport: Viewport, limits: RingLimits, config: Config) -> bool:
        """
        Choose the chunks again in a worker thread, if anything happened; whether the ring changed.
        """
        self.memory.limits = self.memory.limits.grow(limits)
        if not limits.n_chunks:
            return False
        await self.refresh(config.privacy.exclude)
        if config.ring.files and (here := self.memory.snapshot(viewport).here):
            self.files.explore(here.name, config)
            await self.files.wait_begun()
        snapshot = self.memory.snapshot(viewport)
        index = self.files.index if config.ring.files else EMPTY
        if (snapshot.n_events, index) == self._updated:
            return False
        update = await asyncio.to_thread(self._choose, snapshot, index)
        before = self.memory.ring
        if not self.memory.accept(update):
            return False
        self._updated = update.n_events, index
        return self.memory.ring is not before

    async def restore_ring(self, ring: Ring, config: Config) -> None:
        """Go on with the ring of an earlier run, as far as it is still true and not private."""
        if ring.chunks and not self.memory.ring.chunks:
            self.memory.ring = ring
            self.judge_again()
            await self.reverify(config.privacy.exclude)

    async def refresh(self, excludes: Iterable[str]) -> bool:
        """
        Let what is remembered of files that are not open be as the disk has it now; whether any is
        gone or private now.
        """
        async with self._refreshing:
            return await self._refresh(excludes)

    async def reverify(self, excludes: Iterable[str]) -> bool:
        """Do so after a change of the rules."""
        async with self._refreshing:
            return not self._is_verified and await self._refresh(excludes)

    def invalidate_listing(self) -> None:
        """Take in that files changed on disk."""
        self.files.invalidate_listing()
        self._updated = None

    def judge_again(self) -> None:
        """
        The rules of what is private changed: trust nothing that is remembered until it is judged
        again.
        """
        self._updated, self._is_verified, self.evaluated = None, False, ()
        self._shown.clear()
        self.edits.stop()  # a question that waits for its model has text of files
        self.memory.forget_server_pieces()
        self.files.forget()

    def stop(self) -> None:
        """End the work in the background."""
        self.files.stop()
        self.edits.stop()
        if self.loading is not None:
            self.loading.cancel()

    def _choose(self, snapshot: Snapshot, index: Index) -> RingUpdate:
        """Choose the ring, in a worker thread."""
        folder, read = self.files.folder, self._reader.read
        others = pieces_of(index, Path(folder) if folder else None, self.root, snapshot, read)
        return update_ring(replace(snapshot, others=(*snapshot.others, *others)), read)

    async def _refresh(self, excludes: Iterable[str]) -> bool:
        """
        Let what is remembered of files that are not open be as the disk has it; whether any left.
        """
        unsure, trusting = self.memory.unsure(), self._is_verified
        if not unsure:
            return False
        self._is_verified = True
        check = partial(self._reread, excludes=tuple(excludes), trusting=trusting)
        checked: list[Source | None] = await judge_apart(partial(list, map(check, unsure)))
        on_disk = {source.uri for source in self.memory.unsure()}  # not opened meanwhile
        n_left = 0
        for old, new in zip(unsure, checked, strict=True):
            if new is None and old.uri in on_disk:
                self.withdraw(old.uri)
                n_left += 1
            elif new is not None and new is not old and old.uri in on_disk:
                self.memory.note_change(new)
        return n_left > 0

    def _reread(self, old: Source, excludes: tuple[str, ...], *, trusting: bool) -> Source | None:
        file = paths.local_path(old.uri)
        last = old if trusting else replace(old, version=-1)
        new = reread(file, self.files.folder, excludes, last) if file else None
        return old if new is last else new


OUTSIDE = 8  # folders outside of all roots that are remembered with nothing open in them


class Workspaces:
    """
    *roots* are the editor's folders; *progress* is called while files are indexed. *n_rules* counts
    how often the rules of what is private changed.
    """

    def __init__(self) -> None:
        self.progress: Progress = lambda *_: None
        self.roots: tuple[str, ...] = ()
        self.n_rules = 0
        self._by_key: dict[str, Workspace] = {}
        self._reader = SourceReader()

    def __iter__(self) -> Iterator[Workspace]:
        return iter(self._by_key.values())

    def of(self, location: FileLocation, in_use: Collection[Workspace]) -> Workspace:
        """
        Return the workspace that a document belongs to; *in_use* are those with open documents.
        """
        if location.key not in self._by_key:
            self._drop_unused(in_use)
            made = Workspace(location.key, location.root, self._reader, self._report)
            self._by_key[location.key] = made
        return self._by_key[location.key]

    def _drop_unused(self, in_use: Collection[Workspace]) -> None:
        """
        Keep no root that the editor closed, and only so many folders in which nothing is open.
        """
        unused = [workspace for workspace in self._by_key.values() if workspace not in in_use]
        gone = [
            workspace for workspace in unused if workspace.root and workspace.root not in self.roots
        ]
        outside = [workspace for workspace in unused if not workspace.root]
        for workspace in (*gone, *outside[: max(0, len(outside) - OUTSIDE)]):
            self._by_key.pop(workspace.key).stop()
            self._reader.forget(partial(self._is_in, workspace.key))

    def _is_in(self, key: str, uri: str) -> bool:
        return paths.locate(uri, self.roots).key == key

    @staticmethod
    def quick_verdict(uri: str) -> str | None:
        """Return why *uri* is private, None where that needs a look at the disk."""
        return "not a file" if paths.path_to_judge(uri) is None else None

    async def verdict(self, uri: str, location: FileLocation, config: Config) -> str:
        """
        Return why *uri* is private, "" when it is not. In a worker thread: it reads ignore files.
        """
        servers = config.backend, config.next_edit.server.url
        if uri.startswith(paths.UNNAMED) and not is_local(*servers):
            return "it has no name, so that only a model of this machine may see it"
        judge = partial(self._judge, uri, location, config.privacy.exclude)
        return await judge_apart(judge)

    def is_kept(self, uri: str, excludes: Collection[str]) -> bool:
        """Return whether text of *uri* may be kept: it is a file, and not private. Blocking."""
        file = paths.path_to_judge(uri)
        if file is None or not Path(file).is_file():
            return False
        return not self._judge(uri, paths.locate(uri, self.roots), excludes)

    def _judge(self, uri: str, location: FileLocation, excludes: Collection[str]) -> str:
        path = paths.path_to_judge(uri)
        assert path is not None, "see quick_verdict"
        root = paths.local_path(location.root or paths.root_of(path, self.roots))
        places = [(path, root), *paths.list_places(path, self.roots)]
        return next(filter(None, (why_private(*place, excludes) for place in places)), "")

    def note_files(self, changed: Iterable[str], deleted: Iterable[str]) -> bool:
        """
        Take in that files changed on disk; return whether the rules did, and every open document is
        to be judged.
        """
        deleted = tuple(deleted)
        for uri in deleted:
            for workspace in self._by_key.values():
                workspace.withdraw(uri)
        if self.changes_rules(*changed, *deleted):
            self.judge_again()
            return True
        for workspace in self._by_key.values():
            workspace.invalidate_listing()
        return False

    @staticmethod
    def changes_rules(*uris: str) -> bool:
        """Return whether a change of one of these files changes which files are private."""
        try:
            files = excludes_files()
        except OSError:  # then all files are private, and judged again when asked for
            files = []
        return any(paths.changes_rules(uri, files) for uri in uris)

    def judge_again(self) -> None:
        """
        The rules changed: what is remembered is judged again; the caller judges the documents.
        """
        self.n_rules += 1
        for workspace in self._by_key.values():
            workspace.judge_again()

    async def wait_explored(self) -> None:
        """Wait until every index is whole; for tests and benchmarks."""
        for workspace in self._by_key.values():
            await workspace.files.wait_explored()

    def close(self) -> None:
        """End the work in the background."""
        for workspace in self._by_key.values():
            workspace.stop()
        self._reader.close()

    def stats(self) -> dict[str, int]:
        """Return the sums over all workspaces, for `fim/stats`."""
        names = ("chunks", "queued", "evicted")
        return {n: sum(workspace.memory.stats()[n] for workspace in self) for n in names}

    def _report(self, root: str, n_done: int, n_files: int) -> None:
        self.progress(root, n_done, n_files)

"""
What the session remembers of each workspace root, and which of its files are private. State.

One memory per root: what is open in one workspace never shows in the prompts of another.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath

from fim_lsp.context.chunks import Piece, Source
from fim_lsp.context.index import Index, holding, updated
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import Limits, Ring
from fim_lsp.context.update import RingUpdate, Snapshot, Viewport, update_ring
from fim_lsp.documents import Document
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths
from fim_lsp.workspace.files import (
    grown,
    listed,
    on_disk,
    reread,
    unopened_files_of,
    uri_of,
)
from fim_lsp.workspace.git_files import excludes_files
from fim_lsp.workspace.ignore_files import why_private
from fim_lsp.workspace.paths import FileLocation
from fim_lsp.workspace.reader import Reader
from server_bridge.protocol import Chunk

LISTING_S = 60  # between two looks at what files there are, for editors that do not tell
PAUSE_S = 0.02  # between two slices of the index: half of the time is left to other work
HOLDING = 12  # files that are read to look for a text: some milliseconds, and 2.4 MB at most
OUTSIDE = 8  # folders outside of all roots that are remembered with nothing open in them
EMPTY = Index()
NO_ROOM = Limits(0, 1, 0)

Progress = Callable[[str, int, int], None]  # root, files done, files to do


class Workspace:
    """
    One root. *root* is its URI, "" for files outside of all roots; *name* tells it from all others.

    *reader* cuts its texts. *progress* is told of files that are being indexed: how many are done, of
    how many.
    """

    def __init__(self, name: str, root: str, reader: Reader, progress: Progress) -> None:
        self.name = name
        self.root = root
        self.memory = Memory(NO_ROOM)
        self.index = EMPTY
        self._folder = paths.local_path(root) if root else None
        self._reader = reader
        self._progress = progress
        self._updated: tuple[int, Index] | None = None  # what the ring was last chosen from
        self._listed_s: float = -LISTING_S  # loop time
        self._listing: asyncio.Task[None] | None = None
        self._trusting = True  # what is remembered of closed files is not private
        self._refreshing = asyncio.Lock()

    def opened(self, source: Source) -> None:
        """The editor shows a text that may be used; it may spell the URI in its own way."""
        default = uri_of(self.root, source.name)
        if source.uri != default:
            self.memory.deleted(default)
        self.memory.opened(source)

    def chunks(self, viewport: Viewport) -> tuple[Chunk, ...]:
        """The chunks to show with a window."""
        return tuple(Chunk(each.name, each.text) for each in self.memory.visible(viewport))

    async def update_ring(self, viewport: Viewport, limits: Limits, config: Config) -> bool:
        """Choose the chunks again in a worker thread, if anything happened; whether the ring changed."""
        self.memory.limits = self.memory.limits.grown(limits)
        if not limits.n_chunks:
            return False
        async with self._refreshing:
            await self._refresh(config.privacy.exclude)
        snapshot = self.memory.snapshot(viewport)
        if snapshot.here and config.ring.files:
            self.explore(snapshot.here.name, config)
        index = self.index if config.ring.files else EMPTY
        if (snapshot.n_events, index) == self._updated:
            return False
        update = await asyncio.to_thread(self._choose, snapshot, index)
        before = self.memory.ring
        if not self.memory.accept(update):
            return False
        self._updated = update.n_events, index
        return self.memory.ring is not before

    def explore(self, near: str, config: Config) -> None:
        """Bring the index up to date in the background, now and then, beginning with files beside *near*."""
        now = asyncio.get_running_loop().time()
        due = now >= self._listed_s + LISTING_S and (self._listing is None or self._listing.done())
        if due and self._folder:
            self._listed_s = now
            work = self._grow(Path(self._folder), near, config.privacy.exclude)
            self._listing = asyncio.create_task(work, name="index")

    def holding(
        self, texts: Sequence[str], near: str, opened: Collection[str], config: Config
    ) -> list[Document]:
        """
        Files that may hold one of *texts*, as they are on disk: none that is private, or *opened*.

        Those in the folder of the file *near* come first. Blocking: for a worker thread.
        """
        unopened = (path for path in holding(self.index, texts, near) if path not in opened)
        found = (self.on_disk(path, config) for path in itertools.islice(unopened, HOLDING))
        return [document for document in found if document]

    def on_disk(self, path: str, config: Config) -> Document | None:
        """A file that is not open as it is now; None when it is gone or private. Blocking, too."""
        if not self._folder:
            return None
        return on_disk(Path(self._folder), self.root, path, config.privacy.exclude)

    async def restore_ring(self, ring: Ring, config: Config) -> None:
        """Go on with the ring of an earlier run, as far as it is still true and not private."""
        if ring.chunks and not self.memory.ring.chunks:
            self.memory.ring = ring
            self.look_again(trusting=False)
            await self.recheck(config.privacy.exclude)

    async def recheck(self, excludes: Iterable[str]) -> bool:
        """
        After a change of the rules, judge again what is remembered of files that are not open; whether
        any is gone or private now.
        """
        async with self._refreshing:
            return not self._trusting and await self._refresh(excludes)

    def look_again(self, *, trusting: bool) -> None:
        """Files changed; not *trusting*: the rules of what is private may have, too."""
        self._listed_s = -LISTING_S
        self._updated = None
        if not trusting:
            self._trusting = False
            self.index = EMPTY
            self.stop()

    def stop(self) -> None:
        """End what goes on in the background."""
        if self._listing is not None:
            self._listing.cancel()

    async def wait_explored(self) -> None:
        """Until the index is whole; for tests and benchmarks."""
        while self._listing and not self._listing.done():
            await asyncio.wait([self._listing])

    def _choose(self, snapshot: Snapshot, index: Index) -> RingUpdate:
        """In a worker thread."""
        folder, read, others = self._folder, self._reader.read, list[Piece]()
        if folder:
            others = unopened_files_of(index, Path(folder), self.root, snapshot, read)
        return update_ring(replace(snapshot, others=(*snapshot.others, *others)), read)

    async def _refresh(self, excludes: Iterable[str]) -> bool:
        """Let what is remembered of files that are not open be as the disk has it; whether any left."""
        unsure, trusting = self.memory.unsure(), self._trusting
        if not unsure:
            return False
        self._trusting = True
        check = partial(self._reread, excludes=tuple(excludes), trusting=trusting)
        checked = await asyncio.to_thread(list, map(check, unsure))
        on_disk = {source.uri for source in self.memory.unsure()}  # not opened meanwhile
        n_left = 0
        for old, new in zip(unsure, checked, strict=True):
            if new is None and old.uri in on_disk:
                self.memory.deleted(old.uri)
                n_left += 1
            elif new is not None and new is not old and old.uri in on_disk:
                self.memory.changed(new)
        return n_left > 0

    def _reread(self, old: Source, excludes: tuple[str, ...], *, trusting: bool) -> Source | None:
        file = paths.local_path(old.uri)
        known = old if trusting else replace(old, version=-1)
        new = reread(file, self._folder, excludes, known) if file else None
        return old if new is known else new

    async def _grow(self, folder: Path, near: str, excludes: tuple[str, ...]) -> None:
        listing = await asyncio.to_thread(listed, folder, near, excludes)
        known = {path: entry.stamp for path, entry in self.index.entries.items()}
        if gone := {path: None for path in known if path not in listing}:
            self.index = updated(self.index, gone)
        todo: Sequence[str] = [p for p, stamp in listing.items() if known.get(p) != stamp]
        n_todo = len(todo)
        while todo:
            self.index, todo = await asyncio.to_thread(
                grown, self.index, folder, listing, todo, self._reader.units
            )
            self._progress(self.root, n_todo - len(todo), n_todo)
            await asyncio.sleep(PAUSE_S)


class Workspaces:
    """The roots, each with its memory. *progress* is told of files that are being indexed."""

    def __init__(self) -> None:
        self.progress: Progress = lambda *_: None
        self.roots: tuple[str, ...] = ()
        self._by_root: dict[str, Workspace] = {}
        self._reader = Reader()

    def of(self, location: FileLocation) -> Workspace:
        """The workspace a document belongs to; files outside of all roots by their folder."""
        key = location.root or f"outside: {location.folder or location.repo}"
        if key not in self._by_root:
            self._forget_outside()
            self._by_root[key] = Workspace(key, location.root, self._reader, self._tell)
        return self._by_root[key]

    @staticmethod
    def known_verdict(uri: str) -> str | None:
        """Why *uri* is private, None where that needs a look at the disk."""
        return "not a file" if paths.judged_path(uri) is None else None

    async def verdict(self, uri: str, location: FileLocation, config: Config) -> str:
        """Why *uri* is private, "" when it is not. In a worker thread: it reads ignore files."""
        path = paths.judged_path(uri)
        assert path is not None, "see known_verdict"
        root = paths.local_path(location.root or paths.root_of(path, self.roots))
        places = [(path, root), *paths.placed(path, self.roots)]
        return await asyncio.to_thread(_why_private, places, config.privacy.exclude)

    def files_changed(self, changed: Iterable[str], deleted: Iterable[str]) -> bool:
        """Files changed on disk; whether the rules did, and every open document is to be judged."""
        deleted = tuple(deleted)
        for uri in deleted:
            for workspace in self._by_root.values():
                workspace.memory.deleted(uri)
        if self.changes_rules(*changed, *deleted):
            self.rules_changed()
            return True
        for workspace in self._by_root.values():
            workspace.look_again(trusting=True)
        return False

    @staticmethod
    def changes_rules(*uris: str) -> bool:
        """Whether a change of one of these files changes which files are private."""
        return any(paths.changes_rules(uri, excludes_files()) for uri in uris)

    def rules_changed(self) -> None:
        """The rules changed: what is remembered is judged again; the caller judges the documents."""
        for workspace in self._by_root.values():
            workspace.look_again(trusting=False)

    async def wait_explored(self) -> None:
        """Until every index is whole; for tests and benchmarks."""
        for workspace in self._by_root.values():
            await workspace.wait_explored()

    def close(self) -> None:
        """End what goes on in the background."""
        for workspace in self._by_root.values():
            workspace.stop()
        self._reader.close()

    def _forget_outside(self) -> None:
        """Keep only so many folders outside of all roots in which nothing is open."""
        outside = [key for key, each in self._by_root.items() if not each.root]
        closed = [key for key in outside if not self._by_root[key].memory.has_open]
        for key in closed[: len(outside) - OUTSIDE]:
            self._by_root.pop(key).stop()

    def _tell(self, root: str, n_done: int, n_files: int) -> None:
        self.progress(root, n_done, n_files)

    def stats(self) -> dict[str, int]:
        """The sums over all roots, for `fim/stats`."""
        each = [workspace.memory.stats() for workspace in self._by_root.values()]
        names = ("chunks", "queued", "evicted")
        return {n: sum(s[n] for s in each) for n in names}


def _why_private(
    places: Sequence[tuple[PurePath, PurePath | None]], excludes: Collection[str]
) -> str:
    """Why a document is private that may be any of the files *places*, each with its root."""
    return next(filter(None, (why_private(*place, excludes) for place in places)), "")


def source(document: Document, location: FileLocation) -> Source:
    """A document as the memory keeps it, under the name a model may see."""
    return Source(document.uri, location.path, document.language, document.version, document.lines)

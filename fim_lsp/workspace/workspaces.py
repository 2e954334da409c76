"""
What the session remembers of each workspace root, and which of its files are private. State.

One memory per root: what is open in one workspace never shows in the prompts of another. A file is
judged before anything of it is used; until the verdict is there it counts as private.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath

from fim_lsp import paths
from fim_lsp.config import Config
from fim_lsp.context.chunks import Source
from fim_lsp.context.index import Index, updated
from fim_lsp.context.memory import Memory
from fim_lsp.context.privacy import IGNORE_FILES
from fim_lsp.context.ring import Limits, Ring
from fim_lsp.context.turn import Snapshot, Turned, turn
from fim_lsp.context.turn import View as Sight
from fim_lsp.context_files import grown, listed, reread, strangers_of, uri_of
from fim_lsp.documents import Document
from fim_lsp.ignore_files import why_private
from fim_lsp.paths import Place
from server_bridge.protocol import Chunk

UNJUDGED = "not judged yet"
LISTING_S = 60  # between two looks at what files there are, for editors that do not tell
PAUSE_S = 0.02  # between two slices of the index: half of the time is somebody else's
SCHEMES = ("file", "untitled", "vscode-notebook-cell")  # others are output panes, old revisions, …
EMPTY = Index()

Progress = Callable[[str, int, int], None]  # root, files done, files to do


class Workspace:
    """
    One root. *root* is its URI, "" for files outside of all roots; *name* tells it from all others.

    *progress* is told of files that are being indexed: how many are done, of how many.
    """

    def __init__(self, name: str, root: str, limits: Limits, progress: Progress) -> None:
        self.name = name
        self.root = root
        self.memory = Memory(limits)
        self.index = EMPTY
        self._folder = paths.local_path(root) if root else None
        self._progress = progress
        self._turned: tuple[int, Index] | None = None
        self._listed_s: float = -LISTING_S  # loop time
        self._listing: asyncio.Task[None] | None = None
        self._trusting = True

    def opened(self, source: Source) -> None:
        """The editor shows a text that may be used; it may spell the URI in its own way."""
        default = uri_of(self.root, source.name)
        if source.uri != default:
            self.memory.deleted(default)
        self.memory.opened(source)

    def chunks(self, sight: Sight) -> tuple[Chunk, ...]:
        """The chunks to show with a window."""
        return tuple(Chunk(each.name, each.text) for each in self.memory.visible(sight))

    async def turn(self, sight: Sight, config: Config) -> bool:
        """Choose the chunks anew in a worker thread, if there is news; whether the ring changed."""
        if not self.memory.limits.n_chunks:
            return False
        await self._refresh(config.privacy.exclude)
        snapshot = self.memory.snapshot(sight)
        self._explore(snapshot, config)
        index = self.index if config.ring.files else EMPTY
        if (snapshot.n_events, index) == self._turned:
            return False
        turned = await asyncio.to_thread(self._turn, snapshot, index)
        before = self.memory.ring
        if not self.memory.accept(turned):
            return False
        self._turned = turned.n_events, index
        return self.memory.ring is not before

    async def recall(self, ring: Ring, config: Config) -> None:
        """Go on with the ring of an earlier run, as far as it is still true and not private."""
        if ring.chunks and not self.memory.ring.chunks:
            self.memory.ring = ring
            self.look_again(trusting=False)
            await self._refresh(config.privacy.exclude)

    def look_again(self, *, trusting: bool) -> None:
        """Files changed; not *trusting*: the rules of what is private may have, too."""
        self._listed_s = -LISTING_S
        self._turned = None
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

    def _turn(self, snapshot: Snapshot, index: Index) -> Turned:
        """In a worker thread."""
        folder = self._folder
        others = strangers_of(index, Path(folder), self.root, snapshot) if folder else []
        return turn(replace(snapshot, others=(*snapshot.others, *others)))

    async def _refresh(self, excludes: Iterable[str]) -> None:
        """Let what is remembered of files that are not open be as the disk has it."""
        unsure, trusting = self.memory.unsure(), self._trusting
        if not unsure:
            return
        self._trusting = True
        check = partial(self._reread, excludes=tuple(excludes), trusting=trusting)
        checked = await asyncio.to_thread(list, map(check, unsure))
        on_disk = {source.uri for source in self.memory.unsure()}  # not opened meanwhile
        for old, new in zip(unsure, checked, strict=True):
            if new is None and old.uri in on_disk:
                self.memory.deleted(old.uri)
            elif new is not None and new is not old and old.uri in on_disk:
                self.memory.changed(new)

    def _reread(self, old: Source, excludes: tuple[str, ...], *, trusting: bool) -> Source | None:
        file = paths.local_path(old.uri)
        known = old if trusting else replace(old, version=-1)
        new = reread(file, self._folder, excludes, known) if file else None
        return old if new is known else new

    def _explore(self, snapshot: Snapshot, config: Config) -> None:
        """Bring the index up to date in the background, now and then."""
        now = asyncio.get_running_loop().time()
        due = now >= self._listed_s + LISTING_S and (self._listing is None or self._listing.done())
        if due and config.ring.files and self._folder and snapshot.here:
            self._listed_s = now
            work = self._grow(Path(self._folder), snapshot.here.name, config.privacy.exclude)
            self._listing = asyncio.create_task(work, name="index")

    async def _grow(self, folder: Path, near: str, excludes: Iterable[str]) -> None:
        listing = await asyncio.to_thread(listed, folder, near, excludes)
        known = {path: entry.stamp for path, entry in self.index.entries.items()}
        if gone := {path: None for path in known if path not in listing}:
            self.index = updated(self.index, gone)
        todo: Sequence[str] = [p for p, stamp in listing.items() if known.get(p) != stamp]
        n_todo = len(todo)
        while todo:
            self.index, todo = await asyncio.to_thread(grown, self.index, folder, listing, todo)
            self._progress(self.root, n_todo - len(todo), n_todo)
            await asyncio.sleep(PAUSE_S)


Recall = Callable[[Workspace, Config], Awaitable[None]]


class Workspaces:
    """
    The roots, each with its memory, and the verdicts on documents.

    `recall` is waited for before the first document of a workspace is used.
    """

    def __init__(self) -> None:
        self.progress: Progress = lambda *_: None
        self.recall: Recall | None = None
        self.roots: tuple[str, ...] = ()
        self.limits = Limits(0, 1, 0)
        self._by_root: dict[str, Workspace] = {}
        self._verdicts: dict[str, str] = {}
        self._judging: set[asyncio.Task[None]] = set()

    def of(self, place: Place) -> Workspace:
        """The workspace a document belongs to; files outside of all roots by their folder."""
        key = place.root or f"outside: {place.repo}"
        workspace = self._by_root.setdefault(
            key, Workspace(key, place.root, self.limits, self._tell)
        )
        workspace.memory.limits = self.limits
        return workspace

    def why_private(self, uri: str) -> str:
        """Why nothing of *uri* may be used, "" when it may."""
        return self._verdicts.get(uri, UNJUDGED)

    def judge(self, uri: str, place: Place, config: Config, allowed: Callable[[], None]) -> None:
        """Find out whether *uri* is private; calls *allowed* on the loop when it is not."""
        path = paths.local_path(uri)
        if path is None:
            private = uri.partition(":")[0] not in SCHEMES
            self._verdicts[uri] = "not a file" if private else ""
            if not private:
                allowed()
            return
        task = asyncio.create_task(self._judge(uri, path, place, config, allowed))
        self._judging.add(task)
        task.add_done_callback(self._judging.discard)

    async def wait_judged(self) -> None:
        """Until every verdict is there."""
        while self._judging:
            await asyncio.wait(self._judging)

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._verdicts.pop(uri, None)

    def files_changed(self, changed: Iterable[str], deleted: Iterable[str]) -> bool:
        """Files changed on disk; whether every open document is to be judged again."""
        names = {uri.rpartition("/")[2] for uri in (*changed, *deleted)}
        for uri in deleted:
            for workspace in self._by_root.values():
                workspace.memory.deleted(uri)
        if names & set(IGNORE_FILES):
            self.rules_changed()
            return True
        for workspace in self._by_root.values():
            workspace.look_again(trusting=True)
        return False

    def rules_changed(self) -> None:
        """What is private may be another; the documents are judged by the caller."""
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

    def _tell(self, root: str, n_done: int, n_files: int) -> None:
        self.progress(root, n_done, n_files)

    def stats(self) -> dict[str, int]:
        """The sums over all roots, as `fim/stats` shows them."""
        each = [workspace.memory.stats() for workspace in self._by_root.values()]
        names = ("chunks", "queued", "evicted")
        return {n: sum(s[n] for s in each) for n in names} | {"capacity": self.limits.n_chunks}

    async def _judge(
        self, uri: str, path: PurePath, place: Place, config: Config, allowed: Callable[[], None]
    ) -> None:
        root = paths.local_path(place.root) if place.root else None
        if self.recall is not None:
            await self.recall(self.of(place), config)
        verdict = await asyncio.to_thread(why_private, path, root, config.privacy.exclude)
        self._verdicts[uri] = verdict
        if verdict:
            self.of(place).memory.deleted(uri)
        else:
            allowed()


def source(document: Document, place: Place) -> Source:
    """A document as the memory keeps it, under the name a model may see."""
    return Source(document.uri, place.path, document.language, document.version, document.lines)

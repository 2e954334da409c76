"""
The workspaces of a session: made in one place, dropped in one place.

What is open in one workspace never shows in the prompts of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import PurePath

from fim_lsp.context.chunks import Source
from fim_lsp.context.memory import UNREAD, Memory
from fim_lsp.context.ring import Ring, RingLimits, Viewport, update_ring
from fim_lsp.prompt.frame import Chunks, scrub_name
from fim_lsp.session.state.edit_history import EditHistory
from fim_lsp.session.state.state_file import SavedWorkspace
from fim_lsp.session.state.verdicts import LIMIT_S, Verdicts
from fim_lsp.settings.config import Config, PrivacyConfig
from fim_lsp.tasks import Tasks
from fim_lsp.workspace import paths
from fim_lsp.workspace.explorer import READERS, Explorer
from fim_lsp.workspace.files import reread, uri_of
from fim_lsp.workspace.paths import FileLocation
from fim_lsp.workspace.reader import SourceReader
from server_bridge.machine.disks import in_disk_thread
from server_bridge.protocol import Chunk

NO_ROOM = RingLimits(0, 1, 0)
CHOICE_S = 5.0  # for a choice of chunks: after that other work in the background goes on
NEVER = -1


class Workspace:
    """
    *key* tells it from all others, see `FileLocation.key`; *root* is its URI, "" for a folder
    outside of all.

    *saved* is what an earlier run left, once that is loaded.
    """

    def __init__(self, key: str, root: str, reader: SourceReader) -> None:
        self.key = key
        self.root = root
        self._tasks = Tasks()
        self.memory = Memory(NO_ROOM)
        self.files = Explorer(root, self._tasks.start)
        self.edits = EditHistory(self._tasks.start)
        self.saved: SavedWorkspace | None = None
        self.reader = reader
        self._loading: asyncio.Task[None] | None = None
        self._evaluated: Chunks = ()  # those of the prompt that was evaluated last
        self._updated = NEVER  # how many events the ring was last chosen after
        self._refreshing: asyncio.Task[bool] | None = None
        self._updating: asyncio.Task[None] | None = None
        self._n_rules = 0  # how often the rules of what is private changed
        self._unjudged: set[str] = set()  # files of which nothing is shown until they are judged
        self._shown: dict[str, str] = {}  # the files whose text prompts may have: URI by name

    def settings(self, config: Config) -> Config:
        """Return those of *config* that count here."""
        return config.of(self.files.folder)

    def begin_loading(self, work: Callable[[], Coroutine[None, None, None]]) -> asyncio.Task[None]:
        """Have *work* load what an earlier run left, once."""
        self._loading = self._loading or self._tasks.start(work(), "restore ring")
        return self._loading

    def open(self, source: Source) -> None:
        """
        Record a text that the editor shows and that may be used; it may spell the URI in its own
        way.
        """
        if source.uri != (default := uri_of(self.root, source.name)):
            self.memory.note_deletion(default)
        self._unjudged.discard(source.uri)
        self.memory.note_open(source)

    def suspend(self, uri: str) -> None:
        """Show nothing of this file until it is judged again."""
        self._unjudged.add(uri)

    def may_show(self, uri: str) -> bool:
        """Return whether what is remembered of this file is judged by the rules of now."""
        return uri not in self._unjudged

    def chunks(self, viewport: Viewport, config: Config) -> tuple[Chunk, ...]:
        """Return the chunks to show with a window: none of a file with a secret in its name."""
        ring = self.memory.visible(viewport)[: self.settings(config).ring.chunks]
        judged = takewhile(lambda chunk: self.may_show(chunk.uri), ring)
        visible = [chunk for chunk in judged if scrub_name(chunk.name) == chunk.name]
        self._shown.update((chunk.name, chunk.uri) for chunk in visible)
        return tuple(Chunk(chunk.name, chunk.text) for chunk in visible)

    def shows(self, name: str) -> bool:
        """Return whether text of this file, of an earlier prompt, is still there, not private."""
        return name in self._shown and self.may_show(self._shown[name])

    @property
    def evaluated(self) -> Chunks:
        """The chunks of the prompt that was evaluated last, before the first that is gone."""
        return tuple(takewhile(lambda chunk: self.shows(chunk.name), self._evaluated))

    def note_evaluated(self, chunks: Chunks) -> None:
        """Record the *chunks* of a prompt that is evaluated now."""
        self._evaluated = chunks

    def note_saved(self, saved: SavedWorkspace | None) -> None:
        """Record what an earlier run left on disk; None: nothing any more."""
        self.saved = saved

    def uris_of(self, chunks: Chunks) -> tuple[str, ...]:
        """Return the URIs of the files whose text *chunks* are, "" where it may not be shown."""
        return tuple(self._shown[c.name] if self.shows(c.name) else "" for c in chunks)

    @property
    def uris(self) -> set[str]:
        """The files of which anything is known here."""
        return {*self._unjudged, *self._shown.values(), *self.memory.uris}

    def withdraw(self, *uris: str) -> None:
        """Show nothing of these files from now on, and remember nothing: gone, or private."""
        gone = {*uris}
        self.edits.stop()
        self._unjudged -= gone
        self.memory.note_deletion(*gone)
        self._shown = {name: uri for name, uri in self._shown.items() if uri not in gone}

    async def update_ring(self, viewport: Viewport, n_chars: int, config: Config) -> None:
        """
        Choose the chunks again, for *n_chars*, if anything happened; where a disk does not answer,
        the choice goes on without the caller.
        """
        if self._updating is None or self._updating.done():
            limits = RingLimits(config.ring.chunks, config.ring.chunk_lines, n_chars)
            work = self._update_ring(viewport, limits, config)
            self._updating = self._tasks.start(work, "choose chunks")
        await asyncio.wait([self._updating], timeout=CHOICE_S)

    async def _update_ring(self, viewport: Viewport, limits: RingLimits, config: Config) -> None:
        self.memory.grow(limits)
        if not limits.n_chunks:
            return
        await self.refresh(config.privacy)
        snapshot = self.memory.snapshot(viewport)
        if snapshot.n_events == self._updated:
            return
        choose = partial(update_ring, snapshot, self.reader.read)
        ring = await asyncio.get_running_loop().run_in_executor(READERS, choose)
        if self.memory.accept(snapshot, ring):
            self._updated = snapshot.n_events

    def ring_to_save(self) -> Ring:
        """Return the ring as far as it is true and judged."""
        judged = (chunk for chunk in self.memory.ring.chunks if self.may_show(chunk.uri))
        shown = (chunk for chunk in judged if all(piece.fresh for piece in chunk.pieces))
        return replace(self.memory.ring, chunks=tuple(shown))

    def restore_ring(self, ring: Ring) -> None:
        """Go on with the ring of an earlier run, once it is judged."""
        if ring.chunks and not self.memory.ring.chunks:
            self.memory.restore(ring)
            self.judge_again()

    def is_unsure(self, privacy: PrivacyConfig) -> bool:
        """Return whether remembered files that are not open are to be judged, and can be."""
        if self._why_unknown(privacy):
            return False
        return any(not self.may_show(source.uri) for source in self.memory.unsure())

    async def refresh(self, privacy: PrivacyConfig) -> None:
        """
        Let what is remembered of files that are not open be as the disk has it now, if it answers.
        """
        await asyncio.wait([self.reverify(privacy)], timeout=LIMIT_S)

    def reverify(self, privacy: PrivacyConfig) -> asyncio.Task[bool]:
        """
        Judge what is remembered of files that are not open, if that is not under way; return the
        task, which says whether any is gone or private now.
        """
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = self._tasks.start(self._reread(privacy, self._n_rules), "refresh")
        return self._refreshing

    def judge_again(self) -> None:
        """
        The rules of what is private changed: trust nothing that is remembered until it is judged
        again.
        """
        self._updated = NEVER
        if self._updating is not None:  # it chooses by the rules of before
            self._updating.cancel()
            self._updating = None
        self._n_rules += 1
        unsure = {source.uri for source in self.memory.unsure()}
        self._unjudged |= unsure
        # The caller has those that are open judged again, and what is forgotten is never judged.
        known = {uri for uri in self._shown.values() if uri in unsure or self.memory.knows(uri)}
        self._shown = {name: uri for name, uri in self._shown.items() if uri in known}
        self.edits.stop()  # a question that waits for its model has text of files
        self.files.forget()

    def stop(self) -> None:
        """End the work in the background, and begin none again."""
        self._tasks.end()

    def _why_unknown(self, privacy: PrivacyConfig) -> str:
        return privacy.why_unknown(self.files.folder or PurePath())

    async def _reread(self, privacy: PrivacyConfig, n_rules: int) -> bool:
        """
        Let what is remembered of files that are not open be as the disk has it; whether any left.
        *n_rules* is of when *privacy* was that of now: the rules may have changed since.
        """
        unsure = self.memory.unsure()
        if self._why_unknown(privacy):
            return False  # nothing is shown until it is judged
        known = [s if self.may_show(s.uri) else replace(s, version=UNREAD) for s in unsure]
        check = partial(_reread, folder=self.files.folder, privacy=privacy)
        checked: list[Source | None] = await in_disk_thread(partial(list, map(check, known)))
        now = self.memory.unsure()  # files opened or deleted meanwhile are left out
        looked = [(old, new) for old, new in zip(unsure, checked, strict=True) if old in now]
        for old, new in looked:
            if new is None:
                self.withdraw(old.uri)
            elif new is not old:
                self.memory.note_change(new)
            if n_rules == self._n_rules:
                self._unjudged.discard(old.uri)
        return any(new is None for _, new in looked)


def _reread(old: Source, folder: PurePath | None, privacy: PrivacyConfig) -> Source | None:
    """Return the file of *old* as it is now, None where it is gone or private."""
    file = paths.local_path(old.uri)
    return reread(file, folder, privacy, old) if file else None


OUTSIDE = 8  # folders outside of all roots that are remembered with nothing open in them


class Workspaces:
    """*roots* are the editor's folders."""

    def __init__(self) -> None:
        self.roots: tuple[str, ...] = ()
        self.verdicts = Verdicts(lambda: self.roots)
        self._by_key: dict[str, Workspace] = {}
        self._reader = SourceReader()

    def __iter__(self) -> Iterator[Workspace]:
        return iter(self._by_key.values())

    def open_folders(self, roots: tuple[str, ...]) -> None:
        """Go on with other *roots*."""
        self.roots = roots

    def of(self, location: FileLocation, in_use: Callable[[], Collection[Workspace]]) -> Workspace:
        """
        Return the workspace that a document belongs to; *in_use* are those with open documents.
        """
        if location.key not in self._by_key:
            self._drop_unused(in_use())
            made = Workspace(location.key, location.root, self._reader)
            self._by_key[location.key] = made
        return self._by_key[location.key]

    def settings(self, config: Config) -> Config:
        """Return those of *config* that count in the first root."""
        return config.of(paths.local_path(next(iter(self.roots), "")))

    def _drop_unused(self, in_use: Collection[Workspace]) -> None:
        """Keep no root that the editor closed, and few folders in which nothing is open."""
        unused = [workspace for workspace in self._by_key.values() if workspace not in in_use]
        gone = [each for each in unused if each.root and each.root not in self.roots]
        outside = [each for each in unused if not each.root]
        for workspace in (*gone, *outside[: max(0, len(outside) - OUTSIDE)]):
            self._by_key.pop(workspace.key).stop()
            self._reader.forget(partial(self._is_in, workspace.key))

    def _is_in(self, key: str, uri: str) -> bool:
        return paths.locate(uri, self.roots).key == key

    def note_files(self, changed: Iterable[str], deleted: Collection[str]) -> bool:
        """Note that files changed on disk; return whether the rules did: all is to be judged."""
        gone = {*deleted}  # of 10,000 files a folder knows a few
        for workspace in self:
            workspace.files.invalidate_listing()
            known = workspace.uris & gone
            are_open = {uri for uri in known if workspace.memory.is_open(uri)}
            for uri in are_open:  # its text is judged again
                workspace.suspend(uri)
            if gone:
                workspace.withdraw(*known - are_open)
        return self.changes_rules(*changed, *deleted)

    def changes_rules(self, *uris: str) -> bool:
        """Return whether a change of one of these files changes which files are private."""
        return any(paths.changes_rules(uri, self.verdicts.rule_files) for uri in uris)

    def judge_again(self) -> None:
        """The rules changed: judge the memory again; the caller judges the documents."""
        for workspace in self._by_key.values():
            workspace.judge_again()

    def close(self) -> None:
        """End the work in the background."""
        for workspace in self._by_key.values():
            workspace.stop()
        self._reader.close()

    def stats(self) -> dict[str, int]:
        """Return the sums over all workspaces, for `fim/stats`."""
        stats = [workspace.memory.stats() for workspace in self]
        return {name: sum(each[name] for each in stats) for name in ("chunks", "queued", "evicted")}

"""
What the session remembers of each workspace root, and which of its files are private. State.

One memory per root: what is open in one workspace never shows in the prompts of another. A file is
judged before anything of it is used; until the verdict is there it counts as private.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from pathlib import PurePath

from fim_lsp import paths
from fim_lsp.config import Config
from fim_lsp.context.chunks import Source
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import Limits
from fim_lsp.context.turn import View as Sight
from fim_lsp.context.turn import turn
from fim_lsp.documents import Document
from fim_lsp.paths import Place
from server_bridge.protocol import Chunk

UNJUDGED = "not judged yet"
SCHEMES = ("file", "untitled", "vscode-notebook-cell")  # others are output panes, old revisions, …


class Workspace:
    """One root. *root* is its URI, "" for files outside of all roots."""

    def __init__(self, root: str, limits: Limits) -> None:
        self.root = root
        self.memory = Memory(limits)
        self._turned = -1

    def chunks(self, sight: Sight) -> tuple[Chunk, ...]:
        """The chunks to show with a window."""
        return tuple(Chunk(each.name, each.text) for each in self.memory.visible(sight))

    async def turn(self, sight: Sight) -> bool:
        """Choose the chunks anew in a worker thread, if there is news; whether the ring changed."""
        snapshot = self.memory.snapshot(sight)
        if snapshot.n_events == self._turned or not self.memory.limits.n_chunks:
            return False
        turned = await asyncio.to_thread(turn, snapshot)
        before = self.memory.ring
        if not self.memory.accept(turned):
            return False
        self._turned = turned.n_events
        return self.memory.ring is not before


class Workspaces:
    """The roots, each with its memory, and the verdicts on documents."""

    def __init__(self) -> None:
        self.roots: tuple[str, ...] = ()
        self.limits = Limits(0, 1, 0)
        self._by_root: dict[str, Workspace] = {}
        self._verdicts: dict[str, str] = {}
        self._judging: set[asyncio.Task[None]] = set()

    def of(self, place: Place) -> Workspace:
        """The workspace a document belongs to; files outside of all roots by their folder."""
        key = place.root or f"outside: {place.repo}"
        if key not in self._by_root:
            self._by_root[key] = Workspace(place.root, self.limits)
        self._by_root[key].memory.limits = self.limits
        return self._by_root[key]

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

    def stats(self) -> dict[str, int]:
        """The sums over all roots, as `fim/stats` shows them."""
        each = [workspace.memory.stats() for workspace in self._by_root.values()]
        names = ("chunks", "queued", "evicted")
        return {n: sum(s[n] for s in each) for n in names} | {"capacity": self.limits.n_chunks}

    async def _judge(
        self, uri: str, path: PurePath, place: Place, config: Config, allowed: Callable[[], None]
    ) -> None:
        root = paths.local_path(place.root) if place.root else None
        verdict = await asyncio.to_thread(_why_private, path, root, config.privacy.exclude)
        self._verdicts[uri] = verdict
        if not verdict:
            allowed()


def source(document: Document, place: Place) -> Source:
    """A document as the memory keeps it, under the name a model may see."""
    return Source(document.uri, place.path, document.language, document.version, document.lines)


def _why_private(path: PurePath, root: PurePath | None, excludes: tuple[str, ...]) -> str:
    """In a worker thread, where importing what reads ignore files (30 ms) is in nobody's way."""
    module = importlib.import_module("fim_lsp.ignore_files")
    return str(module.why_private(path, root, excludes))

"""
The index of a workspace's files that are not open: grown in the background, looked into when asked.
State.

The editor need not tell of files: they are listed again now and then. Work in the background takes
half of the time; functions that block say so, and belong in a worker thread.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fim_lsp.context.index import Index, holding, update_index
from fim_lsp.documents import Document
from fim_lsp.settings.config import Config, PrivacyConfig
from fim_lsp.workspace import paths
from fim_lsp.workspace.files import Stamp, grow, list_files, on_disk

LISTING_S = 60  # between two looks at what files there are, for editors that do not tell
LISTING_SHARE = 0.01  # of the time, which very many files may not exceed either
PAUSE_S = 0.02  # between two slices of the index: half of the time is left to other work
HOLDING = 12  # files that are read to look for a text: some milliseconds, and 2.4 MB at most
EMPTY = Index()
READERS = ThreadPoolExecutor(64, "files")  # each may hang: others need the default threads


class Explorer:
    """
    The files below *root*, a URI, "" for none; *start* starts work, which ends with the workspace.
    """

    def __init__(self, root: str, start: Callable[..., asyncio.Task[None]]) -> None:
        self._start = start
        self.index = EMPTY
        self.folder = paths.local_path(root) if root else None
        self._root = root
        self._due_s: float = 0.0  # loop time of the next listing
        self._listing: asyncio.Task[None] | None = None
        self._reading: asyncio.Future[dict[str, Stamp]] | None = None

    def explore(self, near: str, config: Config) -> None:
        """
        Bring the index up to date in the background, now and then, beginning with files beside
        *near*.
        """
        now = asyncio.get_running_loop().time()
        due = now >= self._due_s and (self._listing is None or self._listing.done())
        if due and self.folder:
            self._due_s = now + LISTING_S
            work = self._grow(Path(self.folder), near, config.privacy)
            self._listing = self._start(work, "index")

    def find_holding(
        self, texts: Sequence[str], near: str, opened: Collection[str], config: Config
    ) -> list[Document]:
        """
        Return files that may hold one of *texts*, as they are on disk: none that is private, or
        *opened*.

        Those in the folder of the file *near* come first. Blocking.
        """
        unopened = (path for path in holding(self.index, texts, near) if path not in opened)
        documents = (self.read_file(path, config) for path in itertools.islice(unopened, HOLDING))
        return [document for document in documents if document]

    def read_file(self, path: str, config: Config) -> Document | None:
        """
        Return a file that is not open as it is now; None when it is gone or private. Blocking.
        """
        if not self.folder:
            return None
        return on_disk(Path(self.folder), self._root, path, config.privacy)

    def invalidate_listing(self) -> None:
        """List the files again when next asked: some changed."""
        self._due_s = 0.0

    def forget(self) -> None:
        """Begin again with nothing: the rules of what is private changed."""
        self.invalidate_listing()
        self.index = EMPTY
        if self._listing is not None:
            self._listing.cancel()

    async def _grow(self, folder: Path, near: str, privacy: PrivacyConfig) -> None:
        loop = asyncio.get_running_loop()
        if self._reading is not None:  # it goes on when its task is ended, and may hang
            await asyncio.wait([self._reading])
        began = loop.time()
        due = self._due_s
        self._reading = loop.run_in_executor(READERS, list_files, folder, near, privacy)
        listing = await asyncio.shield(self._reading)
        if due == self._due_s:  # nothing changed meanwhile
            self._due_s = max(due, began + (loop.time() - began) / LISTING_SHARE)
        stamps = {path: entry.stamp for path, entry in self.index.entries.items()}
        if gone := {path: None for path in stamps if path not in listing}:
            self.index = update_index(self.index, gone)
        todo: Sequence[str] = [p for p, stamp in listing.items() if stamps.get(p) != stamp]
        while todo:
            self.index, todo = await loop.run_in_executor(
                READERS, grow, self.index, folder, listing, todo
            )
            await asyncio.sleep(PAUSE_S)

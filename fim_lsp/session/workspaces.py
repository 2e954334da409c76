"""
The workspaces of a session: made in one place, dropped in one place. Also the verdicts on documents.

What is open in one workspace never shows in the prompts of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import PurePath

from fim_lsp.session.workspace import Workspace
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths
from fim_lsp.workspace.explorer import Progress
from fim_lsp.workspace.git_files import excludes_files
from fim_lsp.workspace.ignore_files import why_private
from fim_lsp.workspace.paths import FileLocation
from fim_lsp.workspace.reader import Reader

OUTSIDE = 8  # folders outside of all roots that are remembered with nothing open in them


class Workspaces:
    """
    *roots* are the editor's folders; *progress* is called while files are indexed. *n_rules* counts how often the
    rules of what is private changed.
    """

    def __init__(self) -> None:
        self.progress: Progress = lambda *_: None
        self.roots: tuple[str, ...] = ()
        self.n_rules = 0
        self._by_key: dict[str, Workspace] = {}
        self._reader = Reader()

    def __iter__(self) -> Iterator[Workspace]:
        return iter(self._by_key.values())

    def of(self, location: FileLocation) -> Workspace:
        """Return the workspace that a document belongs to."""
        if location.key not in self._by_key:
            self._drop_unused()
            made = Workspace(location.key, location.root, self._reader, self._report)
            self._by_key[location.key] = made
        return self._by_key[location.key]

    def _drop_unused(self) -> None:
        """Keep no root that the editor closed, and only so many folders in which nothing is open."""
        unused = [each for each in self._by_key.values() if not each.n_open]
        gone = [each for each in unused if each.root and each.root not in self.roots]
        outside = [each for each in unused if not each.root]
        for each in (*gone, *outside[: max(0, len(outside) - OUTSIDE)]):
            self._by_key.pop(each.key).stop()
            self._reader.forget(partial(self._is_in, each.key))

    def _is_in(self, key: str, uri: str) -> bool:
        return paths.locate(uri, self.roots).key == key

    @staticmethod
    def quick_verdict(uri: str) -> str | None:
        """Return why *uri* is private, None where that needs a look at the disk."""
        return "not a file" if paths.path_to_judge(uri) is None else None

    async def verdict(self, uri: str, location: FileLocation, config: Config) -> str:
        """Return why *uri* is private, "" when it is not. In a worker thread: it reads ignore files."""
        path = paths.path_to_judge(uri)
        assert path is not None, "see known_verdict"
        root = paths.local_path(location.root or paths.root_of(path, self.roots))
        places = [(path, root), *paths.list_places(path, self.roots)]
        return await asyncio.to_thread(_why_private, places, config.privacy.exclude)

    def note_files(self, changed: Iterable[str], deleted: Iterable[str]) -> bool:
        """Take in that files changed on disk; return whether the rules did, and every open document is to be judged."""
        deleted = tuple(deleted)
        for uri in deleted:
            for workspace in self._by_key.values():
                workspace.withdraw(uri)
        if self.changes_rules(*changed, *deleted):
            self.judge_again()
            return True
        for workspace in self._by_key.values():
            workspace.look_again()
        return False

    @staticmethod
    def changes_rules(*uris: str) -> bool:
        """Return whether a change of one of these files changes which files are private."""
        return any(paths.changes_rules(uri, excludes_files()) for uri in uris)

    def judge_again(self) -> None:
        """The rules changed: what is remembered is judged again; the caller judges the documents."""
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
        each = [workspace.memory.stats() for workspace in self._by_key.values()]
        names = ("chunks", "queued", "evicted")
        return {n: sum(s[n] for s in each) for n in names}

    def _report(self, root: str, n_done: int, n_files: int) -> None:
        self.progress(root, n_done, n_files)


def _why_private(
    places: Sequence[tuple[PurePath, PurePath | None]], excludes: Collection[str]
) -> str:
    """Return why a document is private that may be any of the files *places*, each with its root."""
    return next(filter(None, (why_private(*place, excludes) for place in places)), "")

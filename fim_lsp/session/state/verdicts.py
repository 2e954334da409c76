"""
The verdicts on files: a look at the disk, in threads that only verdicts use. State: the refusals.

A disk may not answer, so a look may hang for as long as it likes, and is in no other's way. What
was private, or could not be judged, stays so while its file is gone, or its folder is another one:
then the disk says nothing of the text that the editor still shows.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple, TypeVar

from fim_lsp.settings.config import Config, PrivacyConfig
from fim_lsp.workspace import paths
from fim_lsp.workspace.git_files import excludes_files
from fim_lsp.workspace.ignore_files import UNSURE, why_private

T = TypeVar("T")
FolderId = tuple[int, int]  # what tells a folder from another one in its place

LIMIT_S = 1.0  # for what a disk is asked: after that a request goes on without it

REFUSALS = 10_000  # that are remembered
# The default threads may all be busy: with names that do not resolve, long texts. As many looks
# may hang, one at each file; of those that take a moment, two at a time do.
_JUDGES = ThreadPoolExecutor(1000, "judge")
_TURN, _TURN_S = threading.Semaphore(2), 0.02


async def judge_apart(look: Callable[[], T]) -> T:
    """
    Return what *look* sees on disk, which verdicts and user wait for, from a thread that no other
    work needs.
    """
    return await asyncio.get_running_loop().run_in_executor(_JUDGES, _take_turn, look)


def _take_turn(look: Callable[[], T]) -> T:
    is_mine = _TURN.acquire(timeout=_TURN_S)
    try:
        return look()
    finally:
        if is_mine:
            _TURN.release()


class Refusal(NamedTuple):
    """The reason why a file is private, and the place where it was found."""

    why: str
    place: FolderId | None


class Verdicts:
    """The verdicts on the files of a session; *roots* are the editor's folders."""

    def __init__(self, roots: Callable[[], tuple[str, ...]]) -> None:
        self._roots = roots
        self.rule_files: tuple[Path, ...] = ()  # that the user's configuration of git names
        self._refusals: dict[str, Refusal] = {}  # by path, the latest last

    @staticmethod
    def find_quickly(uri: str) -> str | None:
        """Return why *uri* is private, None where that needs a look at the disk."""
        return "not a file" if paths.path_to_judge(uri) is None else None

    async def find(self, uri: str, config: Config) -> str:
        """Return why *uri* is private, "" when it is not."""
        if uri.startswith(paths.UNNAMED) and config.remote_servers:
            return "it has no name, so that only a model of this machine may see it"
        if (file := paths.path_to_judge(uri)) and (why := config.privacy.why_unknown(file)):
            return f"{UNSURE}: {why}"
        look = partial(self._look, uri, config.privacy)
        why, place, self.rule_files = await judge_apart(look)
        named = _file(uri)
        return self._keep_refusal(named, why, place) if named else why

    def list_private(self, uris: Collection[str], privacy: PrivacyConfig) -> set[str]:
        """
        Return the files whose text must not stay on disk: they are known to be gone, or private.
        Blocking.
        """
        return {uri for uri in uris if not self._may_stay(uri, privacy)}

    def _may_stay(self, uri: str, privacy: PrivacyConfig) -> bool:
        file = paths.path_to_judge(uri)
        try:
            if file is None or not stat.S_ISREG(Path(file).stat().st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError, ValueError):  # gone; a name with a NUL
            return False
        except OSError:
            return True  # it cannot be judged
        why = self._judge(uri, privacy)
        return not why or why.startswith(UNSURE)

    def _look(
        self, uri: str, privacy: PrivacyConfig
    ) -> tuple[str, FolderId | None, tuple[Path, ...]]:
        """Return the verdict, the place of the file that it is about, and the user's rules."""
        rule_files, place, why = _rule_files(), _place(uri), self._judge(uri, privacy)
        if _place(uri) != place:
            return f"{UNSURE}: its folder was replaced meanwhile", None, rule_files
        return why, place, rule_files

    def _judge(self, uri: str, privacy: PrivacyConfig) -> str:
        roots, path = self._roots(), paths.path_to_judge(uri)
        assert path is not None, "see find_quickly"
        root = paths.local_path(paths.root_of(path, roots))
        places = [(path, root), *paths.list_places(path, roots)]
        return next(filter(None, (why_private(*place, privacy) for place in places)), "")

    def _keep_refusal(self, path: PurePath, why: str, place: FolderId | None) -> str:
        """Return the verdict *why*, or the last one where that still holds; remember it."""
        file = os.path.normpath(path)
        last = self._refusals.get(file)
        if why.startswith(UNSURE):
            self._refusals.setdefault(file, Refusal(f"{UNSURE}: the file is not there", None))
            return why
        if not why and last and (place is None or last.place not in (None, place)):
            return last.why
        self._refusals.pop(file, None)
        if why:
            self._refusals[file] = Refusal(why, place or (last.place if last else None))
        if len(self._refusals) > REFUSALS:
            del self._refusals[next(iter(self._refusals))]
        return why


def _rule_files() -> tuple[Path, ...]:
    with suppress(OSError):
        return tuple(excludes_files())
    return ()  # then all files are private, and judged again when asked for


def _file(uri: str) -> PurePath | None:
    """Return the file whose text *uri* names, a cell of a notebook, too; None where it has none."""
    return None if uri.startswith("untitled:") else paths.path_to_judge(uri)


def _place(uri: str) -> FolderId | None:
    """Return the place of a file; None where it is not there."""
    file = _file(uri)
    with suppress(OSError, ValueError):  # a name with a NUL
        if file is not None and Path(file).is_file():
            about = Path(file).parent.stat()
            return about.st_dev, about.st_ino
    return None

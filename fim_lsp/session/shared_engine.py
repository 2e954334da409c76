"""
Tells other sessions what this one shows to the engine that they share, and reads what they told.

A file may become private after the session that showed it to the engine has ended, while another
keeps the engine alive. So each notes on disk what it shows (`machine.shown`), and one that refuses
such a file ends the engine. A disk that does not answer holds a prompt up once, for a moment.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from fim_lsp.session.state import state_file
from fim_lsp.workspace import paths
from server_bridge.machine import disks, shown
from server_bridge.machine.disks import LastSeen

log = logging.getLogger(__name__)


class Noted(NamedTuple):
    """The files *uris* that an *engine* was shown: its URL, and how often one was reached."""

    engine: tuple[str, int]
    uris: frozenset[str]


NOTHING = Noted(("", 0), frozenset())


TWICE = 2  # a look that was under way may have begun before a file was added


class SharedEngine:
    """The engine of *cache*, the folder of its file; None for none."""

    def __init__(self, cache: Path | None) -> None:
        self._cache = cache
        self._uris = frozenset[str]()
        self._wanted = NOTHING
        self._noted = LastSeen(self._note, seen=NOTHING)

    def add(self, *uris: str) -> None:
        """Have the files noted, of which a prompt may have text from now on."""
        if not self._uris.issuperset(uris):
            self._uris = self._uris.union(uris)

    async def note_shown(self, engine: tuple[str, int]) -> None:
        """Note the files whose text a prompt may have now, before the *engine* gets it."""
        self._wanted = Noted(engine, self._uris)
        for _ in range(TWICE):
            if self._cache is None or self._noted.seen == self._wanted:
                return
            await self._noted.ask()

    def forget(self, uri: str) -> None:
        """End it, for all sessions, as soon as its disk says that one showed it the file *uri*."""
        if self._cache is not None:
            disks.begin(partial(_end_if_shown, self._cache, uri))

    def _note(self) -> Noted:
        """Note what is wanted and was not noted yet; in a thread."""
        assert self._cache is not None, "see note_shown"
        wanted = self._wanted
        engine, known = self._noted.seen
        uris = wanted.uris - known if engine == wanted.engine else wanted.uris
        try:
            shown.note(self._cache, chain.from_iterable(map(_names, uris)))
        except OSError as error:
            log.warning("what the engine is shown is not noted: %s", error)
        return wanted


def _names(uri: str) -> list[str]:
    """
    Return the names of a file: its path, because editors spell a URI in their own ways, and its
    number on the disk, which links and renamed folders do not change. Asks the disk.
    """
    path = paths.path_to_judge(uri)
    if path is None:
        return [uri]
    name = os.path.normpath(path)
    with suppress(OSError):
        status = Path(name).stat()
        return [name, f"{status.st_dev}:{status.st_ino}"]
    return [name]


def _end_if_shown(cache: Path, uri: str) -> None:
    if any(shown.is_noted(cache, name) for name in _names(uri)):
        state_file.end_engines(cache)

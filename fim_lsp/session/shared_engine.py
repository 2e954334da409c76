"""
What a session tells other sessions of the engine that they share, and learns from them.

A file may become private after the session that showed it to the engine has ended, while another
keeps the engine alive. So each notes on disk what it shows (`machine.shown`), and one that refuses
such a file ends the engine. A disk that does not answer holds a prompt up once, for a moment.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from fim_lsp.session.state import state_file
from fim_lsp.session.state.workspaces import Workspace
from fim_lsp.workspace import paths
from server_bridge.machine import disks, shown
from server_bridge.machine.disks import LastSeen

log = logging.getLogger(__name__)


class Noted(NamedTuple):
    """The files *uris* that an *engine* may be shown: its URL, and how often one was reached."""

    engine: tuple[str, int]
    uris: frozenset[str]


NOTHING = Noted(("", 0), frozenset())


class SharedEngine:
    """The engine of *cache*, the folder of its file; None for none."""

    def __init__(self, cache: Path | None, workspaces: Iterable[Workspace]) -> None:
        self._cache = cache
        self._workspaces = workspaces
        self._wanted = NOTHING
        self._noted = LastSeen(self._note, seen=NOTHING)

    async def note_shown(self, engine: tuple[str, int]) -> None:
        """Note the files whose text a prompt may have now, before the *engine* gets it."""
        if self._cache is None:
            return
        uris = frozenset(chain.from_iterable(each.memory.uris for each in self._workspaces))
        self._wanted = Noted(engine, uris)
        noted = self._noted.seen
        if engine != noted.engine or not uris <= noted.uris:
            await self._noted.ask()

    def forget(self, uri: str) -> None:
        """End it, for all sessions, as soon as its disk says that one showed it the file *uri*."""
        if self._cache is not None:
            disks.begin(partial(_end_if_shown, self._cache, _name(uri)))

    def _note(self) -> Noted:
        """Note what is wanted and was not noted yet; in a thread."""
        assert self._cache is not None, "see note_shown"
        engine, uris = self._wanted
        before = self._noted.seen
        known = before.uris if before.engine == engine else frozenset()
        try:
            shown.note(self._cache, map(_name, uris - known))
        except OSError as error:
            log.warning("what the engine is shown is not noted: %s", error)
        return Noted(engine, uris | known)


def _name(uri: str) -> str:
    """Return the path of a file, which editors spell in their own ways as a URI."""
    path = paths.path_to_judge(uri)
    return uri if path is None else os.path.normpath(path)


def _end_if_shown(cache: Path, name: str) -> None:
    if shown.is_noted(cache, name):
        state_file.end_engines(cache)

"""
The keeper: has the session saved while it rests and when it ends, and brings it back at the start.

State: what was kept of each workspace, the views that are being revived, and which were used last.
Without a folder, or with `fim.state.save` off, it does nothing at all.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fim_lsp import saved, window
from fim_lsp.config import Config
from fim_lsp.context.turn import View as Sight
from fim_lsp.documents import Document
from fim_lsp.link import Link
from fim_lsp.prefill import NOWHERE, Prefill
from fim_lsp.saved import Kept, Spot
from fim_lsp.view import Frame, Header, View
from fim_lsp.window import Window
from fim_lsp.workspace import Workspace
from server_bridge.protocol import BackendError, Chunk

REST_S = 30.0  # without a request before it is saved: a look at the documentation, a coffee
N_VIEWS = 2  # documents whose states are saved, of those used last: each costs up to 250 MB

log = logging.getLogger(__name__)


class Keeper:
    """See the module. *cache* is a folder of our own, None to keep nothing."""

    def __init__(self, cache: Path | None, link: Link, prefill: Prefill) -> None:
        self._cache = cache
        self._link = link
        self._prefill = prefill
        self._recalling: dict[str, asyncio.Task[None]] = {}
        self._kept: dict[str, Kept] = {}
        self._reviving: dict[str, asyncio.Task[None]] = {}
        self._used: dict[str, _Used] = {}  # by URI, the one used last at the end
        self._saved: dict[str, Spot] = {}  # what is on disk already
        self._rest: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    # -- at the start ----------------------------------------------------------------------------

    async def recall(self, workspace: Workspace, config: Config) -> None:
        """Bring back the ring of *workspace*, once."""
        if self._cache is None or not config.state.save:
            return
        if workspace.name not in self._recalling:
            work = self._recall(self._cache, workspace, config)
            self._recalling[workspace.name] = asyncio.create_task(work, name="recall")
        await asyncio.wait([self._recalling[workspace.name]])

    def opened(self, view: View, workspace: Workspace) -> None:
        """Put *view* where it was, and have the backend load what it saved of it."""
        kept = self._kept.get(workspace.name)
        if kept is None or view.uri in self._reviving:
            return
        spot = kept.spots.get(view.uri)
        chunks = workspace.chunks(_sight(view.uri, spot.frame.window if spot else NOWHERE))
        header = view.header(chunks)
        if spot is not None and _about(spot.frame.header) == _about(header):
            view.frame, view.tape = _still_true(spot.frame, chunks), spot.tape
        if chunks or view.frame:
            work = self._revive(view, header, spot.typed if spot and view.frame else "")
            self._reviving[view.uri] = asyncio.create_task(work, name="revive")

    async def wait_revived(self, view: View) -> None:
        """Until *view* is as it was, or is not to be."""
        if (task := self._reviving.get(view.uri)) and not task.done():
            await asyncio.wait([task])

    async def _recall(self, cache: Path, workspace: Workspace, config: Config) -> None:
        kept = await asyncio.to_thread(saved.load, cache, workspace.name)
        await workspace.recall(kept.ring, config)
        self._kept[workspace.name] = kept

    async def _revive(self, view: View, header: Header, typed: str) -> None:
        await self._link.wait_ready()
        try:
            await self._prefill.revive(view, header, typed)
        except BackendError as error:
            log.info("nothing restored: %s", error)
            view.forget()

    # -- at rest and at the end ------------------------------------------------------------------

    def used(
        self, view: View, workspace: Workspace, document: Callable[[], Document | None]
    ) -> None:
        """Somebody asked in *view*; save it when he rests. *document* gives its text then."""
        if self._cache is None or not self._link.config.state.save:
            return
        self._used.pop(view.uri, None)
        self._used[view.uri] = _Used(view, workspace, document)
        if self._rest is not None:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(REST_S, self._begin)

    async def aclose(self) -> None:
        """Save for the next time."""
        tasks = (*self._recalling.values(), *self._reviving.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._rest is not None:
            self._rest.cancel()
        if self._saving is not None:
            await asyncio.wait([self._saving])
        await self.save()

    async def save(self) -> None:
        """Save the views used last and their workspaces, as far as they are not saved already."""
        if self._cache is None or not self._link.config.state.save:
            return
        recent = list(self._used.values())[-N_VIEWS:]
        for workspace in {each.workspace.name: each.workspace for each in recent}.values():
            ours = [each for each in recent if each.workspace is workspace]
            try:
                await self._save(self._cache, workspace, ours)
            except (BackendError, OSError) as error:
                log.info("%s is not saved: %s", workspace.name, error)

    async def _save(self, cache: Path, workspace: Workspace, used: list[_Used]) -> None:
        spots = {each.view.uri: spot for each in used if (spot := _spot(each))}
        fresh = {uri for uri, spot in spots.items() if spot != self._saved.get(uri)}
        for uri in fresh:
            spot = spots[uri]
            if not await self._prefill.save(spot.frame, spot.typed, spot.tape):
                del spots[uri]
        if fresh and spots:
            self._saved |= spots
            kept = Kept(workspace.memory.ring, spots)
            await asyncio.to_thread(saved.store, cache, workspace.name, kept)

    def _begin(self) -> None:
        self._saving = asyncio.create_task(self.save(), name="save")


class _Used(NamedTuple):
    view: View
    workspace: Workspace
    document: Callable[[], Document | None]


def _spot(used: _Used) -> Spot | None:
    """Where somebody is in a document that is still open."""
    view, document = used.view, used.document()
    if view.frame is None or view.position is None or document is None:
        return None
    position = document.clamp(view.position)
    if position.line < view.frame.window.anchor:  # he went up, or deleted what stood there
        return None
    typed = window.middle(view.frame.window, document, position)
    return Spot(view.frame, typed, view.tape)


def _sight(uri: str, shown: Window) -> Sight:
    """What a window shows, the cursor being at its anchor."""
    return Sight(uri, shown.anchor, shown.first, shown.anchor + 1 + shown.suffix.count("\n"))


def _about(header: Header) -> tuple[str, str]:
    return header.repo, header.path


def _still_true(frame: Frame, chunks: tuple[Chunk, ...]) -> Frame:
    """*frame* with those of its chunks that may be shown now."""
    pairs = zip(frame.header.chunks, chunks, strict=False)
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    return replace(frame, header=replace(frame.header, chunks=tuple(old for old, _ in alike)))

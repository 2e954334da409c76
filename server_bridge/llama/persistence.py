"""
The contents of slots, saved by the server and restored into an empty slot after a restart.

Nothing here is needed for a completion: where the server cannot save, or what it saved is of no use any
more, the prompt is evaluated. A restored slot counts only if the model says of the next token what it
said when the state was saved (`slot_files.agrees`).
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from pathlib import Path
from typing import NamedTuple

from msgspec import to_builtins

from server_bridge.fim.layout import Ids, head, ids
from server_bridge.llama import completion, slot_files
from server_bridge.llama.checkpoints import Checkpoint
from server_bridge.llama.link import Identity
from server_bridge.llama.mirror import count_shared, n_tokens
from server_bridge.llama.slot_client import Evaluated, SlotClient
from server_bridge.llama.slot_files import SavedSlot
from server_bridge.llama.slots import COPY

# The second token has the first one evaluated: so what is saved goes on behind what is asked again after a
# restore. Builds before llama.cpp's #24110 end when a hybrid model is sent the very prompt that it holds.
NEXT = {"n_predict": 2, **completion.GREEDY, "n_probs": slot_files.N_NEXT}

BACK = 8  # tokens that are evaluated again where a state must be gone back to: its last checkpoint, or a window's

log = logging.getLogger(__name__)


class Owner(NamedTuple):
    """
    The owner of saved states: a *server* at *url*, and where notes on them lie.

    *engine* is the build of a server of our own, "" for any other. *folder* None: nothing is saved.
    """

    server: Identity
    url: str
    engine: str
    folder: Path | None


class Persistence:
    """The saved states of one server."""

    def __init__(self, client: SlotClient, owner: Owner) -> None:
        self._client = client
        self._owner = owner

    @property
    def is_possible(self) -> bool:
        """Return whether there is a folder for notes; whether the server can save shows at the first save."""
        return self._owner.folder is not None

    async def save(self, document: str, whole: Ids, evaluated: Evaluated) -> int:
        """Have the server write down what was just *evaluated*; returns its tokens, 0 if it cannot."""
        if (folder := self._owner.folder) is None:
            return 0
        slot = evaluated.answer.id_slot
        content = self._client.state.mirror.held[slot]
        identity = await self._identity()
        file = await asyncio.to_thread(slot_files.file_for, folder, identity, document)
        done = await self._client.act(slot, "save", file)
        if done.n_saved != n_tokens(
            content.tokens
        ):  # it cannot save, or another client took the slot
            return 0
        state = SavedSlot(
            identity=identity,
            document=document,
            file=file,
            held=content.tokens,
            n_asked=whole.n,
            next=completion.next_tokens(evaluated.answer),
            n_bytes=done.n_written,
            checkpoints=[point.n_tokens for point in content.points],
        )
        await asyncio.to_thread(slot_files.put, folder, state)
        return whole.n

    async def restore(self, document: str, whole: Ids) -> int:
        """Load the saved state that serves a prompt best; returns how many tokens that spares."""
        slot, folder = self._client.state.slots.empty(document), self._owner.folder
        if folder is None or slot is None:
            return 0
        identity = await self._identity()
        state = await asyncio.to_thread(slot_files.best, folder, identity, whole.packed)
        held_already = self._client.state.slots.reusable(document, whole.packed)
        spared = count_shared(state.held, whole.packed) - held_already if state else 0
        if state is None or spared <= COPY:
            return 0
        if await self._is_loaded(document, state, slot):
            await asyncio.to_thread(slot_files.touch, folder, state)
            return spared
        log.warning("a state saved for %s does not belong to it any more", self._owner.url)
        await asyncio.to_thread(slot_files.drop, folder, state)
        return 0

    async def _is_loaded(self, document: str, state: SavedSlot, slot: int) -> bool:
        """Load *state* into *slot*; where it is not what was saved the slot is empty again."""
        done = await self._client.act(slot, "restore", state.file)
        if done.n_restored == n_tokens(state.held) and await self._agrees(document, state, slot):
            return True
        if done.n_restored:
            await self._client.act(slot, "erase")
        self._client.state.mirror.note_contents(slot, b"")
        return False

    async def _agrees(self, document: str, state: SavedSlot, slot: int) -> bool:
        """Return whether *slot* holds what was saved, and the model says of it what it said then."""
        points = tuple(Checkpoint(n_tokens, 0) for n_tokens in state.checkpoints)
        self._client.state.mirror.note_contents(slot, state.held, points)
        asked = head(ids(array("i", state.held)), state.n_asked)
        answer, _ = await self._client.run(document, asked, NEXT, slot)
        is_whole = asked.n - answer.timings.cache_n <= BACK
        return is_whole and slot_files.agrees(state.next, completion.next_tokens(answer))

    async def _identity(self) -> str:
        server, engine = self._owner.server, self._owner.engine
        facts = {
            "build": server.build,
            "slots": server.n_slots,
            "n_ctx": server.n_ctx,
            "engine": engine,
            "lora": to_builtins(await self._client.loras()),
        }
        # A path that another server names is not ours to open: it may be a pipe, or another user's file.
        return await asyncio.to_thread(
            slot_files.identity, facts, server.model_path, ours=bool(engine)
        )

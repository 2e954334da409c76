"""
Prompts into a llama.cpp server's slots: evaluated where least is to be evaluated, and kept.

It knows token ids only; `backend` makes prompts of them. The policy (`slots`) decides which slot a
prompt goes to; the steps before that are done here, in this order: look at the slots, restore what
was saved before a restart, clear.

Nothing that is saved is needed for a completion: where the server cannot save, or what it saved is
of no use any more, the prompt is evaluated. A restored slot counts only if the model says of the
next token what it said when the state was saved (`persistence.agrees`).
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from server_bridge.fim.layout import Ids, head, ids
from server_bridge.llama import completion, persistence
from server_bridge.llama.checkpoints import FEW, GAP, Checkpoint, end_of_step
from server_bridge.llama.persistence import SavedSlot
from server_bridge.llama.slot_client import SlotClient
from server_bridge.llama.slots import ASIDE, COPY
from server_bridge.machine.disks import in_disk_thread
from server_bridge.protocol import Warmed

# One token is sampled all the same: n_predict 0 only keeps it from being evaluated.
PREFILL = {"n_predict": 0, **completion.GREEDY}
# The second token has the first one evaluated: so what is saved goes on behind what is asked again
# after a restore. Builds before llama.cpp's #24110 end when a hybrid model is sent the very prompt
# that it holds.
NEXT = {"n_predict": 2, **completion.GREEDY, "n_probs": persistence.N_NEXT}
# tokens that are evaluated again where a state must be gone back to: its last checkpoint, or a
# window's
BACK = 8

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cache:
    """
    The slots of one server. *foreign* is a token that no prompt begins with.

    Notes on what it saved lie in *folder*; None: nothing is saved. *engine* is the build of a
    server of our own, "" for any other.
    """

    client: SlotClient
    foreign: int
    folder: Path | None = None
    engine: str = ""

    def reusable(self, document: str, whole: Ids, *, moves: bool = False) -> int:
        """
        Return how many tokens of a prompt need not be evaluated; *moves*: see `Mirror.outlook`.
        """
        return self.client.slots.reusable(document, whole.packed, moves=moves)

    async def warm(
        self,
        document: str,
        whole: Ids,
        step: int,
        seams: Sequence[int] = (),
        *,
        moves: bool = False,
    ) -> Warmed:
        """
        Evaluate about *step* tokens that are not held yet; *moves*: see `Mirror.outlook`.

        *seams* are the numbers of tokens after which another prompt is likely to differ.
        """
        slots = self.client.slots
        if document.endswith(ASIDE) and not slots.has_room_aside:
            return Warmed(0, 0)
        if whole.n - slots.reusable(document, whole.packed, ahead=True, moves=moves) <= FEW:
            return Warmed(0, 0)
        slot = await self.prepare(document, whole, ahead=True)
        n_held = self._count_held(whole, step, slot, moves=moves)
        seams = [seam for seam in seams if seam + GAP + FEW < whole.n]
        part = head(whole, end_of_step(self.client.mirror.memory, n_held, step, seams))
        options = {**PREFILL, **completion.MOVING} if moves else PREFILL
        evaluated = await self.client.run(document, part, options, slot)
        left = whole.n - part.n
        # Tokens that the server says it did not keep would be evaluated again by each step.
        gains = self._count_held(whole, step, slot, moves=moves) > n_held
        return Warmed(evaluated.cost.prompt_n, left if left > FEW and gains else 0)

    async def save(self, document: str, whole: Ids, files: tuple[str, ...]) -> int:
        """
        Have the server write down a prompt that is evaluated, which has text of *files*; returns
        its tokens, 0 if it cannot.
        """
        folder = self.folder
        held = self.client.mirror.held
        if folder is None or whole.n - self.reusable(document, whole) > COPY:
            return 0
        if any(content.tokens == whole.packed for content in held.values()):
            whole = head(whole, whole.n - 1)  # see `NEXT`
        slot = await self.prepare(document, whole)
        evaluated = await self.client.run(document, whole, NEXT, slot)
        if (content := self.client.mirror.held.get(evaluated.slot)) is None:
            return 0
        identity = await self._identity()
        state = await in_disk_thread(persistence.begin, folder, identity, document, files)
        done = await self.client.act(evaluated.slot, "save", state.file)
        # It cannot save, holds less than it says, or another client took the slot.
        if not whole.n <= done.n_saved == content.n:
            await in_disk_thread(persistence.drop, folder, state)
            return 0
        await in_disk_thread(
            persistence.put,
            folder,
            state,
            held=content.tokens,
            n_asked=whole.n,
            next=evaluated.next,
            n_bytes=done.n_written,
            checkpoints=[point.n_tokens for point in content.points],
        )
        return whole.n

    async def restore(self, document: str, whole: Ids) -> int:
        """Load the saved state that serves a prompt best; returns how many tokens that spares."""
        slots = self.client.slots
        folder = self.folder
        if slots.is_looking(document):
            slots.see(document, await self.client.tokens_by_slot())
        slot = slots.empty(document)
        if slot is None or folder is None:
            return 0
        identity = await self._identity()
        state = await in_disk_thread(persistence.best, folder, identity, whole.packed)
        spared = state.share(whole.packed) - self.reusable(document, whole) if state else 0
        if state is None or spared <= COPY:
            return 0
        if await self._is_loaded(document, state, slot):
            await in_disk_thread(persistence.touch, folder, state)
            return spared
        log.warning("a state saved for %s does not belong to it any more", self.client.link.url)
        await in_disk_thread(persistence.drop, folder, state)
        return 0

    async def _is_loaded(self, document: str, state: SavedSlot, slot: int) -> bool:
        """Load *state* into *slot*; where it is not what was saved the slot is empty again."""
        done = await self.client.act(slot, "restore", state.file)
        if done.n_restored == state.n:
            points = tuple(Checkpoint(n, 0) for n in state.checkpoints)
            self.client.mirror.note_contents(slot, state.held, points)
            beginning = head(ids(array("i", state.held)), state.n_asked)
            evaluated = await self.client.run(document, beginning, NEXT, slot)
            is_whole = beginning.n - evaluated.cost.cache_n <= BACK
            if is_whole and persistence.agrees(state.next, evaluated.next):
                return True
        if done.n_restored:
            await self.client.act(slot, "erase")
        self.client.mirror.note_contents(slot, b"")
        return False

    async def _identity(self) -> str:
        return await in_disk_thread(persistence.identify, self.client.server, self.engine)

    async def prepare(self, document: str, whole: Ids, *, ahead: bool = False) -> int | None:
        """
        Return the slot to name for *whole*, filled or cleared where that is worth it; None to name
        none.
        """
        await self.restore(document, whole)
        slots = self.client.slots
        slot, clear = slots.choose(document, whole.packed, ahead=ahead)
        if not clear:
            return slot
        if slot is not None and await self.client.unless_busy(slot) is None:
            return None
        # The policy learns from the first time what evaluating something foreign does.
        before = await self.client.tokens_by_slot(idle=True) if slots.is_learning else None
        evaluated = await self.client.run("", ids([self.foreign]), PREFILL, slot)
        if before is not None:
            slots.learn(before, (await self.client.tokens_by_slot(idle=True)) or {}, evaluated.slot)
        return slots.choose(document, whole.packed, ahead=ahead).slot

    def _count_held(self, whole: Ids, step: int, slot: int | None, *, moves: bool) -> int:
        """
        Return how many tokens of *whole* need not be evaluated by a step that goes on behind them.

        A slot may hold too little of the whole to be chosen for it, yet all of a part; another slot
        may be chosen for each. So each beginning that is held is asked for once.
        """
        mirror = self.client.mirror
        parts = (head(whole, n + step).packed for n in mirror.count_shared_each(whole.packed, slot))
        prompts = {whole.packed, *parts}
        return max(mirror.expect_reused(prompt, slot, moves=moves) for prompt in prompts)

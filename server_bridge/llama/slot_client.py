"""
Requests to the slots of one llama.cpp server, and the books that are kept of them.

`run` evaluates a prompt in a slot and decodes; then the mirror knows what the slot holds, and the rest of
`CacheState` what it cost. Besides, slots are looked at, saved, restored and erased, where the server can.
`slot_stream` has the requests that are answered piece by piece.
"""

from __future__ import annotations

import json
import logging
from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, Ids, ids
from server_bridge.http.shapes import Object, UnexpectedAnswer, unexpected
from server_bridge.llama import answers, completion
from server_bridge.llama.cache_state import CacheState
from server_bridge.llama.checkpoints import Memory
from server_bridge.llama.link import Link
from server_bridge.llama.mirror import Outlook
from server_bridge.llama.props import Identity
from server_bridge.protocol import BackendRejected, BackendUnusable, State

# What a server answers that does without an endpoint, or answers there as no llama.cpp does.
WITHOUT = (BackendRejected, BackendUnusable, UnexpectedAnswer)

log = logging.getLogger(__name__)


class Evaluated(NamedTuple):
    """What the server answered, and what we had expected."""

    answer: answers.Completion
    outlook: Outlook | None


class SlotClient:
    """
    See the module. *memory* is the model's as far as it is known.

    *exclusive*: no other client uses the server, and its slots do not share one cache.
    """

    def __init__(
        self, link: Link, server: Identity, state: State, memory: Memory, *, exclusive: bool
    ) -> None:
        self.link = link
        self.server = server
        self.state = CacheState(server, state, memory, exclusive=exclusive)

    async def run(self, document: str, whole: Ids, options: Object, slot: int | None) -> Evaluated:
        """Evaluate *whole* of *document* ("" for none) in *slot*, and decode."""
        state = self.state
        outlook = state.mirror.outlook(whole.packed, slot)
        try:
            text = body(whole, {**options, **completion.ALWAYS}, slot)
            answer = await self.link.post(answers.Completion, "/completion", text)
            self.check_slot(answer.id_slot)
        except BaseException:
            state.mirror.forget()
            raise
        held = (whole.packed + ids(answer.tokens).packed)[: answer.tokens_cached * WIDTH]
        found = answer.timings.cache_n
        state.mirror.settle(answer.id_slot, whole.packed, held, named=slot is not None, found=found)
        state.served(document, slot, answer.id_slot, outlook)
        state.evaluated(answer.timings, outlook)
        state.decoded(answer.timings)
        state.drafters = completion.drafters(answer.drafters)
        return Evaluated(answer, outlook)

    async def look(self) -> list[answers.Slot] | None:
        """The slots as they are now; None where the server does not show them."""
        try:
            slots = await self.link.get(answers.Slot, "/slots")
        except WITHOUT:
            return None
        return slots if all(slot.id < self.server.n_slots for slot in slots) else None

    async def tokens_by_slot(self) -> dict[int, int] | None:
        """How much each slot holds, something if it is busy; None where the server does not say."""
        if (slots := await self.look()) is None:
            return None
        return {slot.id: slot.n_prompt_tokens or int(slot.is_processing) for slot in slots}

    async def act(self, slot: int, action: str, file: str = "") -> answers.Saved:
        """Save, restore or erase a slot; an empty answer where the server cannot or will not."""
        asked = json.dumps({"filename": file} if file else {})
        try:
            return await self.link.post(answers.Saved, f"/slots/{slot}?action={action}", asked)
        except WITHOUT as error:
            log.info("slot %d: no %s: %s", slot, action, error)
            return answers.Saved()

    async def loras(self) -> list[answers.Lora] | None:
        """The adapters that the model runs with; None where the server does not say."""
        try:
            return await self.link.get(answers.Lora, "/lora-adapters")
        except WITHOUT:
            return None

    def check_slot(self, slot: int) -> None:
        """Raise UnexpectedAnswer where the server names a *slot* that it does not have."""
        if slot >= self.server.n_slots:
            raise unexpected(f"{self.link.url}/completion", "a slot that it does not have")


def body(whole: Ids, options: Object, slot: int | None) -> str:
    """A prompt and options as JSON. The ids are text already, so they go around json.dumps."""
    named = {**options, "id_slot": -1 if slot is None else slot}
    return f'{{"prompt":[{whole.listed}],{json.dumps(named)[1:]}'

"""
Requests to the slots of one llama.cpp server, and the books that are kept of them.

`SlotClient.run` evaluates a prompt in a slot and decodes; the mirror then knows what the slot holds, the
policy which document was served there, and the speeds and the check of the cache learn what it cost. Besides, slots
are looked at, saved, restored and erased, where the server can.
"""

from __future__ import annotations

import json
import logging
from array import array
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from server_bridge import running_mean
from server_bridge.fim.layout import WIDTH, Ids, ids
from server_bridge.http.shapes import Object, UnexpectedAnswer, unexpected
from server_bridge.llama import answers, completion, context_shift
from server_bridge.llama.cache_check import CacheCheck
from server_bridge.llama.exclusive_slots import ExclusiveSlots
from server_bridge.llama.link import Link
from server_bridge.llama.mirror import Mirror, Outlook
from server_bridge.llama.props import Identity
from server_bridge.llama.shared_slots import SharedSlots
from server_bridge.llama.slots import COPY, Slots
from server_bridge.protocol import BackendRejected, BackendUnusable, Sink, State

ENOUGH_TOKENS = 32  # shorter prefills measure the request, not the speed
# What a server answers that does without an endpoint, or answers there as no llama.cpp does.
WITHOUT = (BackendRejected, BackendUnusable, UnexpectedAnswer)

log = logging.getLogger(__name__)


class Evaluated(NamedTuple):
    """What the server answered, and what we had expected."""

    answer: answers.Completion
    outlook: Outlook | None


class SlotClient:
    """See the module. *exclusive*: no other client uses the server, and its slots do not share one cache."""

    def __init__(self, link: Link, server: Identity, state: State, *, exclusive: bool) -> None:
        self.mirror = Mirror(server.n_slots, exclusive=exclusive)
        self.slots: Slots = (
            ExclusiveSlots(self.mirror, server.n_slots)
            if exclusive
            else SharedSlots(self.mirror, server.n_slots)
        )
        self.prefill_per_s = running_mean.prefill_per_s(state.prefill_per_s)
        self.decode_ms = running_mean.decode_ms(state.decode_ms)
        self.check = CacheCheck()
        self._link = link
        self._server = server

    async def run(self, document: str, whole: Ids, options: Object, slot: int | None) -> Evaluated:
        """Evaluate *whole* of *document* ("" for none) in *slot*, and decode."""
        outlook = self.mirror.outlook(whole.packed, slot)
        options = {**options, **completion.ALWAYS, "id_slot": _asked(slot)}
        try:
            # The ids are text already, so they go around json.dumps.
            body = f'{{"prompt":[{whole.listed}],{json.dumps(options)[1:]}'
            answer = await self._link.post(answers.Completion, "/completion", body)
            self._check_slot(answer.id_slot)
        except BaseException:
            self.mirror.forget()
            raise
        held = (whole.packed + ids(answer.tokens).packed)[: answer.tokens_cached * WIDTH]
        self.mirror.settle(answer.id_slot, whole.packed, held, named=slot is not None)
        if document and (slot is not None or outlook is None or outlook.reused <= COPY):
            self.slots.used(document, answer.id_slot)
        self._learn(answer, outlook)
        return Evaluated(answer, outlook)

    async def stream(
        self, whole: Ids, n_predict: int, sink: Sink, slot: int | None
    ) -> AsyncGenerator[str, None]:
        """The text after *whole*, past the context if the server can shift it."""
        prompt, made, served = [*array("i", whole.packed)], list[int](), _asked(slot)
        options = {**context_shift.options(n_predict, sink), "id_slot": served}
        body = json.dumps({"prompt": prompt, **options})
        try:
            async with aclosing(self._link.stream("/completion", body)) as events:
                async for event in events:
                    served = max(served, event.id_slot)
                    made += event.tokens
                    if event.content:
                        yield event.content
                    if event.stop:
                        context_shift.check_end(event, self._server.n_ctx, self._link.url)
        finally:
            if 0 <= served < self._server.n_slots:
                left = ids(context_shift.held(prompt, made, self._server.n_ctx, sink)).packed
                self.mirror.settle(served, whole.packed, left, named=slot is not None)
            else:
                self.mirror.forget()

    async def tokens_by_slot(self) -> dict[int, int] | None:
        """How much each slot holds, something if it is busy; None where the server does not say."""
        try:
            slots = await self._link.get(answers.Slot, "/slots")
        except WITHOUT:
            return None
        held = {slot.id: slot.n_prompt_tokens or int(slot.is_processing) for slot in slots}
        return held if all(slot < self._server.n_slots for slot in held) else None

    async def act(self, slot: int, action: str, file: str = "") -> answers.Saved:
        """Save, restore or erase a slot; an empty answer where the server cannot or will not."""
        body = json.dumps({"filename": file} if file else {})
        try:
            return await self._link.post(answers.Saved, f"/slots/{slot}?action={action}", body)
        except WITHOUT as error:
            log.info("slot %d: no %s: %s", slot, action, error)
            return answers.Saved()

    async def loras(self) -> list[answers.Lora] | None:
        """The adapters that the model runs with; None where the server does not say."""
        try:
            return await self._link.get(answers.Lora, "/lora-adapters")
        except WITHOUT:
            return None

    def _check_slot(self, slot: int) -> None:
        if slot >= self._server.n_slots:
            raise unexpected(f"{self._link.url}/completion", "a slot that it does not have")

    def _learn(self, answer: answers.Completion, outlook: Outlook | None) -> None:
        """Learn from what a request cost, beside what we had expected."""
        cost = completion.timings(answer, None)
        log.debug(
            "slot %d: %d tokens evaluated in %.0f ms, %d reused",
            answer.id_slot, cost.prompt_n, cost.prompt_ms, cost.cache_n,
        )  # fmt: skip
        if cost.prompt_n >= ENOUGH_TOKENS and cost.prompt_ms:
            self.prefill_per_s.add(1000 * cost.prompt_n / cost.prompt_ms)
        if cost.predicted_n > 1:  # the first token comes of the prompt
            self.decode_ms.add(cost.predicted_ms / (cost.predicted_n - 1))
        if outlook is not None and outlook.loaded:
            self.mirror.loaded(outlook.reused, cost.cache_n)
        before = self.check.problem
        self.check.compare(outlook, cost.cache_n)
        if self.check.problem and not before:
            log.warning("%s evaluates more than it should: %s", self._link.url, self.check.problem)


def _asked(slot: int | None) -> int:
    """A slot as `/completion` is told; -1 leaves it to the server."""
    return -1 if slot is None else slot

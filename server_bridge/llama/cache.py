"""
Prompts into a llama.cpp server's slots: evaluated where least is to be evaluated, and kept.

It knows token ids only; `backend` makes prompts of them. The policy (`slots`) decides which slot a
prompt goes to; what that takes beforehand is done here, in this order: look at the slots, restore
what was saved before a restart, clear.

llama.cpp notices that a stream was closed when it writes the next token, so its slot is busy for a
token or two more. A prompt that named it then would break it, one that did not would go elsewhere;
so closing waits until it is free. `/slots` tells when that is, and how many tokens the slot holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, Ids, head, ids
from server_bridge.http.responses import Object
from server_bridge.llama import checkpoints, completion
from server_bridge.llama.answers import Event
from server_bridge.llama.mirror import Outlook
from server_bridge.llama.persistence import NEXT, SlotPersistence
from server_bridge.llama.slot_client import Evaluated, SlotClient, body
from server_bridge.llama.slots import COPY
from server_bridge.protocol import BackendError, BackendUnavailable, Warmed

N_LOOKS = 16  # at a slot that should be free within two tokens; each look takes about one
SOON_S = 0.003  # a look takes as long as two tokens of the smallest model
BLIND_S = 0.125  # waited at most, twice where the server does not show its slots


class ClosedStream(NamedTuple):
    """
    The slot of a closed stream, and how many tokens are there now; None where that is not known.
    """

    slot: int | None
    n_held: int | None = None


class Made:
    """The tokens of a stream as far as all of them are known."""

    def __init__(self) -> None:
        self._ids: list[int] = []

    def add(self, event: Event) -> None:
        """Add an event; of a character that takes several tokens llama.cpp sends only the last."""
        if len(self._ids) + len(event.tokens) >= event.tokens_predicted:
            self._ids += event.tokens

    def predict_held(self, whole: Ids, n_held: int | None) -> tuple[bytes, bool]:
        """
        Return the tokens in a slot after *whole* and this, *n_held* if that is known; and whether
        there is more.
        """
        n_known = whole.n + max(0, len(self._ids) - 1)  # the last one was sampled and not evaluated
        packed = (whole.packed + ids(self._ids).packed)[: min(n_known, n_held or n_known) * WIDTH]
        return packed, n_held is None or n_held > n_known


async def decode(
    client: SlotClient, document: str, whole: Ids, options: Object, slot: int | None
) -> AsyncGenerator[tuple[Event, Outlook | None], None]:
    """
    Evaluate *whole* of *document* in *slot*, and decode; each event with what we had expected.

    Closing it ends the work and waits until the slot is free.
    """
    state, made, last, cost = client.state, Made(), Event(), None
    n_chars = 0
    moves = completion.MOVING.keys() <= options.keys()
    outlook = state.mirror.outlook(whole.packed, slot, moves=moves)
    text = body(whole, {**options, **completion.STREAMED}, slot)
    try:
        async with aclosing(client.link.stream("/completion", text)) as events:
            async for event in events:
                client.check_slot(event.id_slot)
                made.add(event)
                n_chars += max(len(event.content), len(event.tokens))
                completion.check_length(n_chars, options["n_predict"], client.link.url)
                if event.timings and cost is None:
                    cost = event.timings
                    state.learn_prefill(cost, outlook)
                last = event
                yield event, outlook
        closed = _parse_end(last, client.link.url)
        state.drafters = completion.drafters(last.drafters)
    except GeneratorExit:
        closed = await _wait_closed(client, slot, whole)
    except BaseException:
        state.mirror.forget()
        raise
    if last.timings:
        state.learn_decoding(last.timings)
    if closed.slot is None:
        state.mirror.forget()
        return
    held, open_end = made.predict_held(whole, closed.n_held)
    named, found = slot is not None, cost.cache_n if cost else None
    state.mirror.settle(
        closed.slot, whole.packed, held, named=named, open_end=open_end, found=found
    )
    state.note_slot(document, slot, closed.slot, outlook)


def _parse_end(last: Event, url: str) -> ClosedStream:
    """
    Return where a stream ended, by its *last* event. Raises BackendUnavailable where it should not
    be the last.
    """
    if not last.stop:
        raise BackendUnavailable(f"{url} broke off in the middle of an answer")
    return ClosedStream(last.id_slot, last.tokens_cached)


async def _wait_closed(client: SlotClient, slot: int | None, whole: Ids) -> ClosedStream:
    """Wait until what was closed has left its slot."""
    expected = client.state.mirror.predict_slot(whole.packed) if slot is None else slot
    served = None if expected < 0 else expected
    step_s = min(BLIND_S, max(SOON_S, 1e-3 * client.state.decode_ms.value))
    await asyncio.sleep(step_s)  # not sooner than it can be
    try:
        for _ in range(N_LOOKS):
            if (slots := await client.look()) is None:
                break
            busy = {each.id: each.n_prompt_tokens for each in slots if each.is_processing}
            if slot is None and served not in busy and len(busy) == 1:
                [served] = busy
            if served is None:
                return ClosedStream(None)
            if served not in busy:
                held = {each.id: each.n_prompt_tokens for each in slots}
                return ClosedStream(served, held.get(served) or None)
    except BackendError:
        return ClosedStream(None)
    await asyncio.sleep(step_s)
    return ClosedStream(served)


TAIL = 8  # so few tokens cost no more than the request that would evaluate them ahead
# One token is sampled all the same: n_predict 0 only keeps it from being evaluated.
PREFILL = {"n_predict": 0, **completion.GREEDY}


class Cache(NamedTuple):
    """The slots of one server. *foreign* is a token that no prompt begins with."""

    client: SlotClient
    persistence: SlotPersistence
    foreign: int

    def reusable(self, document: str, whole: Ids, *, moves: bool = False) -> int:
        """
        Return how many tokens of a prompt need not be evaluated; *moves*: see `Mirror.outlook`.
        """
        return self.client.state.slots.reusable(document, whole.packed, moves=moves)

    async def evaluate(self, document: str, whole: Ids, options: Object) -> Evaluated:
        """Evaluate a prompt in the slot that serves it best, and decode."""
        slot = await self._prepare(document, whole)
        return await self.client.run(document, whole, options, slot)

    async def decode(
        self, document: str, whole: Ids, options: Object
    ) -> AsyncGenerator[tuple[Event, Outlook | None], None]:
        """As `evaluate`, event by event; see `decode`."""
        slot = await self._prepare(document, whole)
        decoded = decode(self.client, document, whole, options, slot)
        async with aclosing(decoded) as events:
            async for event in events:
                yield event

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
        slots = self.client.state.slots
        if whole.n - slots.reusable(document, whole.packed, ahead=True, moves=moves) <= TAIL:
            return Warmed(0, 0)
        slot = await self._prepare(document, whole, ahead=True)
        part = self._next_part(whole, step, slot, seams, moves=moves)
        options = {**PREFILL, **completion.MOVING} if moves else PREFILL
        answer, _ = await self.client.run(document, part, options, slot)
        left = whole.n - part.n
        # What the server says it did not keep would be evaluated again by each step.
        keeps = self.client.state.mirror.count_held(answer.id_slot, part.packed) >= part.n - 1
        return Warmed(answer.timings.prompt_n, left if left > TAIL and keeps else 0)

    async def save(self, document: str, whole: Ids) -> int:
        """
        Have the server write down a prompt that is evaluated; returns its tokens, 0 if it cannot.
        """
        if not self.persistence.is_possible or whole.n - self.reusable(document, whole) > COPY:
            return 0
        contents = self.client.state.mirror.held.values()
        if any(content.tokens == whole.packed for content in contents):
            whole = head(whole, whole.n - 1)  # see `NEXT`
        evaluated = await self.evaluate(document, whole, NEXT)
        return await self.persistence.save(document, whole, evaluated)

    async def restore(self, document: str, whole: Ids) -> int:
        """Load the saved state that serves a prompt best; returns how many tokens that spares."""
        await self._look(document)
        return await self.persistence.restore(document, whole)

    async def _prepare(self, document: str, whole: Ids, *, ahead: bool = False) -> int | None:
        """
        Return the slot to name for *whole*, filled or cleared where that is worth it; None to name
        none.
        """
        await self.restore(document, whole)
        slot, clear = self.client.state.slots.choose(document, whole.packed, ahead=ahead)
        if not clear:
            return slot
        await self._clear(slot)
        return self.client.state.slots.choose(document, whole.packed, ahead=ahead).slot

    async def _look(self, document: str) -> None:
        """Let the policy see the slots, if it wants to."""
        if self.client.state.slots.is_looking(document):
            self.client.state.slots.see(document, await self.client.tokens_by_slot())

    async def _clear(self, slot: int | None) -> None:
        """
        Evaluate something foreign in *slot*; the policy learns from the first time what that does.
        """
        slots = self.client.state.slots
        before = await self.client.tokens_by_slot() if slots.is_learning else None
        answer, _ = await self.client.run("", ids([self.foreign]), PREFILL, slot)
        if before is not None:
            slots.learn(before, await self.client.tokens_by_slot() or {}, answer.id_slot)

    def _next_part(
        self, whole: Ids, step: int, slot: int | None, seams: Sequence[int], *, moves: bool
    ) -> Ids:
        """
        Return the beginning of *whole* of which *step* tokens are not held yet; all of it if fewer
        are not.
        """
        mirror = self.client.state.mirror
        seams = [seam for seam in seams if seam + checkpoints.GAP + TAIL < whole.n]
        known = mirror.expect_reused(whole.packed, slot, moves=moves)
        while True:
            part = head(whole, checkpoints.end_of_step(mirror.memory, known, step, seams))
            # A slot may hold too little of the whole to be chosen for it, yet all of a part.
            known = mirror.expect_reused(part.packed, slot, moves=moves)
            if part.n - known > TAIL or part.n == whole.n:
                return part

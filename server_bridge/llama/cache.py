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
from functools import partial
from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, Ids, head, ids
from server_bridge.http.responses import Object
from server_bridge.llama import completion
from server_bridge.llama.answers import Event
from server_bridge.llama.checkpoints import FEW, GAP, end_of_step
from server_bridge.llama.mirror import Outlook
from server_bridge.llama.persistence import NEXT, SlotPersistence
from server_bridge.llama.slot_client import SlotClient, body, place
from server_bridge.llama.slots import ASIDE, COPY
from server_bridge.protocol import BackendError, BackendUnavailable, Warmed

N_LOOKS = 16  # at a slot that should be free within two tokens; each look takes about one
SOON_S = 0.003  # between two looks: short beside the time that a token takes
BLIND_S = 0.125  # waited at most, twice where the server does not show its slots


# The slot of a closed stream, and how many tokens are there now; None where that is not known.
ClosedStream = tuple[int | None, int | None]


def predict_held(whole: Ids, made: list[int], n_held: int | None) -> tuple[bytes, bool]:
    """
    Return the tokens in a slot after *whole* and what was *made*, *n_held* if that is known; and
    whether there is more.
    """
    n_evaluated = whole.n + max(0, len(made) - 1)  # the last one was sampled and not evaluated
    packed = (whole.packed + ids(made).packed)[: min(n_evaluated, n_held or n_evaluated) * WIDTH]
    return packed, n_held is None or n_held > n_evaluated


async def decode(
    client: SlotClient, document: str, whole: Ids, options: Object, slot: int | None
) -> AsyncGenerator[tuple[Event, Outlook | None], None]:
    """
    Evaluate *whole* of *document* in *slot*, and decode; each event with what we had expected.

    Closing it ends the work and waits until the slot is free.
    """
    made, last, n_chars = list[int](), Event(), 0
    moves = completion.MOVING.keys() <= options.keys()
    outlook = client.mirror.outlook(whole.packed, slot, moves=moves)
    fields = {**options, **completion.STREAMED, **place(slot)}
    try:
        async with aclosing(client.link.stream(fields, partial(body, whole))) as events:
            async for event in events:
                client.check_slot(event.id_slot)
                # Of a character that takes several tokens llama.cpp sends only the last.
                if len(made) + len(event.tokens) >= event.tokens_predicted:
                    made += event.tokens
                n_chars += max(len(event.content), len(event.tokens))
                completion.check_length(n_chars, options["n_predict"], client.link.url)
                last = event
                yield event, outlook
        served, n_held = _parse_end(last, client.link.url)
        client.drafters = completion.drafters(last.drafters)
    except GeneratorExit:
        served, n_held = await _wait_closed(client, slot, whole)
    except BaseException:
        client.mirror.forget()
        raise
    if last.timings:
        client.learn(last.timings, outlook)
    if served is None:
        client.mirror.forget()
        return
    held, open_end = predict_held(whole, made, n_held)
    named, n_reused = slot is not None, last.timings.cache_n if last.timings else None
    client.mirror.settle(
        served, whole.packed, held, named=named, open_end=open_end, n_reused=n_reused
    )
    client.note_slot(document, slot, served, outlook)


def _parse_end(last: Event, url: str) -> ClosedStream:
    """Return where a stream ended. Raises BackendUnavailable where *last* should not be its end."""
    if not last.stop:
        raise BackendUnavailable(f"{url} broke off in the middle of an answer")
    return last.id_slot, last.tokens_cached


async def _wait_closed(client: SlotClient, slot: int | None, whole: Ids) -> ClosedStream:
    """Wait until what was closed has left its slot."""
    expected = client.mirror.predict_slot(whole.packed) if slot is None else slot
    served = None if expected < 0 else expected
    step_s = min(BLIND_S, max(SOON_S, 1e-3 * client.speeds.decode_ms.value))
    await asyncio.sleep(step_s)  # not sooner than it can be
    try:
        for _ in range(N_LOOKS):
            if (slots := await client.look()) is None:
                break
            busy = {shown.id for shown in slots if shown.is_processing}
            if slot is None and served not in busy and len(busy) == 1:
                [served] = busy
            if served is None:
                return None, None
            if served not in busy:
                n_held = {shown.id: shown.n_prompt_tokens for shown in slots}
                return served, n_held.get(served) or None
    except BackendError:
        return None, None
    await asyncio.sleep(step_s)
    return served, None


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
        return self.client.slots.reusable(document, whole.packed, moves=moves)

    async def decode(
        self, document: str, whole: Ids, options: Object
    ) -> AsyncGenerator[tuple[Event, Outlook | None], None]:
        """Evaluate a prompt in the slot that serves it best, and decode; see `decode`."""
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
        slots = self.client.slots
        if document.endswith(ASIDE) and not slots.has_room_aside:
            return Warmed(0, 0)
        if whole.n - slots.reusable(document, whole.packed, ahead=True, moves=moves) <= FEW:
            return Warmed(0, 0)
        slot = await self._prepare(document, whole, ahead=True)
        n_held = self._count_held(whole, step, slot, moves=moves)
        seams = [seam for seam in seams if seam + GAP + FEW < whole.n]
        part = head(whole, end_of_step(self.client.mirror.memory, n_held, step, seams))
        options = {**PREFILL, **completion.MOVING} if moves else PREFILL
        answer, _ = await self.client.run(document, part, options, slot)
        left = whole.n - part.n
        # What the server says it did not keep would be evaluated again by each step.
        gains = self._count_held(whole, step, slot, moves=moves) > n_held
        return Warmed(answer.timings.prompt_n, left if left > FEW and gains else 0)

    async def save(self, document: str, whole: Ids, files: tuple[str, ...]) -> int:
        """
        Have the server write down a prompt that is evaluated, which has text of *files*; returns
        its tokens, 0 if it cannot.
        """
        if self.persistence.folder is None or whole.n - self.reusable(document, whole) > COPY:
            return 0
        contents = self.client.mirror.held.values()
        if any(content.tokens == whole.packed for content in contents):
            whole = head(whole, whole.n - 1)  # see `NEXT`
        slot = await self._prepare(document, whole)
        evaluated = await self.client.run(document, whole, NEXT, slot)
        return await self.persistence.save(document, whole, evaluated, files)

    async def restore(self, document: str, whole: Ids) -> int:
        """Load the saved state that serves a prompt best; returns how many tokens that spares."""
        slots = self.client.slots
        if slots.is_looking(document):
            slots.see(document, await self.client.tokens_by_slot())
        slot = slots.empty(document)
        return 0 if slot is None else await self.persistence.restore(document, whole, slot)

    async def _prepare(self, document: str, whole: Ids, *, ahead: bool = False) -> int | None:
        """
        Return the slot to name for *whole*, filled or cleared where that is worth it; None to name
        none.
        """
        await self.restore(document, whole)
        slot, clear = self.client.slots.choose(document, whole.packed, ahead=ahead)
        if not clear:
            return slot
        await self._clear(slot)
        return self.client.slots.choose(document, whole.packed, ahead=ahead).slot

    async def _clear(self, slot: int | None) -> None:
        """
        Evaluate something foreign in *slot*; the policy learns from the first time what that does.
        """
        slots = self.client.slots
        before = await self.client.tokens_by_slot() if slots.is_learning else None
        answer, _ = await self.client.run("", ids([self.foreign]), PREFILL, slot)
        if before is not None:
            slots.learn(before, await self.client.tokens_by_slot() or {}, answer.id_slot)

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

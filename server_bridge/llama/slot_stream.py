"""
Requests to a slot that are answered piece by piece, and what the slot holds when they end, or are closed.

llama.cpp notices that a stream was closed when it writes the next token, so its slot is busy for a token or
two more. A prompt that named it then would break it, one that did not would go elsewhere; so closing waits until
it is free. `/slots` tells when that is, and how many tokens the slot holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, Ids, ids
from server_bridge.http.responses import Object
from server_bridge.llama import completion
from server_bridge.llama.answers import Event
from server_bridge.llama.mirror import Outlook
from server_bridge.llama.slot_client import SlotClient, body
from server_bridge.protocol import BackendError, BackendUnavailable

N_LOOKS = 16  # at a slot that should be free within two tokens; each look takes about one
SOON_S = 0.003  # a look takes as long as two tokens of the smallest model
BLIND_S = 0.125  # waited at most, twice where the server does not show its slots


class Closed(NamedTuple):
    """The slot of a closed stream, and how many tokens are there now; None where that is not known."""

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
        """Return the tokens in a slot after *whole* and this, *n_held* if that is known; and whether there is more."""
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
    moves = completion.MOVING.keys() <= options.keys()
    outlook = state.mirror.outlook(whole.packed, slot, moves=moves)
    text = body(whole, {**options, **completion.STREAMED}, slot)
    try:
        async with aclosing(client.link.stream("/completion", text)) as events:
            async for event in events:
                client.check_slot(event.id_slot)
                made.add(event)
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
        closed.slot,
        whole.packed,
        held,
        named=named,
        open_end=open_end,
        found=found,
    )
    state.note_slot(document, slot, closed.slot, outlook)


def _parse_end(last: Event, url: str) -> Closed:
    """Return where a stream ended, by its *last* event. Raises BackendUnavailable where it should not be the last."""
    if not last.stop:
        raise BackendUnavailable(f"{url} broke off in the middle of an answer")
    return Closed(last.id_slot, last.tokens_cached)


async def _wait_closed(client: SlotClient, slot: int | None, whole: Ids) -> Closed:
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
                return Closed(None)
            if served not in busy:
                held = {each.id: each.n_prompt_tokens for each in slots}
                return Closed(served, held.get(served) or None)
    except BackendError:
        return Closed(None)
    await asyncio.sleep(step_s)
    return Closed(served)

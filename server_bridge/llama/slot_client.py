"""
Requests to the slots of one llama.cpp server, and their bookkeeping.

`decode` evaluates a prompt in a slot, and what it makes comes piece by piece; then the mirror knows
what the slot holds, and the speeds and the check of the cache what it cost. Besides, slots are
looked at, saved, restored and erased, where the server can.

llama.cpp notices that a stream was closed when it writes the next token, so its slot is busy for a
token or two more. A prompt that named it then would break it, one that did not would go elsewhere;
so closing waits until it is free. `/slots` tells when that is, and how many tokens the slot holds.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, Ids, ids
from server_bridge.http.answer_bounds import AnswerBounds
from server_bridge.http.responses import Object
from server_bridge.llama import answers, completion
from server_bridge.llama.answers import Entry, Event, SlotCost
from server_bridge.llama.cache_check import CacheCheck
from server_bridge.llama.checkpoints import ModelMemory
from server_bridge.llama.identity import Identity
from server_bridge.llama.link import WAITING, WITHOUT, Link
from server_bridge.llama.mirror import Mirror, Outlook
from server_bridge.llama.slots import COPY, ExclusiveSlots, SharedSlots, Slots
from server_bridge.protocol import BackendError, BackendUnavailable
from server_bridge.speeds import Speeds

COPIED_PER_S = 350 << 20  # bytes of states; measured with 31 checkpoints of 55 MiB
ENOUGH_MS = 100.0  # of a prompt: a shorter one may measure the request, not the speed
LATE_TEXT = 8  # events whose text waits for the end of a character, or of a stop string
SPARE_EVENTS = 2  # besides one for each token: the end, and half a character
N_LOOKS = 16  # at a slot that should be free within two tokens; each look takes about one
SOON_S = 0.003  # between two looks: short beside the time that a token takes
BLIND_S = 0.125  # waited at most, twice where the server does not show its slots

log = logging.getLogger(__name__)

# The slot of a closed stream, and how many tokens are there now; None where that is not known.
ClosedStream = tuple[int | None, int | None]


class Told(NamedTuple):
    """An event of an answer, and what was expected of the request."""

    event: Event
    outlook: Outlook | None


class Evaluated(NamedTuple):
    """
    The outcome of a request: its slot, its cost, the likeliest first tokens with their
    log-probabilities, and what was expected.
    """

    slot: int
    cost: SlotCost
    next: dict[int, float]
    outlook: Outlook | None


@dataclass(slots=True)
class ToldAnswer:
    """An answer as far as it came: its *last* event, and the tokens *made* that it told."""

    last: Event = field(default_factory=Event)
    made: list[int] = field(default_factory=list)
    n_chars: int = 0  # or tokens, if there are more

    def take(self, event: Event) -> None:
        """Append an event."""
        self.last = event
        self.n_chars += max(len(event.content), len(event.tokens))
        # Of a character of several tokens llama.cpp sends only the last.
        if len(self.made) + len(event.tokens) >= event.tokens_predicted:
            self.made += event.tokens


def predict_held(whole: Ids, made: list[int], n_held: int | None) -> tuple[bytes, int]:
    """
    Return the tokens in a slot after *whole* and what was *made*, *n_held* if that is known; and
    how many more there are, 1 where that is not known.
    """
    n_evaluated = whole.n + max(0, len(made) - 1)  # the last one was sampled and not evaluated
    n = n_evaluated if n_held is None else min(n_evaluated, n_held)
    packed = (whole.packed + ids(made).packed)[: n * WIDTH]
    return packed, 1 if n_held is None else max(0, n_held - n_evaluated)


def _parse_end(last: Event, n_slots: int, url: str) -> ClosedStream:
    """Return where a stream ended. Raises BackendUnavailable where *last* should not be its end."""
    if not last.stop:
        raise BackendUnavailable(f"{url} broke off in the middle of an answer")
    return last.id_slot if 0 <= last.id_slot < n_slots else None, last.tokens_cached


class SlotClient:
    """
    The slots of one server. The *mirror* knows what the slots hold, the policy *slots* which
    document was served where; besides, the *speeds* of the server, and whether it reuses what it
    should.

    *memory* is the model's as far as it is known. *exclusive*: no other client uses the server, and
    its slots do not share one cache.
    """

    def __init__(
        self, link: Link, server: Identity, speeds: Speeds, memory: ModelMemory, *, exclusive: bool
    ) -> None:
        self.link = link
        self.server = server
        self.mirror = Mirror(server.n_slots, exclusive=exclusive, memory=memory)
        self.slots = self._make_policy(exclusive=exclusive)
        self.speeds = speeds
        self.check = CacheCheck()
        self.drafters = ""  # the kinds of speculation it was started with, as its answers tell

    def share(self, *, exclusive: bool) -> None:
        """Name slots as on a server that no other client uses, or uses no longer, or not so."""
        if exclusive is not self.mirror.exclusive:
            self.mirror.exclusive = exclusive
            self.slots = self._make_policy(self.slots.served, exclusive=exclusive)

    def _make_policy(self, served: Iterable[str] = (), *, exclusive: bool) -> Slots:
        policy = ExclusiveSlots if exclusive else SharedSlots
        return policy(self.mirror, self.server.n_slots, self._price_clearing, served)

    async def decode(
        self, document: str, whole: Ids, options: Object, slot: int | None
    ) -> AsyncGenerator[Told, None]:
        """
        Evaluate *whole* of *document* ("" for none) in *slot*, or where the server puts it if that
        is busy, and decode.

        Closing it ends the work and waits until the slot is free.
        """
        slot = await self.unless_busy(slot)
        answer = ToldAnswer()
        n_predict = options["n_predict"]
        bounds = AnswerBounds(self.link.url, n_predict, LATE_TEXT, n_predict + SPARE_EVENTS)
        moves = completion.MOVING.keys() <= options.keys()
        outlook = self.mirror.outlook(whole.packed, slot, moves=moves)
        fields = {**options, **completion.ALWAYS, "id_slot": -1 if slot is None else slot}
        try:
            async with aclosing(self.link.stream(fields, partial(body, whole))) as events:
                async for event in events:
                    if event is not WAITING:
                        answer.take(event)
                        bounds.note(answer.n_chars)
                    yield Told(event, outlook)
            served, n_held = _parse_end(answer.last, self.server.n_slots, self.link.url)
            self.drafters = completion.drafters(answer.last.drafters)
        except GeneratorExit:
            served, n_held = await self._wait_closed(slot, whole)
        except BaseException:
            self.mirror.forget()
            raise
        cost = answer.last.timings
        self._learn(cost, outlook)
        if served is None:
            self.mirror.forget()
            return
        held, n_behind = predict_held(whole, answer.made, n_held)
        named = slot is not None
        n_reused = cost.cache_n if cost else None
        self.mirror.settle(
            served, whole.packed, held, named=named, n_behind=n_behind, n_reused=n_reused
        )
        is_told = named or self.mirror.exclusive or outlook is None or outlook.reused <= COPY
        if document and is_told:
            self.slots.note_use(document, served)

    async def run(self, document: str, whole: Ids, options: Object, slot: int | None) -> Evaluated:
        """Evaluate a prompt and decode to the end, see `decode`."""
        entries = list[Entry]()
        told = Told(Event(), None)
        async with aclosing(self.decode(document, whole, options, slot)) as events:
            async for told in events:
                entries += told.event.completion_probabilities
        cost = told.event.timings or SlotCost(0, 0, 0)
        return Evaluated(told.event.id_slot, cost, completion.next_tokens(entries), told.outlook)

    async def _wait_closed(self, slot: int | None, whole: Ids) -> ClosedStream:
        """Wait until what was closed has left its slot."""
        expected = self.mirror.predict_slot(whole.packed) if slot is None else slot
        served = None if expected < 0 else expected
        step_s = min(BLIND_S, max(SOON_S, 1e-3 * self.speeds.decode_ms.value))
        await asyncio.sleep(step_s)  # not sooner than it can be
        try:
            for _ in range(N_LOOKS):
                if (slots := await self.look()) is None:
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

    def _learn(self, cost: SlotCost | None, outlook: Outlook | None) -> None:
        """Learn from what a request cost, if that was told, beside what we had expected."""
        if cost is None:
            return
        ms = completion.milliseconds(cost.prompt_ms)
        log.debug("%d tokens evaluated in %.0f ms, %d reused", cost.prompt_n, ms, cost.cache_n)
        self.speeds.learn_prefill(cost.prompt_n, ms, ENOUGH_MS)
        self.speeds.learn_decoding(cost.predicted_n, completion.milliseconds(cost.predicted_ms))
        if outlook is not None and outlook.moved:
            self.mirror.moves = cost.cache_n >= outlook.reused
        before = self.check.problem
        self.check.compare(outlook, cost.cache_n, self.mirror)
        if self.check.problem and not before:
            log.warning("the server evaluates more than it should: %s", self.check.problem)

    def _price_clearing(self) -> int:
        """
        Return the cost of clearing a slot: the number of tokens that could be evaluated meanwhile.
        """
        seconds = self.mirror.state_bytes / COPIED_PER_S
        return COPY + round(seconds * self.speeds.prefill_per_s.value)

    async def look(self) -> list[answers.Slot] | None:
        """Return the slots as they are now; None where the server does not show them."""
        try:
            slots = await self.link.get(answers.Slot, "/slots")
        except WITHOUT:
            return None
        return slots if all(slot.id < self.server.n_slots for slot in slots) else None

    async def unless_busy(self, slot: int | None) -> int | None:
        """
        Return *slot*, None where another client's request may be in it.

        llama.cpp keeps a request that names a busy slot at the head of its queue, and lets no other
        pass although another slot is idle.
        """
        if slot is None or self.mirror.exclusive:
            return slot
        slots = await self.look() or []
        return slot if any(it.id == slot and not it.is_processing for it in slots) else None

    async def speculates(self) -> bool | None:
        """
        Return whether the server drafts tokens; None where it does not show its slots, which alone
        can tell.

        It starts, and says nothing, with a draft model of another vocabulary.
        """
        try:
            slots = await self.look()
        except BackendError:
            return None
        return None if slots is None else any(slot.speculative for slot in slots)

    async def tokens_by_slot(self, *, idle: bool = False) -> dict[int, int] | None:
        """
        Return how much each slot holds, something if it is busy, or of the *idle* ones only; None
        where the server does not say.
        """
        if (slots := await self.look()) is None:
            return None
        shown = (slot for slot in slots if not (idle and slot.is_processing))
        return {slot.id: slot.n_prompt_tokens or int(slot.is_processing) for slot in shown}

    async def act(self, slot: int, action: str, file: str = "") -> answers.SaveAnswer:
        """Save, restore or erase a slot; an empty answer where the server cannot or will not."""
        body = json.dumps({"filename": file} if file else {})
        try:
            return await self.link.post(answers.SaveAnswer, f"/slots/{slot}?action={action}", body)
        except WITHOUT as error:
            log.info("slot %d: no %s: %s", slot, action, error)
            return answers.SaveAnswer()


def body(whole: Ids, fields: Object) -> str:
    """Return a prompt and fields as JSON. The ids are text already, and go around json.dumps."""
    return f'{{"prompt":[{whole.listed}],{json.dumps(fields)[1:]}'

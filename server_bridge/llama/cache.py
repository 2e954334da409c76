"""
Token ids into a llama.cpp server's slots: evaluated where least is to be evaluated, and kept.

`Cache` keeps the books of one server (mirror, slots, speed, doubts) over every request, and saves
and restores what slots hold. It knows tokens only; `llama` makes prompts of them.
"""

from __future__ import annotations

import asyncio
import json
import logging
from array import array
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from server_bridge import beyond, completion, saved
from server_bridge.answers import NotJson, Object
from server_bridge.encoding import WIDTH, Ids, head, ids
from server_bridge.mirror import Mirror, Outlook, Reckoning, n_tokens, shared
from server_bridge.protocol import BackendRejected, BackendUnusable, Sink, State
from server_bridge.slots import COPY, Kind, Slots
from server_bridge.tokenizer import SMOOTHING

TAIL = 8  # so few tokens cost no more than the request that would evaluate them ahead
ENOUGH_TOKENS = 32  # shorter prefills measure the request, not the speed
# One token is sampled all the same: n_predict 0 only keeps it from being evaluated.
PREFILL = {"n_predict": 0, **completion.GREEDY}
NEXT = {**PREFILL, "n_probs": saved.N_NEXT}

log = logging.getLogger(__name__)


class Server(NamedTuple):
    """
    What a cache needs of its server.

    *model* is the path of its model, *facts* all else that makes a saved state its own; *foreign* is
    a token no prompt begins with. *alone*: nobody else uses it, and its slots do not share one cache.
    *send* posts JSON, *get* gets it, *stream* posts and gets events; all raise `BackendError`.
    *n_ctx* are the tokens of one slot.
    """

    url: str
    model: str
    facts: dict[str, object]
    n_slots: int
    foreign: int
    alone: bool
    send: Callable[[str, str], Awaitable[Object]]
    get: Callable[[str], Awaitable[Object]]
    stream: Callable[[str, bytes], AsyncGenerator[Object, None]]
    n_ctx: int


class Evaluated(NamedTuple):
    """What the server answered, and what we had expected."""

    answer: Object
    outlook: Outlook | None


class Cache:
    """The slots of one server. Without *shelf*, a folder of our own, nothing is saved."""

    def __init__(self, server: Server, state: State, shelf: Path | None) -> None:
        self.prefill_per_s = state.prefill_per_s  # running means
        self.decode_ms = state.decode_ms
        self._server = server
        self._shelf = shelf
        self._mirror = Mirror(server.n_slots, alone=server.alone)
        self._slots = Slots(self._mirror, server.n_slots, alone=server.alone)
        self._reckoning = Reckoning()

    @property
    def doubt(self) -> str:
        """Why the server evaluates more than it should, "" while it does not."""
        return self._reckoning.cause

    def reusable(self, document: str, whole: Ids) -> int:
        """How many tokens of a prompt need not be evaluated."""
        return self._slots.reusable(document, whole.packed)

    async def evaluate(self, document: str, whole: Ids, options: Object) -> Evaluated:
        """Evaluate a prompt in the slot that serves it best, and decode."""
        return await self._run(document, whole, options, await self._place(document, whole))

    async def warm(self, document: str, whole: Ids, step: int) -> tuple[int, int]:
        """Evaluate at most *step* tokens that are not held yet; returns how many, and what is left."""
        if whole.n - self._slots.reusable(document, whole.packed, ahead=True) <= TAIL:
            return 0, 0
        slot = await self._place(document, whole, ahead=True)
        part = self._next_part(whole, step, slot)
        answer, _ = await self._run(document, part, PREFILL, slot)
        left = whole.n - part.n
        return answer["timings"]["prompt_n"], left if left > TAIL else 0

    async def run_on(
        self, document: str, whole: Ids, n_predict: int, sink: Sink
    ) -> AsyncGenerator[str, None]:
        """The text after a prompt, past the context if need be; see `Endless`."""
        slot = await self._place(document, whole)
        asked = {**beyond.options(n_predict, sink), "id_slot": -1 if slot is None else slot}
        prompt, made, served = [*array("i", whole.packed)], list[int](), None
        events = self._server.stream(
            "/completion", json.dumps({"prompt": prompt, **asked}).encode()
        )
        try:
            async with aclosing(events):
                async for event in events:
                    served = event.get("id_slot", served)
                    made += event.get("tokens", ())
                    if event.get("content"):
                        yield event["content"]
                    if event.get("stop"):
                        beyond.check_end(event, self._server.n_ctx, self._server.url)
        finally:
            if served is None:
                self._mirror.forget()
            else:
                left = ids(beyond.held(prompt, made, self._server.n_ctx, sink)).packed
                self._mirror.settle(served, whole.packed, left, named=slot is not None)

    # -- over a restart --------------------------------------------------------------------------

    async def save(self, document: str, whole: Ids) -> int:
        """Have the server write down a prompt that is evaluated; returns its tokens, 0 if it cannot."""
        if self._shelf is None or whole.n - self.reusable(document, whole) > COPY:
            return 0
        answer, _ = await self.evaluate(document, whole, NEXT)
        slot, identity = answer["id_slot"], await self._identity()
        file = await asyncio.to_thread(saved.file_for, self._shelf, identity, document)
        done = await self._act(slot, "save", file)
        state = saved.Saved(
            identity, document, file, whole.packed, completion.next_tokens(answer),
            int(done.get("n_written", 0)),
        )  # fmt: skip
        if done.get("n_saved") != whole.n:  # it cannot save, or somebody took the slot just now
            return 0
        await asyncio.to_thread(saved.put, self._shelf, state)
        return whole.n

    async def restore(self, document: str, whole: Ids) -> int:
        """Load the saved state that serves a prompt best; returns how many tokens that spares."""
        slot = await self._vacant(document)
        if self._shelf is None or slot is None:
            return 0
        identity = await self._identity()
        state = await asyncio.to_thread(saved.best, self._shelf, identity, whole.packed)
        if state is None:
            return 0
        spared = shared(state.held, whole.packed) - self.reusable(document, whole)
        if spared <= COPY:
            return 0
        done = await self._act(slot, "restore", state.file)
        if done.get("n_restored") == n_tokens(state.held) and await self._is_true(
            document, state, slot
        ):
            await asyncio.to_thread(saved.touch, self._shelf, state)
            return spared
        log.warning("a state saved for %s does not belong to it any more", self._server.url)
        await asyncio.to_thread(saved.drop, self._shelf, state)
        if done:
            await self._act(slot, "erase")
        self._mirror.restored(slot, b"")
        return 0

    async def _is_true(self, document: str, state: saved.Saved, slot: int) -> bool:
        """Whether *slot* holds what was saved, and the model says of it what it said then."""
        self._mirror.restored(slot, state.held)
        whole = ids(array("i", state.held))
        answer, _ = await self._run(document, whole, NEXT, slot)
        whole_again = answer["timings"]["cache_n"] == n_tokens(state.held) - 1
        return whole_again and saved.agrees(state.next, completion.next_tokens(answer))

    async def _vacant(self, document: str) -> int | None:
        """An empty slot for *document*."""
        if self._slots.is_looking(document):
            self._slots.see(document, await self._tokens_by_slot())
        slot = self._slots.home(document)
        return None if slot in self._mirror.held else slot

    async def _act(self, slot: int, action: str, file: str = "") -> Object:
        """Save, restore or erase a slot; an empty answer where the server cannot or will not."""
        body = json.dumps({"filename": file} if file else {})
        try:
            return await self._server.send(f"/slots/{slot}?action={action}", body)
        except (BackendRejected, BackendUnusable) as error:
            log.info("slot %d: no %s: %s", slot, action, error)
            return {}

    async def _identity(self) -> str:
        try:
            loras = (await self._server.get("/lora-adapters"))["list"]
        except (BackendRejected, BackendUnusable, NotJson, KeyError):
            loras = None
        facts = {**self._server.facts, "lora": loras}
        return await asyncio.to_thread(saved.identity, facts, self._server.model)

    # -- slots -----------------------------------------------------------------------------------

    async def _place(self, document: str, whole: Ids, *, ahead: bool = False) -> int | None:
        """The slot to name for *whole*, filled or cleared where that is worth it; None to name none."""
        slots = self._slots
        await self.restore(document, whole)
        slot, clear = slots.choose(document, whole.packed, ahead=ahead)
        if not clear:
            return slot
        before = await self._tokens_by_slot() if slots.kind is Kind.UNKNOWN else None
        answer, _ = await self._run("", ids([self._server.foreign]), PREFILL, slot)
        if before is not None:
            slots.learn(before, await self._tokens_by_slot() or {}, answer["id_slot"])
        return slots.choose(document, whole.packed, ahead=ahead).slot

    def _next_part(self, whole: Ids, step: int, slot: int | None) -> Ids:
        """The beginning of *whole* of which *step* tokens are not held yet; all of it if fewer are not."""
        known = self._mirror.expected(whole.packed, slot)
        while True:
            part = head(whole, known + step)
            # A slot may hold too little of the whole to be chosen for it, yet all of a part.
            known = self._mirror.expected(part.packed, slot)
            if part.n - known > TAIL or part.n == whole.n:
                return part

    async def _tokens_by_slot(self) -> dict[int, int] | None:
        """How much each slot holds, something if it is busy; None where the server does not say."""
        try:
            slots = (await self._server.get("/slots"))["list"]
            return {
                int(slot["id"]): int(slot.get("n_prompt_tokens") or slot.get("is_processing") or 0)
                for slot in slots
            }
        except (BackendRejected, BackendUnusable, NotJson, KeyError, TypeError, ValueError):
            return None

    async def _run(self, document: str, whole: Ids, options: Object, slot: int | None) -> Evaluated:
        """Evaluate *whole* in *slot*, decode, and keep the books."""
        outlook = self._mirror.outlook(whole.packed, slot)
        options = {**options, **completion.ALWAYS, "id_slot": -1 if slot is None else slot}
        try:
            # The ids are text already, so they go around json.dumps.
            body = f'{{"prompt":[{whole.listed}],{json.dumps(options)[1:]}'
            answer = await self._server.send("/completion", body)
        except BaseException:
            self._mirror.forget()
            raise
        made, n_held = ids(answer["tokens"]), answer["tokens_cached"]
        held = (whole.packed + made.packed)[: n_held * WIDTH]
        self._mirror.settle(answer["id_slot"], whole.packed, held, named=slot is not None)
        if document and (slot is not None or outlook is None or outlook.reused <= COPY):
            self._slots.used(document, answer["id_slot"])
        self._note(answer, outlook)
        return Evaluated(answer, outlook)

    def _note(self, answer: Object, outlook: Outlook | None) -> None:
        """Learn from what a request cost, beside what we had expected."""
        timings = answer["timings"]
        n, ms, reused = timings["prompt_n"], timings["prompt_ms"], timings["cache_n"]
        log.debug(
            "slot %d: %d tokens evaluated in %.0f ms, %d reused", answer["id_slot"], n, ms, reused
        )
        if n >= ENOUGH_TOKENS and ms > 0:
            self.prefill_per_s += SMOOTHING * (1000 * n / ms - self.prefill_per_s)
        if (more := timings["predicted_n"] - 1) > 0:  # the first token comes of the prompt
            self.decode_ms += SMOOTHING * (timings["predicted_ms"] / more - self.decode_ms)
        if outlook is not None and outlook.loaded:
            self._mirror.loaded(outlook.reused, reused)
        before = self.doubt
        self._reckoning.compare(outlook, reused)
        if self.doubt and not before:
            log.warning("%s evaluates more than it should: %s", self._server.url, self.doubt)

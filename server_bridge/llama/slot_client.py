"""
Requests to the slots of one llama.cpp server, and their bookkeeping.

`run` evaluates a prompt in a slot and decodes; then the mirror knows what the slot holds, and the
speeds and the check of the cache what it cost. Besides, slots are looked at, saved, restored and
erased, where the server can. `cache.decode` is for requests that are answered piece by piece.
"""

from __future__ import annotations

import json
import logging
import re
from collections import deque
from functools import partial
from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, Ids, ids
from server_bridge.http.responses import Object, answer_error
from server_bridge.llama import answers, completion
from server_bridge.llama.answers import SlotCost
from server_bridge.llama.checkpoints import CLOSE_STEP, Kind, ModelMemory
from server_bridge.llama.link import WITHOUT, Identity, Link
from server_bridge.llama.mirror import Mirror, Outlook
from server_bridge.llama.slots import COPY, ExclusiveSlots, SharedSlots, Slots
from server_bridge.speeds import Speeds

RECENT = 50  # requests that a judgement is founded on: a minute of typing
FIXED = 10864  # llama.cpp's #28302, September 2026; #24110 came three months before
FUSSY = (Kind.RECURRENT, Kind.SLIDING)
ODD = 0.05  # more wrong predictions than this are no accident


class CacheCheck:
    """
    The last `RECENT` predictions for a memory of one kind; `problem` is what to tell the user, ""
    while there is none.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._kind = Kind.UNKNOWN
        self._recent: deque[_Outcome] = deque(maxlen=RECENT)

    def compare(self, outlook: Outlook | None, n_reused: int, mirror: Mirror) -> None:
        """Compare a prediction, *outlook* of *mirror*, with what was reused."""
        if mirror.memory.kind is not self._kind:
            self._kind, self.problem = mirror.memory.kind, ""
            self._recent.clear()
        if outlook is None or not outlook.sure:
            return
        self._recent.append(_Outcome(outlook, n_reused))
        short = [outcome for outcome in self._recent if outcome.n_reused < outcome.outlook.reused]
        if len(short) > ODD * RECENT:
            self.problem = _likely(short, list(self._recent), mirror)
        elif not short:
            self.problem = ""


class _Outcome(NamedTuple):
    outlook: Outlook
    n_reused: int


def unfit(build: str, memory: ModelMemory) -> str:
    """
    Return what is wrong with a server's *build* (`build_info`) or flags for such a *memory*; "" for
    nothing.
    """
    number = re.match(r"b(\d{3,6})\b", build)
    if memory.kind in FUSSY and number and int(number[1]) < FIXED:
        return (
            f"llama.cpp b{number[1]} loses the states of a {memory.kind.value} model that are gone back to, and "
            f"builds before June 2026 end when they are sent the same prompt twice: update to b{FIXED} or newer"
        )
    # With --swa-full a sliding window does not show.
    return WHERE_CUT[Kind.SLIDING] if memory.kind is Kind.SLIDING else ""


def _likely(short: list[_Outcome], recent: list[_Outcome], mirror: Mirror) -> str:
    """Return the likeliest reason for the outcomes in *short*, and what to change."""
    if not any(outcome.n_reused for outcome in recent):
        return (
            "the server keeps nothing between requests: its prompt cache is off, or requests go to "
            "several servers in turn"
        )
    if all(outcome.outlook.loaded for outcome in short):
        return (
            "the server does not keep prompts in its memory, or not enough of them: start it with a "
            "larger --cache-ram, or with one slot per file in use (-np)"
        )
    if all(outcome.outlook.cut for outcome in short) and mirror.memory.kind in WHERE_CUT:
        return WHERE_CUT[mirror.memory.kind]
    if mirror.exclusive:
        return "the engine keeps less of its prompts than it should: please report this, with the model"
    return (
        "another client uses the same slots of the server: give it more of them (-np), or a context "
        "large enough for all (-c)"
    )


RECURRENT = (
    f"start it with --ctx-checkpoints 32 --checkpoint-min-step {CLOSE_STEP}, as fim-lsp serve does"
)
WHERE_CUT = {
    Kind.UNKNOWN: "the server evaluates much again when the end of a prompt changes, as with a model that has a "
    f"sliding window (start it with --swa-full) or a recurrent one ({RECURRENT})",
    Kind.SLIDING: "the model has a sliding window, and much is evaluated again when the end of a prompt changes: "
    "start the server with --swa-full, as fim-lsp serve does",
    Kind.RECURRENT: "the model is recurrent or hybrid, so its state cannot be cut, and the server keeps too few copies "
    f"of it to go back to: {RECURRENT}",
}


COPIED_PER_S = 350 << 20  # bytes of states; measured with 31 checkpoints of 55 MiB
ENOUGH_MS = 100.0  # of a prompt: a shorter one may measure the request, not the speed


log = logging.getLogger(__name__)


class Evaluated(NamedTuple):
    """The answer of the server, and the prediction."""

    answer: answers.Completion
    outlook: Outlook | None


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
        policy = ExclusiveSlots if exclusive else SharedSlots
        self.slots: Slots = policy(self.mirror, server.n_slots, self._price_clearing)
        self.speeds = speeds
        self.check = CacheCheck()
        self.drafters = ""  # the kinds of speculation it was started with, as its answers tell

    async def run(self, document: str, whole: Ids, options: Object, slot: int | None) -> Evaluated:
        """Evaluate *whole* of *document* ("" for none) in *slot*, and decode."""
        moves = completion.MOVING.keys() <= options.keys()
        outlook = self.mirror.outlook(whole.packed, slot, moves=moves)
        try:
            fields = {**options, **completion.ALWAYS, **place(slot)}
            answer = await self.link.complete(fields, partial(body, whole))
            self.check_slot(answer.id_slot)
        except BaseException:
            self.mirror.forget()
            raise
        held = (whole.packed + ids(answer.tokens).packed)[: answer.tokens_cached * WIDTH]
        named, n_reused = slot is not None, answer.timings.cache_n
        self.mirror.settle(answer.id_slot, whole.packed, held, named=named, n_reused=n_reused)
        self.note_slot(document, slot, answer.id_slot, outlook)
        self.learn(answer.timings, outlook)
        self.drafters = completion.drafters(answer.drafters)
        return Evaluated(answer, outlook)

    def note_slot(
        self, document: str, named: int | None, served: int, outlook: Outlook | None
    ) -> None:
        """
        Note that a prompt of *document* ("" for none) that *named* a slot, or none, went to the
        slot *served*.
        """
        if document and (named is not None or outlook is None or outlook.reused <= COPY):
            self.slots.note_use(document, served)

    def learn(self, cost: SlotCost, outlook: Outlook | None) -> None:
        """Learn from what a request cost, beside what we had expected."""
        ms = completion.milliseconds(cost.prompt_ms)
        log.debug("%d tokens evaluated in %.0f ms, %d reused", cost.prompt_n, ms, cost.cache_n)
        self.speeds.learn_prefill(cost.prompt_n, ms, ENOUGH_MS)
        self.speeds.learn_decoding(cost.predicted_n, completion.milliseconds(cost.predicted_ms))
        if outlook is not None and outlook.loaded:
            self.mirror.note_load(outlook.reused, cost.cache_n)
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

    async def tokens_by_slot(self) -> dict[int, int] | None:
        """
        Return how much each slot holds, something if it is busy; None where the server does not
        say.
        """
        if (slots := await self.look()) is None:
            return None
        return {slot.id: slot.n_prompt_tokens or int(slot.is_processing) for slot in slots}

    async def act(self, slot: int, action: str, file: str = "") -> answers.SaveAnswer:
        """Save, restore or erase a slot; an empty answer where the server cannot or will not."""
        body = json.dumps({"filename": file} if file else {})
        try:
            return await self.link.post(answers.SaveAnswer, f"/slots/{slot}?action={action}", body)
        except WITHOUT as error:
            log.info("slot %d: no %s: %s", slot, action, error)
            return answers.SaveAnswer()

    def check_slot(self, slot: int) -> None:
        """Raise UnexpectedAnswer where the server names a *slot* that it does not have."""
        if slot >= self.server.n_slots:
            raise answer_error(f"{self.link.url}/completion", "a slot that it does not have")


def place(slot: int | None) -> Object:
    """Return the field that names the *slot*."""
    return {"id_slot": -1 if slot is None else slot}


def body(whole: Ids, fields: Object) -> str:
    """
    Return a prompt and fields as JSON. The ids are text already, so they go around json.dumps.
    """
    return f'{{"prompt":[{whole.listed}],{json.dumps(fields)[1:]}'

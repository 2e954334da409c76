"""
What is known of the cache of one llama.cpp server, and what each request teaches of it. Pure but for the log.

The mirror knows what the slots hold, the policy which document was served where; besides, the speeds of the server,
and whether it reuses what it should.
"""

from __future__ import annotations

import logging

from server_bridge import running_mean
from server_bridge.llama import completion
from server_bridge.llama.answers import Cost
from server_bridge.llama.cache_check import CacheCheck
from server_bridge.llama.checkpoints import Memory
from server_bridge.llama.exclusive_slots import ExclusiveSlots
from server_bridge.llama.mirror import Mirror, Outlook
from server_bridge.llama.props import Identity
from server_bridge.llama.shared_slots import SharedSlots
from server_bridge.llama.slots import COPY, Slots
from server_bridge.protocol import State

COPIED_PER_S = 350 << 20  # bytes of states; measured with 31 checkpoints of 55 MiB
# What is shorter in both measures the request, not the speed.
ENOUGH_TOKENS = 32
ENOUGH_MS = 100.0

log = logging.getLogger(__name__)


class CacheState:
    """See the module. *exclusive*: no other client uses the server, and its slots do not share one cache."""

    def __init__(self, server: Identity, state: State, memory: Memory, *, exclusive: bool) -> None:
        self.mirror = Mirror(server.n_slots, exclusive=exclusive, memory=memory)
        policy = ExclusiveSlots if exclusive else SharedSlots
        self.slots: Slots = policy(self.mirror, server.n_slots, self._copied)
        self.prefill_per_s = running_mean.prefill_per_s(state.prefill_per_s)
        self.decode_ms = running_mean.decode_ms(state.decode_ms)
        self.check = CacheCheck()
        self.drafters = ""  # the kinds of speculation it was started with, as its answers tell

    def served(self, document: str, asked: int | None, slot: int, outlook: Outlook | None) -> None:
        """A prompt of *document* ("" for none) that *asked* for a slot, or for none, went to *slot*."""
        if document and (asked is not None or outlook is None or outlook.reused <= COPY):
            self.slots.used(document, slot)

    def evaluated(self, cost: Cost, outlook: Outlook | None) -> None:
        """Learn from what a prompt cost, beside what we had expected."""
        prompt_ms = completion.milliseconds(cost.prompt_ms)
        log.debug(
            "%d tokens evaluated in %.0f ms, %d reused", cost.prompt_n, prompt_ms, cost.cache_n
        )
        if prompt_ms and (cost.prompt_n >= ENOUGH_TOKENS or prompt_ms >= ENOUGH_MS):
            self.prefill_per_s.add(1000 * cost.prompt_n / prompt_ms)
        if outlook is not None and outlook.loaded:
            self.mirror.loaded(outlook.reused, cost.cache_n)
        before = self.check.problem
        self.check.compare(outlook, cost.cache_n, self.mirror)
        if self.check.problem and not before:
            log.warning("the server evaluates more than it should: %s", self.check.problem)

    def decoded(self, cost: Cost) -> None:
        """Learn how fast tokens came."""
        if cost.predicted_n > 1:  # the first token comes of the prompt
            ms = completion.milliseconds(cost.predicted_ms)
            self.decode_ms.add(ms / (cost.predicted_n - 1))

    def _copied(self) -> int:
        """What clearing a slot costs: so many tokens could be evaluated meanwhile."""
        seconds = self.mirror.state_bytes / COPIED_PER_S
        return COPY + round(seconds * self.prefill_per_s.value)

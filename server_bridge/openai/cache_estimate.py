"""
The part of our prompts that an OpenAI-style server holds, as far as its answers tell. Pure.

Such servers keep beginnings of what they were sent, and say with each answer how many tokens that
was. So it is remembered what was sent, and learned how long tokens are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from server_bridge.fim.tokens import n_common
from server_bridge.speeds import Speeds

N_TEXTS = 8  # prompts a server should keep; mlx_lm.server keeps ten by default, others more
N_WHOLES = 256  # answers, with their prompts; the server forgets them sooner

LARGEST_BLOCK = 256  # tokens; vLLM's on CPUs has 128
ENOUGH_HELD = 256  # tokens; a server that reuses nothing of so many does not reuse at all


class CacheEstimate:
    """The texts sent last, newest first, and what the answers to them taught."""

    def __init__(self, speeds: Speeds) -> None:
        self.speeds = speeds
        self.keeps = True  # whether the server reuses anything
        self._block = 0  # tokens; what all counts of reused ones were multiples of
        self._texts: deque[str] = deque(maxlen=N_TEXTS)
        self._wholes: deque[int] = deque(maxlen=N_WHOLES)  # their hashes

    def tokens(self, n_chars: int) -> int:
        """Return how many tokens so many characters probably are."""
        return round(n_chars / self.speeds.chars_per_token.value)

    def count_held(self, text: str) -> int:
        """Return how many characters of *text* the server should hold."""
        return max((n_common(text, sent) for sent in self._texts), default=0)

    def count_reused(self, n_held: int) -> int:
        """
        Return how many of so many tokens that it holds the server probably reuses: vLLM keeps whole
        blocks.
        """
        return n_held - n_held % self._block if 0 < self._block <= LARGEST_BLOCK else n_held

    def learn(self, text: str, n_tokens: int, n_cached: int | None) -> None:
        """
        Learn that *text* was *n_tokens* long, and that *n_cached* of these were reused, None if it
        is not known.
        """
        if n_cached or (n_cached == 0 and self.tokens(self.count_held(text)) >= ENOUGH_HELD):
            self.keeps = n_cached > 0
        self._block = math.gcd(self._block, n_cached or 0)
        self.speeds.learn_text(len(text), n_tokens)
        for sent in [sent for sent in self._texts if text.startswith(sent)]:
            self._texts.remove(sent)
        self._texts.appendleft(text)

    def note_whole(self, text: str, stops: Iterable[str]) -> None:
        """
        Note that the server may hold *text*, a prompt and its answer, and with it what made it
        stop.
        """
        self._wholes.extend(hash(text + stop) for stop in ("", *stops))

    def is_whole(self, text: str) -> bool:
        """Return whether *text* may be exactly what the server holds of an answer."""
        return hash(text) in self._wholes

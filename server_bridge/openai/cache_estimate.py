"""
An estimate of the text that a server still holds, and of the length of texts in tokens.

For backends that deal in text: they keep beginnings of what they were sent, and say with each answer
how many tokens that was. So we remember what was sent and learn how long tokens are. Pure.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable

from server_bridge import running_mean
from server_bridge.fim.layout import common_prefix

N_TEXTS = 8  # prompts a server should keep; mlx_lm.server keeps ten by default, others more
N_WHOLES = 256  # answers, with their prompts; the server forgets them sooner
ENOUGH_CHARS = 200  # shorter texts say little about characters per token
LARGEST_BLOCK = 256  # tokens; vLLM's on CPUs has 128
ENOUGH_TOKENS = 256  # a server that reuses nothing of so many does not reuse at all


class CacheEstimate:
    """The texts sent last, newest first, and what the answers to them taught."""

    def __init__(self, chars_per_token: float) -> None:
        self._density = running_mean.chars_per_token(chars_per_token)
        self.keeps = True  # whether the server reuses anything
        self._block = 0  # tokens; what all counts of reused ones were multiples of
        self._texts: deque[str] = deque(maxlen=N_TEXTS)
        self._wholes: deque[int] = deque(maxlen=N_WHOLES)  # their hashes

    @property
    def chars_per_token(self) -> float:
        """A running mean over the texts that were sent."""
        return self._density.value

    def tokens(self, n_chars: int) -> int:
        """Return how many tokens so many characters probably are."""
        return round(n_chars / self.chars_per_token)

    def count_held(self, text: str) -> int:
        """Return how many characters of *text* the server should hold."""
        return max((common_prefix(text, sent) for sent in self._texts), default=0)

    def count_reused(self, n_held: int) -> int:
        """Return how many of so many tokens that it holds the server probably reuses: vLLM keeps whole blocks."""
        return n_held - n_held % self._block if 0 < self._block <= LARGEST_BLOCK else n_held

    def learn(self, text: str, n_tokens: int, n_cached: int | None) -> None:
        """Learn that *text* was *n_tokens* long, and that *n_cached* of these were reused, None if it is not known."""
        if n_cached or (n_cached == 0 and self.tokens(self.count_held(text)) >= ENOUGH_TOKENS):
            self.keeps = n_cached > 0
        self._block = math.gcd(self._block, n_cached or 0)
        if len(text) >= ENOUGH_CHARS and n_tokens:
            self._density.add(len(text) / n_tokens)
        for known in [known for known in self._texts if text.startswith(known)]:
            self._texts.remove(known)
        self._texts.appendleft(text)

    def wholes(self, text: str, stops: Iterable[str]) -> None:
        """Note that the server may hold *text*, a prompt and its answer, and with it what made it stop."""
        self._wholes.extend(hash(text + stop) for stop in ("", *stops))

    def is_whole(self, text: str) -> bool:
        """Return whether *text* may be exactly what the server holds of an answer."""
        return hash(text) in self._wholes


def last_word(text: str) -> str:
    """Return the last word, sign or space of *text*, with the space before a word: about a token."""
    found = re.match(r"\w+\s?|[^\w\s]|\s", text[::-1])  # from the end: linear
    return found[0][::-1] if found else ""


def cut(text: str, low: int, high: int) -> str:
    """
    Return a beginning of *text* with more than *low* and at most *high* characters, whole lines if it can be.

    Such a beginning is split into the same tokens as the whole, up to there; but for blank lines.
    """
    end = text.rfind("\n", low, high) + 1
    return text[: end if end > low else high]

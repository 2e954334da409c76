"""
The policy of llama.vim (a1c8e6e, 2026-01-31), implemented from its documented behaviour.

Chunks are random cuts around the cursor at buffer changes and saves, and from far above and below
it at jumps; one queued chunk enters the ring per step, the oldest leaves; before every request the
chunks too similar to a random piece around the cursor are dropped. The ring update is favoured:
the original admits one chunk a second and only in normal mode or after three quiet seconds.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence

_CHUNK_LINES = 64
_SCOPE = 1024
_QUEUE = 16
_PREFIX = 256
_SUFFIX = 64
_JUMP = 32
_WORDS = re.compile(r"[^A-Za-z0-9_]+")

Piece = tuple[str, str]  # path, text


class LlamaVim:
    """The ring of llama.vim with *n_chunks* places; *seed* draws its cuts."""

    def __init__(self, n_chunks: int = 16, seed: int = 0) -> None:
        self._rng = random.Random(seed)
        self._n_chunks = n_chunks
        self._queued: list[Piece] = []
        self.ring: list[Piece] = []
        self._picked_at: int = -1000

    def around(self, path: str, lines: Sequence[str], at: int) -> None:
        """BufEnter, BufLeave, BufWritePost: the lines around the cursor."""
        self._pick(path, lines[max(0, at - 32) : at + 33], evict=True)

    def request(self, path: str, lines: Sequence[str], at: int) -> list[Piece]:
        """Return a completion at line *at*: what the extra context is."""
        self._drop_similar(lines[max(0, at - 32) : at + 33])
        if abs(at - self._picked_at) > _JUMP:
            self._pick(path, lines[max(0, at - _SCOPE) : max(1, at - _PREFIX)], evict=False)
            self._pick(path, lines[at + _SUFFIX : at + _SUFFIX + _CHUNK_LINES], evict=False)
            self._picked_at = at
        shown = list(self.ring)
        self._update()
        return shown

    def idle(self) -> None:
        """Time enough for every queued chunk to enter."""
        while self._queued:
            self._update()

    def _update(self) -> None:
        if self._queued:
            self.ring = [*self.ring, self._queued.pop(0)][-self._n_chunks :]

    def _pick(self, path: str, lines: Sequence[str], *, evict: bool) -> None:
        if len(lines) < 3:
            return
        cut = self._cut(lines)
        text = "".join(cut)
        if any(text == other for _, other in self._queued + self.ring):
            return
        for chunks in (self._queued, self.ring):
            similar = [c for c in chunks if _similarity(c[1], text) > 0.9]
            if similar and not evict:
                return
            for chunk in similar:
                chunks.remove(chunk)
        self._queued = [*self._queued, (path, text)][-_QUEUE:]

    def _cut(self, lines: Sequence[str]) -> Sequence[str]:
        if len(lines) + 1 < _CHUNK_LINES:
            return lines
        half = _CHUNK_LINES // 2
        first = self._rng.randint(0, max(0, len(lines) - half))
        return lines[first : first + half + 1]

    def _drop_similar(self, around: Sequence[str]) -> None:
        text = "".join(self._cut(around))
        self.ring = [c for c in self.ring if _similarity(c[1], text) <= 0.5]


def _similarity(a: str, b: str) -> float:
    """As the original counts: not symmetric, not bounded by one."""
    words_a, words_b = _words(a), _words(b)
    if not words_a and not words_b:
        return 1.0
    first_words = set(words_a)
    return 2 * sum(w in first_words for w in words_b) / (len(words_a) + len(words_b))


@functools.lru_cache(maxsize=1024)
def _words(text: str) -> list[str]:
    return [word for word in _WORDS.split(text) if word]

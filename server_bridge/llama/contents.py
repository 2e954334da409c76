"""
The contents of a llama.cpp server's slots, and what it sets aside of them in the host's memory.
Pure.

These are the rules of llama.cpp's `server_prompt_cache` (tools/server/server-task.cpp): a prompt
that is the beginning of one that is saved is not saved again, one that is continued by it goes, and
so do the oldest until it fits into `--cache-ram`; a prompt that does not fit alone is not saved.
All that comes before a saved prompt is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, count_shared
from server_bridge.llama.checkpoints import Checkpoints, Compared, ModelMemory

SIMILAR = 0.10  # llama.cpp's --slot-prompt-similarity
KEEP = 0.5  # a slot that keeps less of its content saves it first
CELL_BYTES = 12  # of a token that is saved, beside its keys and values: where it stands
N_SAVED = 300  # prompts we remember as saved where the server's limit, in bytes, is not known


class Content(NamedTuple):
    """
    The contents of a slot, now or earlier: tokens, and where its state can be gone back to.
    *n_behind* more follow that are not known, as those of a character that came as one; 1 where
    their number is not known either. Of fewer than *least* tokens nothing can be reused: it was
    loaded, with the last window only.
    """

    tokens: bytes = b""
    points: Checkpoints = ()
    n_behind: int = 0
    least: int = 0

    @property
    def n(self) -> int:
        """Return how many tokens there are."""
        return len(self.tokens) // WIDTH + self.n_behind

    def compare(self, prompt: bytes) -> Compared:
        """Compare *prompt* with this."""
        return Compared(count_shared(self.tokens, prompt), self.n, n_tokens(prompt))

    def contains(self, other: Content) -> bool:
        """Return whether *other* is this or a beginning of it; not if its end is not known."""
        is_same = (other.tokens, other.n_behind) == (self.tokens, self.n_behind)
        return is_same or (not other.n_behind and self.tokens.startswith(other.tokens))

    def may_go_on(self, compared: Compared) -> bool:
        """
        Return whether what it was compared with goes on behind an open end, so that it is not known
        what must go.
        """
        return self.n_behind > 0 and compared.n_shared == self.n - self.n_behind


NOTHING = Content()


def is_set_aside(content: Content, prompt: bytes) -> bool:
    """
    Return whether a slot with *content* saves it and looks for better before it takes *prompt*.
    """
    n, kept = scores(content, prompt)
    return kept < KEEP or n <= SIMILAR * n_tokens(prompt)


def scores(content: Content, prompt: bytes) -> tuple[int, float]:
    """
    Return how many tokens *prompt* shares with *content*, and which part of *content* that is.
    """
    n = count_shared(content.tokens, prompt)
    return n, n / content.n if content.n else -1.0


def copy(memory: ModelMemory, content: Content) -> Content:
    """Return what a copy of *content* has, in memory or in a file: of a window the end."""
    return content._replace(least=max(0, content.n - memory.window) if memory.window else 0)


def save(memory: ModelMemory, saved: Sequence[Content], content: Content) -> list[Content]:
    """Return what is *saved*, oldest first, once *content* is, too, and has room."""
    if not content.tokens or any(other.contains(content) for other in saved):
        return [*saved]
    kept = [other for other in saved if not content.contains(other)]
    return _drop_oldest(memory, [*kept, copy(memory, content)]) or [*saved]


def _drop_oldest(memory: ModelMemory, saved: list[Content]) -> list[Content]:
    """Return the latest of what is *saved* that have room."""
    room = memory.aside_bytes
    if room is None or not memory.token_bytes:
        return saved[-N_SAVED:]
    sizes = [_count_bytes(memory, content) for content in saved]
    taken = sum(sizes)
    n_dropped = 0
    while taken > room:
        taken -= sizes[n_dropped]
        n_dropped += 1
    return saved[n_dropped:]


def _count_bytes(memory: ModelMemory, content: Content) -> int:
    """Return the bytes of *content* in the host's memory: keys, values and states."""
    n_states = 1 + len(content.points)
    return content.n * (memory.token_bytes + CELL_BYTES) + n_states * memory.state_bytes


def n_tokens(packed: bytes) -> int:
    """Return how many ids a packed sequence has."""
    return len(packed) // WIDTH

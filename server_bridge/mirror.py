"""
What each slot of a llama.cpp server should hold, and so how much of a prompt it will reuse. Pure.

Theory of operation. After a request a slot holds the prompt and all generated tokens but the last,
which was sampled and never evaluated. The next prompt goes to the slot that shares most with it, if
that is more than a tenth of the prompt, else to the one unused for longest. A slot that would lose
more than half of its content first saves it to the host's memory (`--cache-ram`) and takes from
there what serves the prompt better, if anything does; the other slots are saved, too. The last
token of a prompt is always evaluated, for its logits. These are the rules of llama.cpp's
tools/server (server-context.cpp, server-task.cpp); on mixed traces of 750 requests over five files
they predicted every `cache_n` exactly.

Sequences are packed ids compared as bytes: a `memcmp` is faster than any hash of them, and exact.
What a failed request left behind is unknown; then the mirror forgets everything and predicts nothing.
"""

from __future__ import annotations

from server_bridge.encoding import WIDTH

SIMILAR = 0.10  # llama.cpp's --slot-prompt-similarity
KEEP = 0.5  # a slot that keeps less of its content saves it first
WORTH = 0.25  # a saved prompt of which less would be kept is not loaded
N_SAVED = 32  # prompts we remember as saved; the server's limit is in bytes (8 GiB)


class Mirror:
    """The slots of one server. `settle` says what happened, `expected` what would happen."""

    def __init__(self, n_slots: int) -> None:
        self._n_slots = n_slots
        self._held: dict[int, bytes] = {}  # by slot, the one used last at the end
        self._saved: list[bytes] = []

    def expected(self, prompt: bytes) -> int | None:
        """How many tokens of *prompt* the server will reuse; None when nothing is known."""
        return min(self._reused(prompt), n_tokens(prompt) - 1) if self._held else None

    def settle(self, slot: int, prompt: bytes, held: bytes) -> None:
        """A request with *prompt* ran on *slot*, which now holds *held*."""
        before = self._held.pop(slot, b"")
        if _is_set_aside(before, prompt):
            loaded = self._better(prompt, before)
            self._save(before)
            if loaded is not before:
                self._saved.remove(loaded)
        for idle in self._held.values():
            self._save(idle)
        self._held[slot] = held

    def forget(self) -> None:
        """A request failed: who knows what the slots hold."""
        self._held.clear()
        self._saved.clear()

    def _reused(self, prompt: bytes) -> int:
        """What the slot that will be taken shares with *prompt*, once it has loaded the best."""
        content = max(self._held.values(), key=lambda held: shared(held, prompt))
        if shared(content, prompt) <= SIMILAR * n_tokens(prompt):
            unused = len(self._held) < self._n_slots
            content = b"" if unused else next(iter(self._held.values()))
        if _is_set_aside(content, prompt):
            content = self._better(prompt, content)
        return shared(content, prompt)

    def _better(self, prompt: bytes, content: bytes) -> bytes:
        """The saved sequence that serves *prompt* better than *content*, or *content*."""
        best, kept = _scores(content, prompt)
        for saved in self._saved:
            n, keeps = _scores(saved, prompt)
            if n > best and keeps > kept and keeps >= WORTH:
                content, best, kept = saved, n, keeps
        return content

    def _save(self, content: bytes) -> None:
        if content and not any(saved.startswith(content) for saved in self._saved):
            self._saved = [s for s in self._saved if not content.startswith(s)][1 - N_SAVED :]
            self._saved.append(content)


def _is_set_aside(content: bytes, prompt: bytes) -> bool:
    """Whether a slot with *content* saves it and looks for better before it takes *prompt*."""
    n, kept = _scores(content, prompt)
    return kept < KEEP or n <= SIMILAR * n_tokens(prompt)


def _scores(content: bytes, prompt: bytes) -> tuple[int, float]:
    """How many tokens *prompt* shares with *content*, and which part of *content* that is."""
    n = shared(content, prompt)
    return n, n / n_tokens(content) if content else -1.0


def n_tokens(packed: bytes) -> int:
    """How many ids a packed sequence has."""
    return len(packed) // WIDTH


def shared(a: bytes, b: bytes) -> int:
    """How many ids two packed sequences have in common at their beginning."""
    low, high = 0, min(len(a), len(b)) // WIDTH
    if a.startswith(b[: high * WIDTH]):
        return high
    while low < high:  # invariant: the first *low* agree, the first *high* + 1 do not
        middle = (low + high + 1) // 2
        if a[low * WIDTH : middle * WIDTH] == b[low * WIDTH : middle * WIDTH]:
            low = middle
        else:
            high = middle - 1
    return low

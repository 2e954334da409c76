"""
What each slot of a llama.cpp server should hold, and so how much of a prompt it will reuse. Pure.

Theory of operation. After a request a slot holds the prompt and all generated tokens but the last,
which was sampled and never evaluated. The next prompt goes to the free slot that shares most with
it, if that is more than a tenth of the prompt, else to the one unused for longest. A slot that would
lose more than half of what it holds first saves it to the host's memory (`--cache-ram`), and takes
back from there what fits the new prompt better than what it has. The last token of a prompt is
always evaluated, for its logits. (Rules read in tools/server/server-context.cpp, then measured.)

Sequences are packed ids compared as bytes: one `memcmp` is faster than any hash of them, and exact.
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
        if before and shared(before, prompt) < KEEP * n_tokens(before):
            self._save(before)
        self._held[slot] = held

    def forget(self) -> None:
        """A request failed: who knows what the slots hold."""
        self._held.clear()
        self._saved.clear()

    def _reused(self, prompt: bytes) -> int:
        """What the slot that will be taken shares with *prompt*, once it has loaded the best."""
        content = max(self._held.values(), key=lambda held: shared(held, prompt))
        best = shared(content, prompt)
        if best > SIMILAR * n_tokens(prompt):
            if best >= KEEP * n_tokens(content):
                return best
        elif len(self._held) < self._n_slots:
            return 0  # an unused slot; nothing is loaded into an empty one
        else:
            content = next(iter(self._held.values()))
            best = shared(content, prompt)
        return self._loaded(prompt, best, best / n_tokens(content))

    def _loaded(self, prompt: bytes, best: int, kept: float) -> int:
        """What the best saved prompt shares with *prompt*, if it is worth loading."""
        for saved in self._saved:
            n = shared(saved, prompt)
            if n > best and n / n_tokens(saved) > max(kept, WORTH):
                best, kept = n, n / n_tokens(saved)
        return best

    def _save(self, content: bytes) -> None:
        if not any(saved.startswith(content) for saved in self._saved):
            self._saved = [s for s in self._saved if not content.startswith(s)][1 - N_SAVED :]
            self._saved.append(content)


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

"""
What each slot of a llama.cpp server should hold, and so how much of a prompt it will reuse. Pure.

Theory of operation. After a request a slot holds the prompt and all generated tokens but the last,
which was sampled and never evaluated. A prompt that names no slot goes to the one that shares most
with it, if that is more than a tenth of the prompt, else to the one unused for longest. A slot that
would lose more than half of its content first saves it to the host's memory (`--cache-ram`) and
takes from there what serves the prompt better, if anything does; only an empty slot that was named
does not look there. The other slots are saved, too, and with a unified cache (`-np auto`) emptied.
The last token of a prompt is always evaluated, for its logits. A stream that was closed may have left a
token or two more than it told: what goes on behind a content with an *open* end is not sure. These are the rules of llama.cpp's
tools/server (server-context.cpp, server-task.cpp); on mixed traces of 750 requests over five files
they predicted every `cache_n` exactly.

Sequences are packed ids compared as bytes: a `memcmp` is faster than any hash of them, and exact.
What a failed request left behind is unknown; then the mirror forgets everything and predicts nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from server_bridge.fim.common_prefix import common_prefix
from server_bridge.fim.layout import WIDTH

SIMILAR = 0.10  # llama.cpp's --slot-prompt-similarity
KEEP = 0.5  # a slot that keeps less of its content saves it first
WORTH = 0.25  # a saved prompt of which less would be kept is not loaded
N_SAVED = 32  # prompts we remember as saved; the server's limit is in bytes (8 GiB)
N_MISSES = 3  # saved prompts missed in a row: the server saves none


class Outlook(NamedTuple):
    """
    What a server will do with a prompt: reuse so many tokens, of a content *loaded* from the host's
    memory or lying in a slot, which will be *cut* if it goes on differently. Not *sure*: it may have
    saved something better for another client.
    """

    reused: int
    loaded: bool
    cut: bool
    sure: bool = True


class Source(NamedTuple):
    """What a prompt builds on: a *content* that lies in the slot, or is *saved* and to be loaded."""

    content: bytes
    saved: bool = False


class Mirror:
    """
    The slots of one server. `settle` says what happened, `outlook` what would happen.

    *unified*: idle slots are emptied; *saves*: the server has a `--cache-ram`. Both may be found out
    later. *exclusive*: no other client uses the server, so nothing is saved that we do not know of.
    *held* is the content by slot, the one used last at the end.
    """

    def __init__(self, n_slots: int, *, exclusive: bool = True) -> None:
        self.unified = False
        self.saves = True
        self.held: dict[int, bytes] = {}
        self._n_slots = n_slots
        self._exclusive = exclusive
        self._saved: list[bytes] = []
        self._open: set[bytes] = set()  # contents after which something unknown may follow
        self._n_missed = 0

    def outlook(self, prompt: bytes, slot: int | None = None) -> Outlook | None:
        """What will become of *prompt* in *slot*, or where the server puts it; None: nothing is known."""
        if not self.held:
            return None
        found = self.held.get(self.taken(prompt) if slot is None else slot, b"")
        searches = (bool(found) or slot is None) and _is_set_aside(found, prompt)
        source = self._source(prompt, found, self._saved) if searches else Source(found)
        n = shared(source.content, prompt)
        return Outlook(
            reused=min(n, n_tokens(prompt) - 1),
            loaded=source.saved,
            cut=n < n_tokens(source.content),
            sure=(self._exclusive or source.saved or not searches)
            and not (source.content in self._open and n == n_tokens(source.content)),
        )

    def expected(self, prompt: bytes, slot: int | None = None) -> int:
        """How many tokens of *prompt* are reused, as far as we know."""
        outlook = self.outlook(prompt, slot)
        return outlook.reused if outlook else 0

    def cleared(self, prompt: bytes) -> int:
        """How many tokens are reused once all slots were saved and the one taken was cleared."""
        source = self._source(prompt, b"", [*self._saved, *self.held.values()])
        return min(shared(source.content, prompt), n_tokens(prompt) - 1)

    def settle(
        self, slot: int, prompt: bytes, held: bytes, *, named: bool = False, open_end: bool = False
    ) -> None:
        """
        A request with *prompt*, which *named* its slot or not, ran on *slot*, which now holds *held*.

        *open_end*: and maybe something behind it.
        """
        before = self.held.pop(slot, b"")
        if (before or not named) and _is_set_aside(before, prompt):
            source = self._source(prompt, before, self._saved)
            self._save(before)
            if source.saved:  # loading takes it out of the memory
                self._saved = [saved for saved in self._saved if saved != source.content]
        for idle in self.held.values():
            self._save(idle)
        if self.unified:
            self.held.clear()
        self.held[slot] = held
        self._open &= {*self.held.values(), *self._saved}
        if open_end:
            self._open.add(held)
        else:
            self._open.discard(held)

    def unify(self, slot: int) -> None:
        """The server turns out to have emptied all but *slot*."""
        self.unified = True
        self.held = {slot: self.held[slot]} if slot in self.held else {}

    def restored(self, slot: int, held: bytes) -> None:
        """*slot* was filled (from a file) or emptied by other means than a prompt."""
        self.held.pop(slot, None)
        self.held = {slot: held, **self.held} if held else self.held

    def loaded(self, hoped: int, found: int) -> None:
        """
        *found* tokens were reused where *hoped* were to be loaded.

        The server's memory is limited in bytes, or it has none: what it should have saved is gone.
        """
        self._n_missed = 0 if found >= hoped else self._n_missed + 1
        if self._n_missed:
            self._saved.clear()
        self.saves = self.saves and self._n_missed < N_MISSES

    def forget(self) -> None:
        """A request failed: what the slots hold is unknown."""
        self.held.clear()
        self._saved.clear()
        self._open.clear()

    def taken(self, prompt: bytes) -> int:
        """The slot that a prompt goes to that names none; -1 for one that was not used yet."""
        if not self.held:
            return -1
        best = max(self.held, key=lambda slot: shared(self.held[slot], prompt))
        if shared(self.held[best], prompt) > SIMILAR * n_tokens(prompt):
            return best
        return -1 if len(self.held) < self._n_slots else next(iter(self.held))

    def _source(self, prompt: bytes, content: bytes, saved: list[bytes]) -> Source:
        """What of *saved* serves *prompt* better than *content*, the slot's own, or that."""
        found = Source(content)
        best, kept = _scores(content, prompt)
        for each in saved if self.saves else ():
            n, keeps = _scores(each, prompt)
            if n > best and keeps > kept and keeps >= WORTH:
                found, best, kept = Source(each, saved=True), n, keeps
        return found

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
    return common_prefix(a, b) // WIDTH

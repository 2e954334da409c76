"""
The expected contents of each slot of a llama.cpp server, and so how much of a prompt it will reuse.
Pure.

Theory of operation. After a request a slot holds the prompt and all generated tokens but the last,
which was sampled and never evaluated. A prompt that names no slot goes to the one that shares most
with it, if that is more than a tenth of the prompt, else to the one unused for longest. A slot that
would lose more than half of its content first saves it to the host's memory (`--cache-ram`) and
takes from there what serves the prompt better, if anything does; only an empty slot that was named
does not look there. The other slots are saved, too, and with a unified cache (`-np auto`) emptied.
The last token of a prompt is always evaluated, for its logits; a model's memory may have to go back
further (`checkpoints`). A stream that was closed may have left a token or two more than it told: a
content whose end is not known cannot be continued with certainty. These are the rules of
llama.cpp's tools/server (server-context.cpp, server-task.cpp); each answer tells whether they still
hold: `Timings.expected_n` is what they say of its `cache_n`.

Sequences are packed ids compared as bytes: a `memcmp` is faster than any hash of them, and exact.
The tokens that a failed request left behind are unknown; then the mirror forgets everything and
predicts nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, count_shared
from server_bridge.llama import checkpoints
from server_bridge.llama.checkpoints import Checkpoints, Compared, Kind, ModelMemory
from server_bridge.llama.contents import (
    NOTHING,
    SIMILAR,
    Content,
    copy,
    is_set_aside,
    n_tokens,
    save,
    scores,
)

WORTH = 0.25  # a saved prompt of which less would be kept is not loaded
MOVABLE = (Kind.PLAIN, Kind.UNKNOWN)
RUN = 32  # tokens in a row that a server moves up (`n_cache_reuse`); fewer are evaluated again
N_MISSES = 3  # saved prompts missed in a row: the server saves none


class Outlook(NamedTuple):
    """
    The expected handling of a prompt by a server: reuse so many tokens, of a content *loaded* from
    the host's memory or lying in a slot, which will be *cut* if it goes on differently. Not *sure*:
    it may have saved something better for another client, or the model's memory is not known well
    enough. *moved*: some of it lies further on, and is moved up.
    """

    reused: int
    loaded: bool
    cut: bool
    sure: bool = True
    moved: bool = False


class StateSource(NamedTuple):
    """
    The source that a prompt builds on: a *content* that lies in the slot, or is *saved* and to be
    loaded.
    """

    content: Content
    saved: bool = False


class Mirror:
    """
    The slots of one server. `settle` says what happened, `outlook` what would happen.

    A *prompt*, and what is *held*, are token ids, packed as `Ids` has them: `WIDTH` bytes each.
    *unified*: idle slots are emptied; *saves*: the server has a `--cache-ram`; *moves*: it moves up
    what it is asked to. All may be found out later, and so may what can be cut of the model's
    *memory*. *exclusive*: no other client uses the server, so nothing is saved that we do not know
    of. *held* is the content by slot, the one used last at the end.
    """

    def __init__(
        self, n_slots: int, *, exclusive: bool = True, memory: ModelMemory | None = None
    ) -> None:
        self.memory = memory or ModelMemory()
        self.unified = False
        self.saves = self.memory.aside_bytes != 0
        self.moves = True
        self.held: dict[int, Content] = {}
        self.exclusive = exclusive
        self._n_slots = n_slots
        self._saved: list[Content] = []
        self._n_tasks = 0
        self._n_missed = 0

    def outlook(
        self, prompt: bytes, slot: int | None = None, *, moves: bool = False
    ) -> Outlook | None:
        """
        Predict what the server does with *prompt* in *slot*, or where it puts it; None: nothing is
        known.

        *moves*: it is asked to move up what lies further on.
        """
        if not self.held:
            return None
        content = self.held.get(self.predict_slot(prompt) if slot is None else slot, NOTHING)
        searches = (bool(content.tokens) or slot is None) and is_set_aside(content, prompt)
        source = StateSource(content)
        if searches:
            source = self._source(prompt, content, save(self.memory, self._saved, content))
        both = source.content.compare(prompt)
        if moves and self.moves and self.memory.kind in MOVABLE:
            reused = count_moved(source.content.tokens, prompt)
            if reused > checkpoints.plain(both):
                return Outlook(reused, source.saved, both.cuts, sure=False, moved=True)
        return Outlook(
            reused=self._count_reused(source.content, both),
            loaded=source.saved,
            cut=both.cuts,
            sure=(self.exclusive or source.saved or not searches)
            and not source.content.may_go_on(both)
            and self.memory.kind is not Kind.SLIDING
            and not (source.content.least and both.cuts),
        )

    def expect_reused(self, prompt: bytes, slot: int | None = None, *, moves: bool = False) -> int:
        """Return how many tokens of *prompt* are reused, as far as we know; see `outlook`."""
        outlook = self.outlook(prompt, slot, moves=moves)
        return outlook.reused if outlook else 0

    def expect_cleared(self, prompt: bytes) -> int:
        """
        Return how many tokens are reused once all slots were saved and the one taken was cleared.
        """
        saved = self._saved
        for held in self.held.values():
            saved = save(self.memory, saved, held)
        content = self._source(prompt, NOTHING, saved).content
        return self._count_reused(content, content.compare(prompt))

    @property
    def state_bytes(self) -> int:
        """
        The bytes that clearing a slot copies besides keys and values: the states of all slots, and
        their checkpoints.
        """
        n_states = sum(1 + len(content.points) for content in self.held.values())
        return n_states * self.memory.state_bytes

    def count_shared_each(self, prompt: bytes, slot: int | None = None) -> set[int]:
        """
        Return how many tokens *prompt* shares with what is in *slot*, or in each one, and with what
        is saved.
        """
        lying = self.held.values() if slot is None else [self.held.get(slot, NOTHING)]
        return {count_shared(content.tokens, prompt) for content in (*lying, *self._saved)}

    def settle(
        self,
        slot: int,
        prompt: bytes,
        held: bytes,
        *,
        named: bool = False,
        n_behind: int = 0,
        n_reused: int | None = None,
    ) -> None:
        """
        Note that a request with *prompt*, which *named* its slot or not, ran on *slot*, which now
        holds *held*.

        *n_behind*: and so many tokens behind it, see `Content`. *n_reused* tokens were reused, if
        that is known.
        """
        before = self.held.pop(slot, NOTHING)
        source = StateSource(before)
        if (before.tokens or not named) and is_set_aside(before, prompt):
            self._saved = save(self.memory, self._saved, before)
            source = self._source(prompt, before, self._saved)
            if source.saved and n_reused is not None:
                self._note_load(source.content, prompt, n_reused)
            if source.saved:  # loading takes it out of the memory
                self._saved = [saved for saved in self._saved if saved is not source.content]
        for idle in self.held.values():
            self._saved = save(self.memory, self._saved, idle)
        if self.unified:
            self.held.clear()
        points, n_kept = self._points(source.content, prompt, n_reused)
        self.held[slot] = Content(held, points, n_behind, source.content.least if n_kept else 0)

    def unify(self, slot: int) -> None:
        """Note that the server has emptied all but *slot*."""
        self.unified = True
        self.held = {slot: self.held[slot]} if slot in self.held else {}

    def note_contents(self, slot: int, held: bytes, points: Checkpoints = ()) -> None:
        """Note that *slot* was filled (from a file) or emptied by other means than a prompt."""
        self.held.pop(slot, None)
        content = copy(self.memory, Content(held, points))
        self.held = {slot: content, **self.held} if held else self.held

    def forget(self) -> None:
        """Forget the contents of all slots: a request failed."""
        self.held.clear()
        self._saved.clear()

    def predict_slot(self, prompt: bytes) -> int:
        """
        Return the slot that a prompt goes to that names none; -1 for one that was not used yet.
        """
        if not self.held:
            return -1
        best = max(self.held, key=lambda slot: count_shared(self.held[slot].tokens, prompt))
        if count_shared(self.held[best].tokens, prompt) > SIMILAR * n_tokens(prompt):
            return best
        return -1 if len(self.held) < self._n_slots else next(iter(self.held))

    def _note_load(self, content: Content, prompt: bytes, n_reused: int) -> None:
        """
        Note that *n_reused* tokens of *prompt* were reused where *content* was to be loaded.

        If that is gone so is all that was saved before it, or the server saves nothing.
        """
        is_missed = n_reused < self._count_reused(content, content.compare(prompt))
        self._n_missed = self._n_missed + 1 if is_missed else 0
        if is_missed:
            n_gone = next(n for n, saved in enumerate(self._saved) if saved is content)
            self._saved = self._saved[n_gone:]
        self.saves = self.saves and self._n_missed < N_MISSES

    def _count_reused(self, content: Content, compared: Compared) -> int:
        """Return how many tokens are reused of a prompt that was compared with *content*."""
        n_reused = checkpoints.count_reused(self.memory, content.points, compared)
        return n_reused if n_reused >= content.least else 0

    def _points(
        self, content: Content, prompt: bytes, n_reused: int | None
    ) -> tuple[Checkpoints, int]:
        """
        Return the checkpoints after a request that went on from *content*, and behind how many of
        its tokens; note what it teaches of the memory.
        """
        both = content.compare(prompt)
        expected = self._count_reused(content, both)
        start = expected if n_reused is None else n_reused
        if n_reused is not None and not content.may_go_on(both):
            self.memory = checkpoints.learn_memory(self.memory, content.points, both, n_reused)
        self._n_tasks += 1
        if self.memory.kind in MOVABLE and start > checkpoints.plain(both):
            return (), start  # some was moved up: no checkpoint outlives that
        points = content.points
        return checkpoints.after(self.memory, points, start, both.n_prompt, self._n_tasks), start

    def _source(self, prompt: bytes, content: Content, saved: list[Content]) -> StateSource:
        """
        Return the one of *saved* that serves *prompt* better than *content*, the slot's own, or
        that.
        """
        source = StateSource(content)
        best, kept = scores(content, prompt)
        for candidate in saved if self.saves else ():
            n, keeps = scores(candidate, prompt)
            if n > best and keeps > kept and keeps >= WORTH:
                source = StateSource(candidate, saved=True)
                best = n
                kept = keeps
        return source


def count_moved(held: bytes, prompt: bytes) -> int:
    """
    Return how many tokens of *prompt* a server reuses that moves up what lies further on in what is
    *held*.

    It looks there for the first `RUN` tokens behind the common beginning, and goes on as far as
    both agree.
    """
    start = count_shared(held, prompt) * WIDTH
    run = prompt[start : start + RUN * WIDTH]
    at = held.find(run, start) if len(run) == RUN * WIDTH else -1
    while at % WIDTH and at > 0:  # inside of a token
        at = held.find(run, at + 1)
    n_run = count_shared(held[at:], prompt[start:]) if at > 0 else 0
    return min(start // WIDTH + n_run, n_tokens(prompt) - 1)

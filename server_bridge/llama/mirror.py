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
further (`checkpoints`). A stream that was closed may have left a token or two more than it told:
what goes on behind a content with an *open* end is not sure. These are the rules of llama.cpp's
tools/server (server-context.cpp, server-task.cpp); each answer tells whether they still hold:
`Timings.expected_n` is what they say of its `cache_n`.

Sequences are packed ids compared as bytes: a `memcmp` is faster than any hash of them, and exact.
What a failed request left behind is unknown; then the mirror forgets everything and predicts
nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from server_bridge.fim.layout import WIDTH, count_shared
from server_bridge.llama import checkpoints
from server_bridge.llama.checkpoints import Checkpoints, Compared, Kind, ModelMemory

SIMILAR = 0.10  # llama.cpp's --slot-prompt-similarity
KEEP = 0.5  # a slot that keeps less of its content saves it first
WORTH = 0.25  # a saved prompt of which less would be kept is not loaded
MOVABLE = (Kind.PLAIN, Kind.UNKNOWN)
RUN = 32  # tokens in a row that a server moves up (`n_cache_reuse`); fewer are evaluated again
N_SAVED = 32  # prompts we remember as saved; the server's limit is in bytes (8 GiB)
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


class Content(NamedTuple):
    """
    The contents of a slot, now or earlier: tokens, and where its state can be gone back to. After
    an *open* end there may be more.
    """

    tokens: bytes = b""
    points: Checkpoints = ()
    is_open: bool = False

    @property
    def n(self) -> int:
        """Return how many tokens there are."""
        return len(self.tokens) // WIDTH

    def compare(self, prompt: bytes) -> Compared:
        """Compare *prompt* with this; a token may follow an open end, and must go then."""
        n_held = self.n + self.is_open
        return Compared(count_shared(self.tokens, prompt), n_held, n_tokens(prompt))

    def may_go_on(self, compared: Compared) -> bool:
        """
        Return whether what it was compared with goes on behind an open end, so that it is not known
        what must go.
        """
        return self.is_open and compared.n_shared == self.n


NOTHING = Content()


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
        self.unified = False
        self.saves = True
        self.moves = True
        self.memory = memory or ModelMemory()
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
        searches = (bool(content.tokens) or slot is None) and _is_set_aside(content, prompt)
        source = self._source(prompt, content, self._saved) if searches else StateSource(content)
        both = source.content.compare(prompt)
        if moves and self.moves and self.memory.kind in MOVABLE:
            reused = count_moved(source.content.tokens, prompt)
            if reused > checkpoints.plain(both):
                return Outlook(reused, source.saved, both.cuts, sure=False, moved=True)
        return Outlook(
            reused=checkpoints.count_reused(self.memory, source.content.points, both),
            loaded=source.saved,
            cut=both.cuts,
            sure=(self.exclusive or source.saved or not searches)
            and not source.content.may_go_on(both)
            and self.memory.kind is not Kind.SLIDING,
        )

    def expect_reused(self, prompt: bytes, slot: int | None = None, *, moves: bool = False) -> int:
        """Return how many tokens of *prompt* are reused, as far as we know; see `outlook`."""
        outlook = self.outlook(prompt, slot, moves=moves)
        return outlook.reused if outlook else 0

    def expect_cleared(self, prompt: bytes) -> int:
        """
        Return how many tokens are reused once all slots were saved and the one taken was cleared.
        """
        content = self._source(prompt, NOTHING, [*self._saved, *self.held.values()]).content
        return checkpoints.count_reused(self.memory, content.points, content.compare(prompt))

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
        open_end: bool = False,
        n_reused: int | None = None,
    ) -> None:
        """
        Note that a request with *prompt*, which *named* its slot or not, ran on *slot*, which now
        holds *held*.

        *open_end*: and maybe something behind it. *n_reused* tokens were reused, if that is known.
        """
        before = self.held.pop(slot, NOTHING)
        source = StateSource(before)
        if (before.tokens or not named) and _is_set_aside(before, prompt):
            source = self._source(prompt, before, self._saved)
            self._save(before)
            if source.saved:  # loading takes it out of the memory
                self._saved = [s for s in self._saved if s.tokens != source.content.tokens]
        for idle in self.held.values():
            self._save(idle)
        if self.unified:
            self.held.clear()
        self.held[slot] = Content(held, self._points(source.content, prompt, n_reused), open_end)

    def unify(self, slot: int) -> None:
        """Note that the server has emptied all but *slot*."""
        self.unified = True
        self.held = {slot: self.held[slot]} if slot in self.held else {}

    def note_contents(self, slot: int, held: bytes, points: Checkpoints = ()) -> None:
        """Note that *slot* was filled (from a file) or emptied by other means than a prompt."""
        self.held.pop(slot, None)
        self.held = {slot: Content(held, points), **self.held} if held else self.held

    def note_load(self, hoped: int, n_reused: int) -> None:
        """
        Note that *n_reused* tokens were reused where *hoped* were to be loaded.

        The server's memory is limited in bytes, or it has none: what it should have saved is gone.
        """
        self._n_missed = 0 if n_reused >= hoped else self._n_missed + 1
        if self._n_missed:
            self._saved.clear()
        self.saves = self.saves and self._n_missed < N_MISSES

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

    def _points(self, content: Content, prompt: bytes, n_reused: int | None) -> Checkpoints:
        """
        Return the checkpoints after a request that went on from *content*; what it teaches of the
        memory.
        """
        both = content.compare(prompt)
        expected = checkpoints.count_reused(self.memory, content.points, both)
        start = expected if n_reused is None else n_reused
        if n_reused is not None and not content.may_go_on(both):
            self.memory = checkpoints.learn_memory(self.memory, content.points, both, n_reused)
        self._n_tasks += 1
        if self.memory.kind in MOVABLE and start > checkpoints.plain(both):
            return ()  # some was moved up: no checkpoint outlives that
        return checkpoints.after(self.memory, content.points, start, both.n_prompt, self._n_tasks)

    def _source(self, prompt: bytes, content: Content, saved: list[Content]) -> StateSource:
        """
        Return the one of *saved* that serves *prompt* better than *content*, the slot's own, or
        that.
        """
        source = StateSource(content)
        best, kept = _scores(content, prompt)
        for candidate in saved if self.saves else ():
            n, keeps = _scores(candidate, prompt)
            if n > best and keeps > kept and keeps >= WORTH:
                source, best, kept = StateSource(candidate, saved=True), n, keeps
        return source

    def _save(self, content: Content) -> None:
        tokens = content.tokens
        if tokens and not any(saved.tokens.startswith(tokens) for saved in self._saved):
            others = [saved for saved in self._saved if not tokens.startswith(saved.tokens)]
            self._saved = [*others[1 - N_SAVED :], content]


def _is_set_aside(content: Content, prompt: bytes) -> bool:
    """
    Return whether a slot with *content* saves it and looks for better before it takes *prompt*.
    """
    n, kept = _scores(content, prompt)
    return kept < KEEP or n <= SIMILAR * n_tokens(prompt)


def _scores(content: Content, prompt: bytes) -> tuple[int, float]:
    """
    Return how many tokens *prompt* shares with *content*, and which part of *content* that is.
    """
    n = count_shared(content.tokens, prompt)
    return n, n / content.n if content.n else -1.0


def n_tokens(packed: bytes) -> int:
    """Return how many ids a packed sequence has."""
    return len(packed) // WIDTH


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

"""
The rules by which llama.cpp rolls back a model's memory. Pure.

Keys and values can be cut off behind any token. A recurrent state (Mamba, gated delta nets, short
convolutions) cannot: it is of one length, and goes on from there. So the server copies it now and
then while it evaluates a prompt: 4 tokens before its end, a micro-batch before that, and where a
short evaluation starts; never while it decodes. A prompt that differs from what a slot holds goes
on from the last of these *checkpoints* before the difference, or from the start. Where there are as
many as may be, the oldest goes that is within `--checkpoint-min-step` of one before it, else the
oldest of all. These are the rules of llama.cpp's tools/server (server-context.cpp:
`create_checkpoint`, `pre_decode`) in builds since September 2026.

A sliding window's keys and values can be cut a little, and there are checkpoints for the rest; how
much is reused depends on more than is known here. With `--swa-full` such a model is like any other.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FEW = 8  # tokens cost no more than the request that would evaluate them ahead
GAP = 4  # tokens between the last checkpoint of a prompt and its end
STRETCH = 3  # times as long as usual may a step be that makes a checkpoint stay
CLOSE_STEP = 256  # what `fim-lsp serve` and the embedded engine are started with
NEAR = 64  # tokens that a sliding window gives back in any case
FIXED = 10864  # llama.cpp's #28302, September 2026; #24110 came three months before


class Kind(enum.Enum):
    """The kind of memory, by what can be cut; the names are shown to users."""

    UNKNOWN = ""
    PLAIN = "plain"
    RECURRENT = "recurrent"  # or hybrid: some layers are
    SLIDING = "sliding window"


class ModelMemory(NamedTuple):
    """
    A model's memory on a server with these batch sizes and limits, llama-server's defaults if
    nothing is known.

    *is_told*: it was read from the model's file; else requests show it: *sign* is the kind that the
    last one spoke for, and how many tokens it reused. One state takes *state_bytes*, keys and
    values of a token *token_bytes*, 0 if that is not known; prompts set aside may take
    *aside_bytes*, None on a server that we did not start. A prompt that is set aside, in memory
    or in a file, has a sliding *window*'s last tokens only, 0 for a model without one.
    """

    kind: Kind = Kind.UNKNOWN
    n_batch: int = 2048
    n_ubatch: int = 512
    n_checkpoints: int = 32
    min_step: int = 8192
    state_bytes: int = 0
    token_bytes: int = 0
    aside_bytes: int | None = None
    window: int = 0
    is_told: bool = False
    sign: tuple[Kind, int] = (Kind.UNKNOWN, 0)

    def most_kept(self, n_slots: int, n_ctx: int) -> int:
        """
        Return how many bytes the evaluated prompts take at most, in so many slots and set aside; 0
        where that is not known.
        """
        if not self.token_bytes or self.aside_bytes is None:
            return 0
        one = n_ctx * self.token_bytes + self.n_checkpoints * self.state_bytes
        return n_slots * one + self.aside_bytes


class Checkpoint(NamedTuple):
    """
    A copy of the state after *n_tokens*, made by the request number *task*; *is_seam*: where that
    parted from what the slot held.
    """

    n_tokens: int
    task: int
    is_seam: bool = False


Checkpoints = tuple[Checkpoint, ...]


class Compared(NamedTuple):
    """A prompt beside what a slot holds: tokens in common, and of both."""

    n_shared: int
    n_held: int
    n_prompt: int

    @property
    def cuts(self) -> bool:
        """Return whether something of what is held must go, one token for its logits included."""
        return self.n_shared < self.n_held or self.n_shared == self.n_prompt


def plain(compared: Compared) -> int:
    """
    Return how many tokens of a prompt are reused where everything can be cut; the last is always
    evaluated.
    """
    return min(compared.n_shared, compared.n_prompt - 1)


def count_resumable(points: Checkpoints, compared: Compared) -> int:
    """
    Return how many are reused where only a checkpoint, the one made last, can be gone back to.
    """
    if not compared.cuts:
        return compared.n_shared
    most = plain(compared)
    fitting = (point.n_tokens for point in reversed(points) if point.n_tokens <= most)
    return next(fitting, 0)


def count_reused(memory: ModelMemory, points: Checkpoints, compared: Compared) -> int:
    """Return how many tokens of a prompt are reused, as far as the kind of memory is known."""
    is_far = memory.kind is Kind.SLIDING and compared.n_held - compared.n_shared > NEAR
    if is_far or memory.kind is Kind.RECURRENT:
        return count_resumable(points, compared)
    return plain(compared)


def learn_memory(
    memory: ModelMemory, points: Checkpoints, compared: Compared, n_reused: int
) -> ModelMemory:
    """
    Return the memory as known after a request of which *n_reused* tokens were reused.

    The content of a slot may have been another client's, so a kind is believed after two signs in a
    row that differ in their place, and given up in the same way. More than expected: the server
    keeps more of its checkpoints, as one that `fim-lsp serve` started does.
    """
    if memory.is_told or not compared.cuts:
        return memory
    back = count_resumable(points, compared)
    if memory.kind is Kind.RECURRENT and n_reused != back:
        memory = memory._replace(min_step=CLOSE_STEP if n_reused > back else ModelMemory().min_step)
    kind = _read_sign(points, compared, n_reused)
    is_near = kind is Kind.PLAIN and compared.n_held - compared.n_shared <= NEAR
    if is_near and Kind.SLIDING in (memory.kind, memory.sign[0]):
        # A sliding window gives back as much, so this takes nothing back; but the next sign of one
        # is the first again, since another client's prompt may end just there.
        return memory._replace(sign=(Kind.UNKNOWN, 0))
    if kind is Kind.UNKNOWN or memory.sign == (kind, n_reused):
        return memory
    if kind is memory.sign[0]:
        memory = memory._replace(kind=kind)
    return memory._replace(sign=(kind, n_reused))


def _read_sign(points: Checkpoints, compared: Compared, n_reused: int) -> Kind:
    """
    Return the kind of memory that *n_reused* tokens speak for; where the kinds differ, and another
    client's prompt would not show the same by what all prompts begin with.
    """
    back = count_resumable(points, compared)
    most = plain(compared)
    own = {point.n_tokens for point in points if not point.is_seam}
    if back == most:
        return Kind.UNKNOWN
    if n_reused == most:
        return Kind.PLAIN
    if n_reused == back and back in own:
        return Kind.RECURRENT
    return Kind.SLIDING if n_reused + 1 in own and n_reused < most else Kind.UNKNOWN


def after(
    memory: ModelMemory, points: Checkpoints, start: int, n_prompt: int, task: int
) -> Checkpoints:
    """Return the checkpoints once a prompt was evaluated from *start* on."""
    kept = [point for point in points if point.n_tokens <= start + 1]
    for at in _place_checkpoints(memory, start, n_prompt) if memory.n_checkpoints else ():
        kept = _with(memory, kept, Checkpoint(at, task, is_seam=at == start))
    return tuple(kept)


def _place_checkpoints(memory: ModelMemory, start: int, n_prompt: int) -> Iterator[int]:
    """Yield the places of checkpoints: before each batch that ends near the prompt's end."""
    ends = [n_prompt - min(memory.n_batch, gap) for gap in (GAP + memory.n_ubatch, GAP)]
    while start < n_prompt:
        end = min(start + memory.n_batch, n_prompt, *(place for place in ends if place > start))
        if start and end > n_prompt - memory.n_ubatch:
            yield start
        start = end


def _with(memory: ModelMemory, points: list[Checkpoint], new: Checkpoint) -> list[Checkpoint]:
    kept = list(points)
    last = -1
    idx = 0
    while len(kept) + 1 >= memory.n_checkpoints and idx < len(kept):
        point = kept[idx]
        if point.task != new.task and last >= 0 and point.n_tokens <= last + memory.min_step:
            del kept[idx]
        else:
            last = point.n_tokens
            idx += 1
    kept = kept[max(0, len(kept) + 1 - memory.n_checkpoints) :]
    return [*(point for point in kept if point.n_tokens != new.n_tokens), new]


def end_of_step(memory: ModelMemory, n_held: int, step: int, seams: Sequence[int]) -> int:
    """
    Return the token at which a prompt's evaluation from *n_held* on should pause, after about
    *step* tokens, more than `FEW` in any case.

    At a *seam* prompts are likely to part. A checkpoint is made there if the evaluation pauses
    `GAP` tokens behind it, and it stays if there is none within `min_step` before it: so the step
    before ends that much earlier.
    """
    least = n_held + FEW + 1
    end = max(least, n_held + step)
    seam = next((place for place in seams if place + GAP >= least), None)
    if seam is None or memory.kind in {Kind.PLAIN, Kind.UNKNOWN}:
        return end
    stop = seam + GAP
    before = seam - memory.min_step - 1
    if end >= stop:
        return stop
    if memory.kind is not Kind.RECURRENT or end <= before or memory.min_step >= STRETCH * step:
        return end
    if least <= before:
        return before
    return stop if stop <= n_held + STRETCH * step else end


RECURRENT = (
    f"start it with --ctx-checkpoints 32 --checkpoint-min-step {CLOSE_STEP}, as fim-lsp serve does"
)
WHERE_CUT = {
    Kind.UNKNOWN: "the server evaluates much again when the end of a prompt changes, as with a model that has a "
    f"sliding window (start it with --swa-full) or a recurrent one ({RECURRENT})",
    Kind.SLIDING: "the model has a sliding window, and much is evaluated again when the end of a prompt changes: "
    "start the server with --swa-full, as fim-lsp serve does",
    Kind.RECURRENT: "the model is recurrent or hybrid, so its state cannot be cut, and the server keeps too few copies "
    f"of it to go back to: {RECURRENT}",
}


def unfit(build: str, memory: ModelMemory) -> str:
    """
    Return what is wrong with a server's *build* (`build_info`) or flags for such a *memory*; "" for
    nothing.
    """
    number = re.match(r"b(\d{3,6})\b", build)
    if memory.kind in (Kind.RECURRENT, Kind.SLIDING) and number and int(number[1]) < FIXED:
        return (
            f"llama.cpp b{number[1]} loses the states of a {memory.kind.value} model that are gone back to, and "
            f"builds before June 2026 end when they are sent the same prompt twice: update to b{FIXED} or newer"
        )
    # With --swa-full a sliding window does not show.
    return WHERE_CUT[Kind.SLIDING] if memory.kind is Kind.SLIDING else ""

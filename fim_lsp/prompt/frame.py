"""
A frame: all of a prompt that stays while the user types, the header and the window. Pure.

The chunks of a header are a prefix of the ring or of an earlier header, because the backend holds
only prefixes; `beside` and `affordable` cut them where that prefix ends. Sizes are given in tokens
(settings, the backend's context) and spent in characters, by the measured characters per token of
the user's own text (`State.chars_per_token`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from fim_lsp.context.secrets.scan import scrub_parts, scrub_text
from fim_lsp.documents import Edit, TextPlace
from fim_lsp.prompt import window
from fim_lsp.prompt.half_words import heal
from fim_lsp.prompt.window import Budget, Window
from fim_lsp.settings.config import Config
from server_bridge.fim.tokens import needs_no_lead
from server_bridge.protocol import Chunk, Measure, Prompt, State

NOWHERE = Window(0, 0, "", "")  # of a frame that shows nothing of the document
TELLING = 12  # characters of a line that says more than `else:` or `return None`

Chunks = tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """The beginning of a prompt: the workspace's name, chunks from elsewhere, the path within."""

    repo: str
    chunks: Chunks
    path: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The frozen part of a prompt."""

    header: Header
    window: Window

    def middle(self, place: TextPlace) -> str:
        """Return what stands between the window's anchor and a cursor."""
        return place.document.before(place.position, self.window.anchor)

    def prompt(self, place: TextPlace) -> Prompt:
        """Return the prompt for a cursor."""
        return compose(self, self.middle(place))

    def with_chunks(self, chunks: Chunks) -> Frame:
        """Return the frame with other chunks; as it is where they are the same."""
        if chunks == self.header.chunks:
            return self
        return replace(self, header=replace(self.header, chunks=chunks))


@lru_cache(maxsize=256)
def scrub_name(name: str) -> str:
    """Return the name of a file or a folder as a model may see it, without a secret in it."""
    return scrub_text(name)


def move(frame: Frame, edit: Edit) -> Frame:
    """Return *frame* after an edit: its window moves with edits above it; the same elsewhere."""
    moved = window.move(frame.window, edit)
    return frame if moved is frame.window else replace(frame, window=moved)


def chunks_for_window(chunks: Chunks, path: str, shown: Window) -> Chunks:
    """
    Return those of *chunks* of an earlier prompt that may stand in one with another window of
    *path*.

    They end before the first that repeats lines of the window; so the backend holds all of them.
    """
    lines = set(map(str.strip, (shown.prefix + shown.suffix).splitlines()))
    path = scrub_name(path)
    for idx, chunk in enumerate(chunks):
        own = [line.strip() for line in chunk.text.splitlines() if len(line.strip()) >= TELLING]
        if chunk.name == path and any(line in lines for line in own):
            return chunks[:idx]
    return chunks


def before_withdrawn(frame: Frame, shows: Callable[[str], bool], n_chunks: int) -> Frame:
    """
    Return *frame* with its chunks before the first that must not be shown, *n_chunks* at most; the
    same where all may be.
    """
    first = frame.header.chunks[:n_chunks]
    shown = itertools.takewhile(lambda chunk: shows(chunk.name), first)
    return frame.with_chunks(tuple(shown))


def affordable(frame: Frame, measure: Measure) -> Frame:
    """Return a measured *frame* without the chunks that the backend does not hold."""
    ends = itertools.accumulate(measure.chunks, initial=measure.repo)
    n_held = sum(end <= measure.cached for end in list(ends)[1:])
    return frame.with_chunks(frame.header.chunks[:n_held])


def still_true(frame: Frame, chunks: Chunks) -> Frame:
    """
    Return *frame* with those of its chunks that *chunks*, the ones that may be shown now, begin
    with.
    """
    pairs = zip(frame.header.chunks, chunks, strict=False)
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    return frame.with_chunks(tuple(old for old, _ in alike))


SMALL_CONTEXT = 4096  # tokens, until the backend says
MIDDLE_TOKENS = 256  # some 25 typed lines between two prefills
SUFFIX_PART = 4  # of the prefix: the suffix tells mostly where to stop
SCAFFOLD = 64  # tokens of control marks, names and paths


def compose(frame: Frame, typed: str) -> Prompt:
    """Return the prompt for a cursor behind *typed*, the middle of the frame's window."""
    kept, half = heal(typed)
    prefix, middle, forced, suffix = _scrub((frame.window.prefix, kept, half, frame.window.suffix))
    if forced != half:  # the output cannot begin with what is redacted
        middle += forced
        forced = ""
    repo = scrub_name(frame.header.repo)
    path = scrub_name(frame.header.path)
    return Prompt(repo, frame.header.chunks, path, prefix, suffix, middle, forced=forced)


# One cursor is composed for several times: measured, prefilled, asked.
_scrub = lru_cache(maxsize=64)(scrub_parts)


def budget(config: Config, state: State, scale: float = 1.0) -> Budget:
    """
    Return window sizes in characters: as configured, and never more than a share of a small
    context.
    """
    prompt = config.prompt
    per = state.chars_per_token * scale
    n_ctx = state.n_ctx or SMALL_CONTEXT
    return Budget(
        prefix=int(min(prompt.prefix_tokens, n_ctx // 6) * per),
        suffix=int(min(prompt.prefix_tokens // SUFFIX_PART, n_ctx // 12) * per),
        middle=int(min(MIDDLE_TOKENS, n_ctx // 12) * per),
        lead=0 if needs_no_lead(state.model) else window.LEAD,
    )


def ring_chars(config: Config, state: State) -> int:
    """Return how many characters a ring may have: what the largest window leaves of the context."""
    size = budget(config, state)
    window = 2 * size.prefix + size.suffix + 2 * size.middle
    spare = (state.n_ctx or SMALL_CONTEXT) - config.completion.max_tokens - SCAFFOLD
    return max(0, int(spare * state.chars_per_token) - window)

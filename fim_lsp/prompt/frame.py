"""
A frame: all of a prompt that stays while the user types, the header and the window. Pure.

The chunks of a header are a prefix of the ring or of an earlier header, because the backend holds
only prefixes; `beside` and `affordable` cut them where that prefix ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from fim_lsp.documents import Edit
from fim_lsp.prompt import window
from fim_lsp.prompt.window import Window
from server_bridge.protocol import Chunk, Measure

TELLING = 12  # characters of a line that says more than `else:` or `return None`

Chunks = tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """The beginning of a prompt: the workspace's name, chunks from elsewhere, the path within."""

    repo: str
    chunks: Chunks
    path: str


HeaderFor = Callable[[Window], Header]  # chunks must not repeat what the window shows


@dataclass(frozen=True, slots=True)
class Frame:
    """The frozen part of a prompt."""

    header: Header
    window: Window


def move(frame: Frame, edit: Edit) -> Frame:
    """Return *frame* after an edit: its window moves with edits above it."""
    return replace(frame, window=window.move(frame.window, edit))


def beside(chunks: Chunks, path: str, shown: Window) -> Chunks:
    """
    Return those of *chunks* of an earlier prompt that may stand in one with another window of
    *path*.

    They end before the first that repeats lines of the window; so the backend holds all of them.
    """
    lines = set(map(str.strip, (shown.prefix + shown.suffix).splitlines()))
    for idx, chunk in enumerate(chunks):
        own = [line.strip() for line in chunk.text.splitlines() if len(line.strip()) >= TELLING]
        if chunk.name == path and any(line in lines for line in own):
            return chunks[:idx]
    return chunks


def before_withdrawn(frame: Frame, shows: Callable[[str], bool]) -> Frame:
    """Return *frame* with its chunks before the first that must not be shown; the same where all may be."""
    chunks = frame.header.chunks
    n = next((n for n, chunk in enumerate(chunks) if not shows(chunk.name)), len(chunks))
    return (
        frame
        if n == len(chunks)
        else replace(frame, header=replace(frame.header, chunks=chunks[:n]))
    )


def affordable(frame: Frame, measure: Measure) -> Frame:
    """Return a measured *frame* without the chunks that the backend does not hold."""
    ends = itertools.accumulate(measure.chunks, initial=measure.repo)
    n_held = sum(end <= measure.cached for end in list(ends)[1:])
    if n_held == len(measure.chunks):
        return frame
    return replace(frame, header=replace(frame.header, chunks=frame.header.chunks[:n_held]))


def still_true(frame: Frame, chunks: Chunks) -> Frame:
    """Return *frame* with those of its chunks that *chunks*, the ones that may be shown now, begin with."""
    pairs = zip(frame.header.chunks, chunks, strict=False)
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    return replace(frame, header=replace(frame.header, chunks=tuple(old for old, _ in alike)))

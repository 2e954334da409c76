"""
A prompt into its parts, for people: what each one is, what it costs, why it is there. Pure.

`describe` is the answer of the command `fim.showContext` and `text` the same to read. The text is
what the model is shown and nothing else; only the model's control tokens between the parts are left
out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fim_lsp.context.chunks import ContextChunk
from server_bridge.protocol import Measure, Prompt

WIDTH = 80  # of the rules between parts


class ReportPart(NamedTuple):
    """One part of a prompt; *tokens* is None while there is no backend to count them."""

    part: str
    tokens: int | None
    why: str
    text: str


class PromptReport(NamedTuple):
    """
    The prompt of a document by part; *note* says the total, or why there is nothing. *cached*
    tokens from the beginning are evaluated already.
    """

    note: str
    segments: tuple[ReportPart, ...] = ()
    cached: int = 0

    @property
    def text(self) -> str:
        """It as a text to read, each part under a rule."""
        lines = [f"What the model is shown at the cursor: {self.note}.", ""]
        for segment in self.segments:
            count = "" if segment.tokens is None else f" · {segment.tokens} tokens"
            lines.append(f"── {segment.part}{count} · {segment.why} ".ljust(WIDTH, "─"))
            lines.append(segment.text.removesuffix("\n"))
        return "\n".join(lines) + "\n"


def describe(prompt: Prompt, measure: Measure | None, ring: Iterable[ContextChunk]) -> PromptReport:
    """Return *prompt* by part, as *measure* counts it; *ring* knows why its chunks are there."""
    reasons = {(chunk.name, chunk.text): _reason(chunk) for chunk in ring}
    parts = [("repository", "its name never changes", prompt.repo)]
    parts += [
        (f"chunk of {name}", reasons.get((name, text), "evaluated already"), text)
        for name, text in prompt.chunks
    ]
    parts += [
        ("path", "the file at work", prompt.path),
        ("prefix", "above the anchor, frozen while you type", prompt.prefix),
        ("suffix", "behind the cursor, frozen while you type", prompt.suffix),
        ("middle", "from the anchor to the cursor: the part that grows", prompt.middle),
        ("forced", "half a word, not in the prompt: the answer must begin with it", prompt.forced),
    ]
    note = "there is no model to count its tokens"
    tokens = list[int | None]([None] * len(parts))
    if measure is not None:
        ends = (measure.path, measure.prefix, measure.suffix, measure.middle, None)
        tokens = [measure.repo, *measure.chunks, *ends]
        note = f"{measure.total} tokens, of which the model has evaluated {measure.cached}"
    segments = [
        ReportPart(part, n, why, text)
        for (part, why, text), n in zip(parts, tokens, strict=True)
        if n != 0 or not text  # a part for which the model has no place is not shown
    ]
    return PromptReport(note, tuple(segments), measure.cached if measure else 0)


def _reason(chunk: ContextChunk) -> str:
    """
    Return why each of its pieces is there; lines count from 1, and what a server told may have
    none.
    """
    reasons = (
        f"lines {p.start + 1} to {p.end} {p.why.value}" if p.end > p.start else p.why.value
        for p in chunk.pieces
    )
    return "; ".join(dict.fromkeys(reasons))

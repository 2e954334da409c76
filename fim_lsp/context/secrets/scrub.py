"""Secrets redacted from texts. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from fim_lsp.context.secrets.growing import growing
from fim_lsp.context.secrets.scan import secrets
from fim_lsp.context.secrets.span import Span

BLOT = "REDACTED"
"""Stands for a secret in a prompt: a word, so that the code around it keeps its syntax."""


def scrub_text(text: str) -> str:
    """Return the text with each secret redacted; line breaks inside one stay, so lines keep their numbers."""
    return scrub_parts((text,))[0]


def scrub_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """
    Return the same for a text in parts, the cursor in front of the last one where there are several.

    A secret that reaches over parts leaves one blot, in the part where it begins. One that is being
    typed at the cursor is redacted from its beginning, with what of it stands behind the cursor.
    """
    text = "".join(parts)
    typed = growing(text, len(text) - len(parts[-1])) if len(parts) > 1 else None
    spans = _merge([*secrets(text), *([typed] if typed else [])])
    ends = itertools.accumulate(map(len, parts))
    return tuple(
        _redact_part(part, spans, end - len(part)) for part, end in zip(parts, ends, strict=True)
    )


def _merge(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Return the union of *spans*, by start."""
    merged: list[tuple[int, int]] = []
    for start, end, _ in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _redact_part(text: str, spans: Iterable[tuple[int, int]], offset: int) -> str:
    """Redact one part, which begins *offset* characters into the whole; a secret is redacted where it begins."""
    kept, at = [], 0
    for whole_start, whole_end in spans:
        start, end = max(0, whole_start - offset), min(len(text), whole_end - offset)
        if start < end:
            blot = BLOT if whole_start >= offset else ""
            kept += [text[at:start], blot, "\n" * text.count("\n", start, end)]
            at = end
    return "".join([*kept, text[at:]])

"""
Texts that are shown without what stands above them, into the part that belongs to a secret which begins there. Pure.

What tells of a secret may stand in a line above it (`password: |`), so the lines behind a cut are looked at with some
of those in front of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from fim_lsp.context.secrets.scan import key_blocks, secrets

REACH = 400  # characters from a name to its value: `forms` and `statements` look less far


def n_begun_above(above: str, text: str) -> int:
    """Return how many characters of *text* end with a secret that only what stands *above* it tells, 0 for none."""
    near, head = above[-REACH:], text[: 2 * REACH]
    if not near.strip():
        return 0
    known = {n for start, end, _ in secrets(head) for n in range(start, end)}
    found = ((start - len(near), end - len(near)) for start, end, _ in secrets(near + head))
    return max(
        (end for start, end in found if not known.issuperset(range(max(0, start), end))), default=0
    )


def key_lines(text: str) -> Iterator[range]:
    """Yield the lines of each private key, or part of one, in *text*."""
    for start, end, _ in key_blocks(text):
        first = text.count("\n", 0, start)
        yield range(first, first + text.count("\n", start, end) + 1)

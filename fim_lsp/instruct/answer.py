"""
What a model answers into the lines that take the place of the selected ones. Pure.

It answers with a block of code, which may have been begun for it. The block's indentation becomes that of the
selection, and where a line with a secret comes back as it was shown, the secret is put back: it was never sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fim_lsp.context.secrets.scrub import BLOT
from fim_lsp.instruct.selection import Selection

OPENING = re.compile(r"^[ \t]{0,8}(`{3,9})[^`\n]{0,40}\n", re.MULTILINE)
REDACTED = "the lines hold what looks like a secret, and the answer would have changed it"


class Block(NamedTuple):
    """The lines of code in an answer so far; *is_whole* when no more can come."""

    lines: tuple[str, ...]
    is_whole: bool


def block(said: str, *, ended: bool = False) -> Block:
    """The first block of code in what the model *said*, as far as its lines are whole."""
    opening = OPENING.search(said)
    if opening is None:
        return Block((), is_whole=False)
    lines = said[opening.end() :].split("\n")
    closing = next((n for n, line in enumerate(lines) if line.strip() == opening[1]), None)
    if closing is not None:
        lines = lines[:closing]
    elif not ended:
        lines.pop()  # it may go on, or become the end of the block
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return Block(tuple(lines), closing is not None)


def placed(selection: Selection, lines: Sequence[str]) -> tuple[str, ...]:
    """The *lines* of an answer as they belong in the document: indented as the selection is, with its secrets."""
    first = next((line for line in selection.clean if line.strip()), "")
    new_first = next((line for line in lines if line.strip()), "")
    old, new = _indent(first), _indent(new_first)
    secrets = [
        (shown, line)
        for shown, line in zip(selection.clean, selection.lines, strict=True)
        if shown != line
    ]
    found = []
    for line in lines:
        moved = (old + line.removeprefix(new)) if line.startswith(new) else line
        moved = moved if line.strip() else ""
        for n, (shown, secret) in enumerate(secrets):
            if shown.strip() == moved.strip():
                moved = secret
                del secrets[n]
                break
        found.append(moved)
    return tuple(found)


def loses_secret(selection: Selection, lines: Sequence[str]) -> bool:
    """Whether *lines* have a blot where the selection has a secret, or the instruction had one."""
    n_own = sum(line.count(BLOT) for line in selection.lines)
    return sum(line.count(BLOT) for line in lines) > n_own


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]

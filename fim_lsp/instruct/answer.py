"""
A model's answer into the lines that replace the selected ones, as the fewest edits. Pure.

It answers with a block of code, which may have been begun for it. The block's indentation becomes
that of the selection, and where a line with a secret comes back as it was shown, the secret is put
back: it was never sent.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from fim_lsp.context.secrets.scan import BLOT
from fim_lsp.display import drop_invisible
from fim_lsp.documents import Document, Edit, Position, alike, line_end
from fim_lsp.instruct.dialogue import Selection
from fim_lsp.suggest.lines import indent

MOST_STEPS = 4_000_000  # of a comparison of lines: 0.4 s

OPENING = re.compile(r"^[ \t]{0,8}(`{3,9})[^`\n]{0,40}\n", re.MULTILINE)
REDACTED = "the lines hold what looks like a secret, and the answer would have changed it"


class AnswerBlock(NamedTuple):
    """The lines of code in an answer so far; *is_whole* when no more can come."""

    lines: tuple[str, ...]
    is_whole: bool


def block(answer: str, *, ended: bool = False) -> AnswerBlock:
    """Return the first block of code in the model's *answer*, as far as its lines are whole."""
    opening = OPENING.search(answer)
    if opening is None:
        return AnswerBlock((), is_whole=False)
    lines = answer[opening.end() :].split("\n")
    closing = next((n for n, line in enumerate(lines) if line.strip() == opening[1]), None)
    if closing is not None:
        lines = lines[:closing]
    elif not ended:
        lines.pop()  # it may go on, or become the end of the block
    written = [n for n, line in enumerate(lines) if line.strip()]
    lines = lines[written[0] : written[-1] + 1] if written else []
    return AnswerBlock(tuple(lines), closing is not None)


def place_lines(selection: Selection, lines: Sequence[str]) -> tuple[str, ...]:
    """
    Return the *lines* of an answer as they belong in the document: indented as the selection is,
    with its secrets.
    """
    first = next((line for line in selection.clean if line.strip()), "")
    old, new = indent(first), indent(next((line for line in lines if line.strip()), ""))
    shift = old.removesuffix(new) if old.endswith(new) else ""  # of lines that are indented less
    secrets = defaultdict[str, list[str]](list)  # by what was shown, the last one first
    for shown, line in zip(reversed(selection.clean), reversed(selection.lines), strict=True):
        if shown != line:
            secrets[shown.strip()].append(line)
    placed, own = [], {*"".join(selection.lines)}
    for line in (drop_invisible(raw, own) for raw in lines):
        moved = old + line.removeprefix(new) if line.startswith(new) else shift + line
        moved = moved if line.strip() else ""
        if secrets and secrets.get(moved.strip()):
            moved = secrets[moved.strip()].pop()
        placed.append(moved)
    return tuple(placed)


def loses_secret(selection: Selection, lines: Sequence[str]) -> bool:
    """
    Return whether *lines* have a blot where the selection has a secret, or the instruction had one.
    """
    n_own = sum(line.count(BLOT) for line in selection.lines)
    return sum(line.count(BLOT) for line in lines) > n_own


def add_line_ends(document: Document, last: int, lines: Sequence[str]) -> list[str]:
    """
    Return *lines* with the line ends they get in place of those before the line *last* of
    *document*.
    """
    if not lines:
        return []
    last_end = line_end(document.lines[last - 1])
    return [line + document.eol for line in lines[:-1]] + [lines[-1] + last_end]


def edits(document: Document, first: int, last: int, lines: Sequence[str]) -> list[Edit]:
    """
    Return the edits, none overlapping, that put *lines* in place of the lines [first, last).

    Of lines that are too many or too much alike to be compared, all between the first and the last
    that differ are one.
    """
    old, new = document.lines[first:last], tuple(add_line_ends(document, last, lines))
    head, tail = alike(old, new)
    inner, fresh = old[head : len(old) - tail], new[head : len(new) - tail]
    first += head
    if _n_steps(inner, fresh) > MOST_STEPS:
        return [Edit(_start(document, first), _start(document, first + len(inner)), "".join(fresh))]
    matcher = SequenceMatcher(None, inner, fresh, autojunk=False)
    return [
        Edit(_start(document, first + a), _start(document, first + b), "".join(fresh[c:d]))
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]


def _n_steps(old: Sequence[str], new: Sequence[str]) -> int:
    """
    Return how many steps a comparison takes at most: each equal pair of lines, for each part that
    is alike.
    """
    counts, others = Counter(old), Counter(new)
    n_pairs = sum(n * others[line] for line, n in counts.items())
    return (n_pairs + len(old)) * min(len(old), len(new))


def span(document: Document, first: int, last: int) -> tuple[Position, Position]:
    """
    Return the start and the end of the lines [first, last), with the line end of the last one.
    """
    return _start(document, first), _start(document, last)


def _start(document: Document, line: int) -> Position:
    if line < len(document.lines):
        return Position(line, 0)
    return Position(len(document.lines) - 1, len(document.lines[-1]))

"""
A model's answer into the lines that replace the selected ones, as the fewest edits. Pure.

The indentation becomes that of the selection, and where a line with a secret comes back as it was
shown, the secret is put back: it was never sent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple

from fim_lsp.display import drop_invisible
from fim_lsp.documents import Document, Edit, Position, alike, line_end
from fim_lsp.instruct import layout
from fim_lsp.instruct.blocks import find_block
from fim_lsp.instruct.dialogue import Dialogue, Selection
from fim_lsp.instruct.refusals import Refusal, find_refusal
from fim_lsp.next_edit.edits import CountErrors
from fim_lsp.suggest.lines import margin

MOST_STEPS = 4_000_000  # of a comparison of lines: 0.4 s


class Reading(NamedTuple):
    """The *lines* that an answer has for the document, and why they are not applied, or None."""

    lines: tuple[str, ...]
    refusal: Refusal | None


def read(
    text: str,
    dialogue: Dialogue,
    document: Document,
    replaced: Selection,
    count: CountErrors | None = None,
) -> Reading:
    """
    Return what the model's whole answer to *dialogue* means for *document*, where it is to take the
    place of the lines *replaced*. *count*: see `adds_errors`.
    """
    shown = dialogue.selection
    found = find_block(text, shown.clean, shown.language, ended=True)
    lines = place_lines(shown, found.lines)
    return Reading(lines, find_refusal(found, lines, dialogue, document, replaced, count))


def place_lines(selection: Selection, lines: Sequence[str]) -> tuple[str, ...]:
    """
    Return the *lines* of an answer as they belong in the document: indented as the selection is,
    with its secrets.
    """
    n_shown = len(selection.indent)
    shown = [line[n_shown:] for line in selection.clean]
    shared = margin(lines)
    begun = [line.removeprefix(shared) for line in lines]
    spelled = layout.respell(begun, shown, selection.unit, selection.language)
    placed = layout.place(spelled, selection.clean, selection.indent)
    return tuple(_put_back(selection, map(_drop_unseen(selection), placed)))


def _drop_unseen(selection: Selection) -> Callable[[str], str]:
    """Return what drops from a line the characters that no editor shows and no line here has."""
    own = {*"".join(selection.lines)}
    return partial(drop_invisible, keep=own)


def _put_back(selection: Selection, lines: Iterable[str]) -> Iterator[str]:
    """Yield *lines*, each with its secret where it is as it was shown."""
    secrets = defaultdict[str, list[str]](list)  # by what was shown, the last one first
    for shown, line in zip(reversed(selection.clean), reversed(selection.lines), strict=True):
        if shown != line:
            secrets[shown.strip()].append(line)
    for line in lines:
        yield secrets[line.strip()].pop() if secrets.get(line.strip()) else line


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
    old = document.lines[first:last]
    new = tuple(add_line_ends(document, last, lines))
    head, tail = alike(old, new)
    inner = old[head : len(old) - tail]
    fresh = new[head : len(new) - tail]
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
    counts = Counter(old)
    others = Counter(new)
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

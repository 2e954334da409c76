"""
Files into fill-in-the-middle examples, laid out by the code that lays out real prompts.

A user works in a package: a piece of a file is missing at the cursor, other places of the package are in
the ring. `window` freezes what is around the cursor, `heal` cuts the half word off, `fim.layout` puts all
in order; what was removed is the answer, and the end-of-text token marks its end. Deterministic: the same random numbers give the same examples.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fim_lsp.documents import CLOSERS, Document, Position, closes_only
from fim_lsp.prompt import window
from fim_lsp.prompt.half_words import heal
from server_bridge.fim.layout import layout
from server_bridge.protocol import Prompt
from training.neighbourhood import Neighbourhood, Shown
from training.tokens import END, FIM

CHARS_PER_TOKEN = 3.3  # a little low, so that examples fit their row
SCAFFOLD = 0.93  # of a row's characters: control tokens, paths and the answer need the rest
LEAST_OWN = 150  # characters of the file itself, or it says nothing

# Where the cursor stands, by how often: after part of a line, at the beginning of one, between two parts
# of one, after a complete one
KINDS = {"within": 45, "line": 30, "between": 15, "below": 10}
N_LINES = {1: 46, 2: 17, 3: 11, 4: 8, 5: 5, 6: 4, 8: 5, 12: 4}  # of the answer, by how often
TO_BLOCK_END = 0.4  # of the longer answers end where their block does
AT_WORD = 0.4  # of the cuts fall between words
NEAR = 0.8  # are short, so that answers are 3 % of all tokens: long ones alone would leave them 1 %
NEAR_TOKENS = (100, 600)
NO_RING = 0.3
FIRST_SHARE = 0.15
QUICK = 0.15  # small windows, as a request gets that would wait too long for a large one
TYPED_SINCE = 0.4  # have typed some lines since the window was anchored …
MOST_TYPED = 20  # … at most so many
UNHEALED = 0.12  # half words in the prompt: other clients leave them there
CLASSIC = 0.12  # typed text before the suffix: other clients put it there

Encode = Callable[[str], Sequence[int]]


class Gap(NamedTuple):
    """The missing text: from the cursor to *end*."""

    cursor: Position
    end: Position


class Example(NamedTuple):
    """The prompt, and the answer that follows the half word it must begin with."""

    prompt: Prompt
    answer: str


def example(rng: random.Random, place: Neighbourhood, n_tokens: int) -> Example | None:
    """Return an example of at most about *n_tokens*; None where the file is too small for what was drawn."""
    file = place.any_file(rng)
    gap = gap_in(rng, file.lines)
    near = rng.random() < NEAR
    n_wanted = rng.randint(*NEAR_TOKENS) if near else 10 ** rng.uniform(-0.95, 0) * n_tokens
    n_chars = min(n_wanted, n_tokens) * CHARS_PER_TOKEN * SCAFFOLD
    for_ring = 0.0 if rng.random() < NO_RING else n_chars * rng.uniform(0.3, 0.75)
    if gap is None or n_chars - for_ring < LEAST_OWN:
        return None
    document, removed = without(file.lines, gap)
    around = anchored(rng, document, gap.cursor, n_chars - for_ring)
    right = window.right_of(document, gap.cursor)
    answer = removed + (right if closes_only(right) else "")
    typed = document.before(gap.cursor, around.anchor)
    kept, half = (typed, "") if rng.random() < UNHEALED else heal(typed)
    n_below = around.suffix.count("\n") + 1
    shown = Shown(file.path, around.first, gap.end.line + n_below)
    wanted = answer if rng.random() < 0.7 else typed + around.suffix[:500]
    chunks = place.chunks(rng, shown, wanted, for_ring) if for_ring else ()
    before = around.prefix
    middle = kept
    if rng.random() < CLASSIC:
        before = before + kept
        middle = ""
    prompt = Prompt(place.repo, chunks, file.path, before, around.suffix, middle, forced=half)
    return Example(prompt, answer)


def gap_in(rng: random.Random, lines: Sequence[str]) -> Gap | None:
    """Return what to remove from a file."""
    first = _telling_line(rng, lines)
    last = _last_line(rng, lines, first)
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    text = lines[first].rstrip("\n")
    end = len(lines[last].rstrip("\n"))
    indent = len(text) - len(text.lstrip())
    if kind == "line":
        return Gap(Position(first, indent), Position(last, end))
    if kind == "below":
        above = max(0, first - 1)
        return Gap(Position(above, len(lines[above]) - 1), Position(last, end))
    if len(text) < indent + 3:
        return None
    column = _cut(rng, text, indent + 1, len(text) - 1)
    if kind == "within":
        return Gap(Position(first, column), Position(last, end))
    closers = len(text) - len(text.rstrip("".join(CLOSERS)))
    stop = len(text) - closers if rng.random() < 0.5 else rng.randint(column + 1, len(text))
    return Gap(Position(first, column), Position(first, stop)) if stop > column else None


def without(lines: Sequence[str], gap: Gap) -> tuple[Document, str]:
    """Return the file as the editor has it, and what is missing in it."""
    whole = Document("", "", 1, (*lines, ""))
    cursor, end = gap
    joined = lines[cursor.line][: cursor.column] + lines[end.line][end.column :]
    rest = (*lines[: cursor.line], joined, *lines[end.line + 1 :], "")
    return Document("", "", 1, rest), whole.between(cursor, end)


def anchored(
    rng: random.Random, document: Document, cursor: Position, n_chars: float
) -> window.Window:
    """Return the window at *cursor*, anchored there or some lines of typing ago."""
    for_suffix = rng.choice((0.0, 0.1, 0.2, 0.2, 0.3, 0.45))
    budget = window.Budget(
        prefix=int(n_chars * (1 - for_suffix)),
        suffix=int(n_chars * for_suffix),
        middle=int(rng.choice((0, 200, 850, 850)) + n_chars * 0.1),
    )
    n_typed = rng.randint(1, MOST_TYPED) if rng.random() < TYPED_SINCE else 0
    start = max(0, cursor.line - n_typed)
    share = FIRST_SHARE if rng.random() < QUICK else 1.0
    if start < cursor.line:  # as it was when the first of these lines was begun
        tail = window.right_of(document, cursor) + "\n"
        lines = (*document.lines[:start], tail, *document.lines[cursor.line + 1 :])
        then = Document("", "", 1, lines)
        return window.place_window(then, Position(start, 0), budget, None, share=share)
    return window.place_window(document, cursor, budget, None, share=share)


def encoded(one: Example, encode: Encode) -> tuple[list[int], int]:
    """Return the example as token ids, the answer and its end last; and how many tokens these are."""
    ids: list[int] = []
    for segment in layout(one.prompt, FIM):
        ids += [*segment.marks, *encode(segment.text)]
    ids += encode(one.prompt.middle)
    answer = [*encode(one.prompt.forced + one.answer), END]
    return ids + answer, len(answer)


def stream(
    rng: random.Random, places: Sequence[Neighbourhood], encode: Encode, row_tokens: int
) -> Iterator[tuple[list[int], int]]:
    """Examples that fit a row, for ever."""
    weights = [place.weight for place in places]
    while True:
        (place,) = rng.choices(places, weights)
        if one := example(rng, place, row_tokens):
            ids, n_answer = encoded(one, encode)
            if len(ids) <= row_tokens + 1:
                yield ids, n_answer


def _telling_line(rng: random.Random, lines: Sequence[str]) -> int:
    """Return where the gap begins: not on a blank line, seldom on a comment."""
    line = 0
    for _ in range(20):
        line = rng.randrange(len(lines))
        comment = re.match(r"\s*(#|//|\*|/\*|--)", lines[line])
        if lines[line].strip() and not (comment and rng.random() < 0.7):
            break
    return line


def _last_line(rng: random.Random, lines: Sequence[str], first: int) -> int:
    """Return the last line of the gap: some lines on, or where the block ends."""
    last = min(len(lines), first + rng.choices(list(N_LINES), list(N_LINES.values()))[0]) - 1
    if last > first and rng.random() < TO_BLOCK_END:
        indent = _indent(lines[first])
        inside = (n for n in range(first + 1, last + 1) if lines[n].strip())
        last = next((n - 1 for n in inside if _indent(lines[n]) < indent), last)
    while last > first and not lines[last].strip():
        last -= 1
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _cut(rng: random.Random, line: str, low: int, high: int) -> int:
    """Return a place in a line, now and then at the start of a word."""
    place = rng.randint(low, max(low, high))
    if rng.random() < AT_WORD:
        while low < place < len(line) and line[place - 1].isalnum() and line[place].isalnum():
            place -= 1
    return place

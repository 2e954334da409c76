"""
Lines to be changed, and an instruction, into what a model is asked. Pure.

The lines are shown without what looks like a secret and without the indentation that all of them
have: small models lose it. The instruction stands last, so that all before it can be evaluated
while the user types it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import NamedTuple

from fim_lsp.context.secrets.scan import BLOT, scrub_parts, scrub_text
from fim_lsp.display import drop_controls
from fim_lsp.documents import Document, Edit, Position, alike, body, line_end, unix
from server_bridge.protocol import Prompt, Timings

AROUND = 300  # lines looked at for secrets that reach into the selection …
AROUND_CHARS = 20_000  # … and so many characters at most: what a private key of 16,384 bits takes
# characters of a selection: a model at home would take an hour to write them again
LONGEST = 64_000
# Stands first, so that it is evaluated once for all selections.
TASK = (
    "Change the following lines as the instruction below them says. Answer with one block of code: "
    "all of these lines after the change, those that stay the same as well, and nothing else."
)
NEAR = 10  # lines above and below what is wrong: enough to fix most things, and soon written
FENCE = "```"


class Selection(NamedTuple):
    """
    The lines [first, last) of a document without their ends; *clean* are the same as a model may
    see them.

    *indent* is what all of them begin with, blank ones aside.
    """

    first: int
    last: int
    lines: tuple[str, ...]
    clean: tuple[str, ...]
    indent: str


def select_lines(document: Document, start: Position, end: Position) -> Selection:
    """
    Return the whole lines from *start* to *end*; the line that a selection ends before does not
    count, nor do blank ones at its ends: an answer has none there.
    """
    first, last = _span(document, start, end)
    visible = [n for n in range(first, last) if document.lines[n].strip()] or [first, last - 1]
    first, last = visible[0], visible[-1] + 1
    lines = tuple(map(body, document.lines[first:last]))
    around = (document.lines[max(0, first - AROUND) : first], document.lines[last : last + AROUND])
    above, below = (unix("".join(part)) for part in around)
    above, below = above[-AROUND_CHARS:], below[:AROUND_CHARS]
    shown = scrub_parts((above, "\n".join(lines), "\n" * bool(below) + below))[1]
    clean = tuple(shown.split("\n"))
    return Selection(first, last, lines, clean, _indent(clean))


def is_too_long(document: Document, start: Position, end: Position) -> bool:
    """Return whether so much is selected that it is not even looked at."""
    first, last = _span(document, start, end)
    return sum(map(len, document.lines[first:last])) > LONGEST


def _span(document: Document, start: Position, end: Position) -> tuple[int, int]:
    first, last = sorted((document.clamp(start), document.clamp(end)))
    end_line = last.line + (last.column > 0 or last.line == first.line)
    if end_line == len(document.lines) > first.line + 1 and not document.lines[-1]:
        end_line -= 1
    return first.line, end_line


def around(document: Document, start: Position, end: Position) -> range:
    """
    Return the lines to rewrite for what is wrong from *start* to *end*: up to the next blank ones,
    some at most.
    """
    lines = document.lines
    first, last = top, bottom = _span(document, start, end)
    while top > max(0, first - NEAR) and lines[top - 1].strip():
        top -= 1
    while bottom < min(len(lines), last + NEAR) and lines[bottom].strip():
        bottom += 1
    return range(top, bottom)


def fence(texts: tuple[str, ...]) -> str:
    """Return the fence of a code block that can hold *texts*."""
    return FENCE + "`" * any(FENCE in text for text in texts)


def begin_answer(selection: Selection, language: str) -> str:
    """Return the beginning of an answer, for models whose answer can be begun."""
    return f"{fence(selection.clean)}{language}\n"


def turn(selection: Selection, path: str, language: str, instruction: str) -> str:
    """Return the question for the model."""
    code = "\n".join(line.removeprefix(selection.indent) for line in selection.clean)
    mark = fence(selection.clean)
    return (
        f"{TASK}\n\nLines {selection.first + 1} to {selection.last} of {scrub_text(path)}:\n"
        f"{mark}{language}\n{code}\n{mark}\n\nInstruction:\n{scrub_text(instruction)}"
    )


def further(instruction: str) -> str:
    """Return the question behind an answer."""
    return f"Rewrite these lines again, all of them.\n\nInstruction:\n{scrub_text(instruction)}"


def _indent(lines: tuple[str, ...]) -> str:
    """Return the indentation that all lines share, blank ones aside."""
    indents = [_indent_of(line) for line in lines if line.strip()]
    shared = min(indents, key=len, default="")
    while not all(indent.startswith(shared) for indent in indents):
        shared = shared[:-1]
    return shared


# -- dialogue ----------------------------------------------------------------------------------
# A dialogue with a model about some lines: the next turn begins where the last one ended. Pure.


class Instruction(NamedTuple):
    """
    An instruction for the text from *start* to *end*. *problems* are messages of diagnostics to be
    fixed.

    *again*: the last instruction once more, for another answer; *more*: a further one for what came
    of the last.
    """

    start: Position
    end: Position
    instruction: str = ""
    problems: tuple[str, ...] = ()
    again: bool = False
    more: bool = False


class Tokens(NamedTuple):
    """
    The cost of an edit: *evaluated* and *cached* of the prompt, *predicted* for the answer,
    *drafted* of these.
    """

    evaluated: int = 0
    cached: int = 0
    predicted: int = 0
    drafted: int = 0

    def plus(self, cost: Timings) -> Tokens:
        """Add the cost of a piece of an answer, of which the first one tells what was cached."""
        return Tokens(
            self.evaluated + cost.prompt_n,
            self.cached or cost.cache_n,
            self.predicted + cost.predicted_n,
            self.drafted + cost.draft_accepted_n,
        )


class Edited(NamedTuple):
    """
    The *lines* that take the place of the lines [first, last) of *document*, None for no change:
    then *note* says why.
    """

    document: Document | None = None
    first: int = 0
    last: int = 0
    lines: tuple[str, ...] | None = None
    note: str = ""
    tokens: Tokens = Tokens()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """
    *context* is the prompt without turns, which shows the lines *shown*; *turns* end with the
    question asked last.

    *answer* is what the model said to that, "" before it did, and *result* what was made of it.
    *sample*: see `Request`. *others* are the other files that the turns have code from.
    """

    context: Prompt
    shown: range
    selection: Selection
    turns: tuple[str, ...]
    answer: str = ""
    result: tuple[str, ...] = ()
    sample: int = 0
    others: tuple[str, ...] = ()

    def is_about(self, lines: tuple[str, ...]) -> bool:
        """Return whether *lines* are those that were asked about, or what came of them."""
        return lines in (self.selection.lines, self.result)

    def serves(self, selection: Selection) -> bool:
        """Return whether the context shows where *selection* is."""
        return selection.first in self.shown


def continue_dialogue(
    last: Dialogue | None, question: Instruction, lines: tuple[str, ...]
) -> Dialogue | None:
    """
    Return the *last* dialogue with the next *question*, where that goes on with it; *lines* are
    those to be replaced.
    """
    if last is None or not last.is_about(lines):
        return None
    if question.again:
        return replace(last, answer="", sample=last.sample + 1)
    if question.more and last.answer:
        turns = (*last.turns, last.answer, further(question.instruction))
        return replace(last, turns=turns, answer="", sample=0)
    return None


# -- answer ------------------------------------------------------------------------------------
# A model's answer into the lines that replace the selected ones. Pure.
#
# It answers with a block of code, which may have been begun for it. The block's indentation becomes
# that of the selection, and where a line with a secret comes back as it was shown, the secret is
# put back: it was never sent.


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
    new_first = next((line for line in lines if line.strip()), "")
    old, new = _indent_of(first), _indent_of(new_first)
    shift = old.removesuffix(new) if old.endswith(new) else ""  # of lines that are indented less
    secrets = defaultdict[str, list[str]](list)  # by what was shown, the last one first
    for shown, line in zip(reversed(selection.clean), reversed(selection.lines), strict=True):
        if shown != line:
            secrets[shown.strip()].append(line)
    placed, own = [], {*"".join(selection.lines)}
    for line in (drop_controls(raw, own) for raw in lines):
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


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


# -- lines of a document and what takes their place into the fewest whole lines to change. Pure --


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
        end = _start(document, first + len(inner))
        return [Edit(_start(document, first), end, "".join(fresh))]
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

"""
Lines to be changed, and an instruction, into what a model is asked; the next turn of a dialogue
about them begins where the last one ended. Pure.

The lines are shown without what looks like a secret and without the indentation that all of them
have: small models lose it. The instruction stands last, so that all before it can be evaluated
while the user types it. Some need not be typed: for a selection (`SELECTED`), and for what another
server says is wrong (`fix`).
"""

from __future__ import annotations

import pkgutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fim_lsp.context.secrets.scan import scrub_parts, scrub_text
from fim_lsp.display import sanitize
from fim_lsp.documents import Document, Position, body, unix
from fim_lsp.instruct.blocks import FENCE, MARKUP, longest_fence
from fim_lsp.instruct.layout import unit_of
from fim_lsp.suggest.cursor import ABOVE_LINES, BELOW_LINES, DEFAULT_INDENT
from fim_lsp.suggest.lines import margin
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
# Asked once, where an answer is not the whole.
WHOLE = (
    "That is not all of the lines, or more than them. Answer again, with one block of code between "
    "two lines {mark}: all of these lines after the change, each of them written out, those that "
    "stay the same as well, and nothing else."
)
LONGER_FENCE = FENCE + "`"
NEAR = 10  # lines above and below what is wrong: enough to fix most things, and soon written


class Selection(NamedTuple):
    """
    The lines [first, last) of a document without their ends; *clean* are the same as a model may
    see them.

    *indent* is what all of them begin with, blank ones aside, and *unit* a level of indentation
    there.
    """

    first: int
    last: int
    lines: tuple[str, ...]
    clean: tuple[str, ...]
    indent: str
    unit: str = DEFAULT_INDENT
    language: str = ""


def select_lines(document: Document, start: Position, end: Position) -> Selection:
    """
    Return the whole lines from *start* to *end*; the line that a selection ends before does not
    count, nor do blank ones at its ends: an answer has none there.
    """
    first, last = _span(document, start, end)
    visible = [n for n in range(first, last) if document.lines[n].strip()] or [first, last - 1]
    first = visible[0]
    last = visible[-1] + 1
    lines = tuple(map(body, document.lines[first:last]))
    around = (document.lines[max(0, first - AROUND) : first], document.lines[last : last + AROUND])
    above, below = (unix("".join(part)) for part in around)
    above = above[-AROUND_CHARS:]
    below = below[:AROUND_CHARS]
    rest = f"\n{below}" if below else ""
    shown = scrub_parts((above, "\n".join(lines), rest))[1]
    clean = tuple(shown.split("\n"))
    near = (*above.split("\n")[-ABOVE_LINES:], *clean, *below.split("\n")[:BELOW_LINES])
    unit = unit_of(clean, near, document.language)
    return Selection(first, last, lines, clean, margin(clean), unit, document.language)


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


def fence(texts: Sequence[str], language: str) -> str:
    """Return the fence of a code block that can hold *texts*, and what may be made of them."""
    n_inner = max(longest_fence(texts), len(FENCE) if language in MARKUP else 0)
    return "`" * max(len(FENCE), n_inner + 1)


def begin_answer(selection: Selection, language: str) -> str:
    """Return the beginning of an answer, for models whose answer can be begun."""
    return f"{fence(selection.clean, language)}{language}\n"


def turn(selection: Selection, path: str, language: str, instruction: str) -> str:
    """Return the question for the model."""
    code = "\n".join(line.removeprefix(selection.indent) for line in selection.clean)
    mark = fence(selection.clean, language)
    return (
        f"{TASK}\n\nLines {selection.first + 1} to {selection.last} of {scrub_text(path)}:\n"
        f"{mark}{language}\n{code}\n{mark}\n\nInstruction:\n{scrub_text(instruction)}"
    )


def further(instruction: str) -> str:
    """Return the question behind an answer."""
    return f"Rewrite these lines again, all of them.\n\nInstruction:\n{scrub_text(instruction)}"


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
    cost: Timings = Timings()

    @property
    def tokens(self) -> dict[str, int]:
        """The cost as clients are told it: of the prompt, then of the answer."""
        cost = self.cost
        return {
            "evaluated": cost.prompt_n, "cached": cost.cache_n,
            "predicted": cost.predicted_n, "drafted": cost.draft_accepted_n,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialogue:
    """
    *context* is the prompt without turns, which shows the lines *shown*; *turns* end with the
    question asked last.

    *instruction* is what the user wants by that; *answer* is what the model said, "" before it did,
    and *result* what was made of it. *sample*: see `Request`.
    """

    context: Prompt
    shown: range
    selection: Selection
    turns: tuple[str, ...]
    instruction: str = ""
    answer: str = ""
    result: tuple[str, ...] = ()
    sample: int = 0

    def prompt(self, language: str) -> Prompt:
        """Return the prompt for the answer to the last question, in that *language*."""
        middle = begin_answer(self.selection, language)
        return replace(self.context, turns=self.turns, middle=middle)


def continue_dialogue(
    last: Dialogue | None, question: Instruction, lines: tuple[str, ...]
) -> Dialogue | None:
    """
    Return the *last* dialogue with the next *question*, where that goes on with it: *lines*, those
    to be replaced, are what it asked about, or what came of that.
    """
    if last is None or lines not in (last.selection.lines, last.result):
        return None
    if question.again:
        return replace(last, answer="", sample=last.sample + 1)
    if question.more and last.answer:
        turns = (*last.turns, last.answer, further(question.instruction))
        return replace(last, turns=turns, instruction=question.instruction, answer="", sample=0)
    return None


def ask_whole(last: Dialogue, answer: str) -> Dialogue:
    """Return *last* with the question for all lines, where the *answer* left some out."""
    mark = max(fence(last.selection.clean, last.selection.language), LONGER_FENCE)
    return replace(last, turns=(*last.turns, answer, WHOLE.format(mark=mark)), answer="")


TITLE_CHARS = 60
MOST_PROBLEMS = 3  # of a place; the first is often the cause of the others
MESSAGE_CHARS = 400
# of a message, for secrets: one that is cut off is not known any more
LOOKED_AT = 4 * MESSAGE_CHARS


# for selected lines, by its title in a menu
SELECTED: dict[str, str] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "presets.toml") or b"").decode()
)


def fix(problems: Sequence[str]) -> tuple[str, str]:
    """
    Return the title in a menu, and the instruction to fix *problems*, each the message of a
    diagnostic.
    """
    clean = (scrub_text(problem[:LOOKED_AT]) for problem in problems[:MOST_PROBLEMS])
    shown = [sanitize(problem, MESSAGE_CHARS) for problem in clean]
    parts = ["Fix this problem, and change nothing else:", *(f"- {message}" for message in shown)]
    return f"Fix: {sanitize(problems[0], TITLE_CHARS)}", "\n".join(parts)

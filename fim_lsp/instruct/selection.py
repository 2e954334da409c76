"""
Lines to be changed, and an instruction, into what a model is asked. Pure.

The lines are shown without what looks like a secret and without the indentation that all of them
have: small models lose it. The instruction stands last, so that all before it can be evaluated
while the user types it.
"""

from __future__ import annotations

from typing import NamedTuple

from fim_lsp.context.secrets.scan import scrub_parts, scrub_text
from fim_lsp.documents import Document, Position, body, unix
from fim_lsp.suggest.lines import margin

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
    return Selection(first, last, lines, clean, margin(clean))


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

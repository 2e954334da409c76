"""A dialogue with a model about some lines: the next turn begins where the last one ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from fim_lsp.documents import Document, Position
from fim_lsp.instruct.selection import Selection, further
from server_bridge.protocol import Prompt, Timings


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

    *answer* is what the model said to that, "" before it did, and *result* what was made of it.
    *sample*: see `Request`.
    """

    context: Prompt
    shown: range
    selection: Selection
    turns: tuple[str, ...]
    answer: str = ""
    result: tuple[str, ...] = ()
    sample: int = 0


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
        return replace(last, turns=turns, answer="", sample=0)
    return None

"""A further instruction goes on where the last one ended, or begins again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fim_lsp.documents import Position
from fim_lsp.instruct.dialogue import Dialogue, Instruction, Selection, continue_dialogue, further
from server_bridge.protocol import Prompt

LINES = ("x = 1",)
RESULT = ("x = 2",)
START = Position(3, 0)
END = Position(4, 0)
LAST = Dialogue(
    Prompt("shop", (), "a.py", "", "", ""), range(10), Selection(3, 4, LINES, LINES, ""),
    ("make it two",), answer="x = 2\n```", result=RESULT, sample=1,
)  # fmt: skip
AGAIN = Instruction(START, END, again=True)
MORE = Instruction(START, END, "make it three", more=True)


@pytest.mark.parametrize("lines", [LINES, RESULT], ids=["those asked about", "the result"])
def test_another_answer_is_asked_for_in_the_same_words(lines: tuple[str, ...]) -> None:
    """The next sample of the same question."""
    assert continue_dialogue(LAST, AGAIN, lines) == replace(LAST, answer="", sample=2)


def test_a_further_instruction_follows_the_answer() -> None:
    """The model sees what it said, and the first sample is taken again."""
    found = continue_dialogue(LAST, MORE, RESULT)
    assert found is not None
    assert found.turns == ("make it two", "x = 2\n```", further("make it three"))
    assert (found.answer, found.sample) == ("", 0)


@pytest.mark.parametrize(
    ("last", "asked", "lines"),
    [
        (None, AGAIN, LINES),
        (LAST, AGAIN, ("y = 1",)),
        (LAST, Instruction(START, END, "something else"), LINES),
        (replace(LAST, answer=""), MORE, LINES),
    ],
    ids=["no dialogue", "other lines", "a new question", "no answer yet"],
)
def test_what_does_not_go_on_begins_again(
    last: Dialogue | None, asked: Instruction, lines: tuple[str, ...]
) -> None:
    """Nothing of another question or of other lines is shown to the model."""
    assert continue_dialogue(last, asked, lines) is None

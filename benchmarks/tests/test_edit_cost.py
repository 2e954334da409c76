"""What counts as a changed line on screen, and as a task that is done."""

from __future__ import annotations

import ast

import pytest

from benchmarks.edit_cost.cases import CASES, Case, lines_of, outcome
from benchmarks.edit_cost.screen import Drawn, times

FUNCTION = ("def area(width, height):", "    return width * height")
RULE = "====="
HINT = " <CR> applies, <Esc> rejects"


def llama_vim(preview: str) -> tuple[str, ...]:
    return (RULE, "Instruction: double it", f"Generating:    3 tokens | {preview}", RULE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.module.__name__)
def test_a_case_is_a_file_with_two_functions(case: Case) -> None:
    """It parses, has 200 lines or more, and the second function stands below the first."""
    ast.parse(case.text)
    assert 200 <= case.text.count("\n") <= 400
    (_, end), (start, _) = (lines_of(case.text, task) for task in case.tasks)
    assert end < start


def test_what_became_of_a_file() -> None:
    """The task's asserts are run; a fence that was left in the text is named."""
    case = CASES[0]
    task, text = case.tasks[0], case.text
    done = text.replace("res = a * b\n    return res", "product = a * b\n    return product")
    assert outcome(text, text, task) == "unchanged"
    assert outcome(text, text.replace("def calc", "```\ndef calc"), task) == "fences"
    assert outcome(text, text.replace("def calc(a, b)", "def calc(a)"), task) == "another change"
    assert outcome(text, done, task) == "done"


def test_a_change_that_is_drawn_as_a_diff() -> None:
    """Every line of it but the hint is a changed one."""
    drawn = [
        Drawn(1, (" <Esc> cancels",)),
        Drawn(2, ("    # a product", " <Esc> cancels")),
        Drawn(3, ("    # a product", HINT)),
    ]
    assert times(drawn, FUNCTION) == (2, 3)


def test_a_line_that_is_being_written_is_new_once_no_line_begins_so() -> None:
    """A fence and what llama.vim says of itself are no lines."""
    drawn = [
        Drawn(1, (RULE, "Processing ...", RULE)),
        *(Drawn(2, llama_vim(text)) for text in ("[thinking]", "```python", "def area(wid")),
        Drawn(3, llama_vim("return 2")),
        Drawn(4, (RULE, *FUNCTION, RULE)),
    ]
    assert times(drawn, FUNCTION) == (3, 4)


def test_an_answer_that_changes_nothing() -> None:
    """It ends, and no changed line was seen."""
    assert times(
        [Drawn(2, llama_vim("def area")), Drawn(4, (RULE, *FUNCTION, RULE))], FUNCTION
    ) == (-1, 4)
    assert times([Drawn(1, (" <Esc> cancels",)), Drawn(5, ())], FUNCTION) == (-1, 5)

"""Edits by instruction as the files of `cases` have them."""

from __future__ import annotations

from typing import Any

import pytest

from fim_lsp.documents import Document, Position, apply_edits, open_document
from fim_lsp.instruct.answer import Reading, edits, read
from fim_lsp.instruct.dialogue import Dialogue, Selection, begin_answer, select_lines, turn
from fim_lsp.next_edit.edits import count_here
from server_bridge.protocol import Prompt
from tests.instruct.instruct_cases import INSTRUCTION, cases

CASES = cases()


def selected(case: dict[str, Any]) -> tuple[Document, Selection]:
    """Return the document of a case, and what is selected in it."""
    head, _, rest = case["text"].partition("«")
    inner, _, tail = rest.partition("»")
    document = open_document("file:///a", case["language"], 1, head + inner + tail)
    ends = [
        Position(text.count("\n"), len(text) - text.rfind("\n") - 1)
        for text in (head, head + inner)
    ]
    return document, select_lines(document, *ends)


def read_case(case: dict[str, Any], answer: str) -> tuple[Document, Selection, Reading]:
    document, selection = selected(case)
    instruction = case.get("instruction", INSTRUCTION)
    asked = (turn(selection, "a", document.language, instruction),)
    dialogue = Dialogue(Prompt("", (), "", "", ""), range(1), selection, asked, instruction)
    begun = begin_answer(selection, document.language) if case.get("begun") else ""
    return document, selection, read(begun + answer, dialogue, document, selection, count_here)


@pytest.mark.parametrize("name", CASES)
def test_an_edit_does_what_was_asked_or_nothing(name: str) -> None:
    """And says why."""
    case = CASES[name]
    answers = [case["answer"], *([case["again"]] if "again" in case else ())]
    for n, answer in enumerate(answers, start=1):
        document, selection, (lines, refusal) = read_case(case, answer)
        if n < len(answers):
            assert refusal is not None
            assert refusal.again
    assert (refusal.why if refusal else "") == case.get("note", "")
    if refusal is None:
        made = apply_edits(document, reversed(edits(document, *selection[:2], lines)), 2)
        assert made.text == case["expected"]


def test_the_cases_are_many_and_of_all_grammars() -> None:
    """Each report has its neighbours."""
    assert len(CASES) >= 80

"""Edits by instruction as the files of `cases` have them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.grammars import GRAMMARS
from fim_lsp.documents import Document, Position, apply_edits, open_document
from fim_lsp.instruct.answer import Reading, edits, read
from fim_lsp.instruct.blocks import NO_BLOCK, TOO_LARGE
from fim_lsp.instruct.dialogue import Dialogue, Selection, begin_answer, select_lines, turn
from fim_lsp.instruct.refusals import CONTROL, EMPTY
from fim_lsp.next_edit.edits import text_of
from server_bridge.protocol import Prompt
from tests.instruct.instruct_cases import INSTRUCTION, cases
from tests.parsing import count_here

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


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("```\n" + "x = 1\n" * 170_000 + "```", TOO_LARGE),
        ("```\nx = '" + "y" * 200_000 + "'\n```", TOO_LARGE),
        ("x" * 200_000, NO_BLOCK),
        ("`" * 200_000, EMPTY),
        ("```\n" * 60_000, EMPTY),
        ("<think>\n" * 30_000, NO_BLOCK),
        ("x\n<think></think>\n" * 12_000, NO_BLOCK),
        ("\0" * 200_000, NO_BLOCK),
        ("```\nx\0\n```", CONTROL),
    ],
)
def test_an_answer_that_is_none_changes_nothing(answer: str, why: str) -> None:
    """However long it is."""
    case = {"text": "«x = 1\n»", "language": "python"}
    refusal = read_case(case, answer)[2].refusal
    assert refusal is not None
    assert refusal.why == why


TEXTS = {case["language"]: case for case in CASES.values()}
PIECES = [
    "",
    "{",
    "}",
    "(",
    ")",
    '"',
    "'",
    "`",
    '"""',
    "/*",
    "*/",
    "<!--",
    "```",
    "```sh",
    "end",
    "\t",
    "x",
]


def test_the_texts_are_of_all_grammars() -> None:
    """So that no language is left out below."""
    assert GRAMMARS.keys() <= TEXTS.keys()


@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_what_is_applied_changes_the_selection_only_and_adds_no_error(
    language: str, data: st.DataObject
) -> None:
    """Whatever is selected, and whatever is said."""
    text = TEXTS[language]["text"].replace("«", "").replace("»", "")
    document = open_document("file:///a", language, 1, text)
    first = data.draw(st.integers(0, len(document.lines) - 1))
    last = data.draw(st.integers(first + 1, len(document.lines)))
    selection = select_lines(document, Position(first, 0), Position(last, 0))
    lines = [*selection.clean, *data.draw(st.lists(st.sampled_from(PIECES), max_size=3))]
    lines = data.draw(st.permutations(lines)) if data.draw(st.booleans()) else lines
    cut = data.draw(st.integers(0, len(lines)))
    fence = data.draw(st.sampled_from(["```", "````", "~~~"]))
    dialogue = Dialogue(Prompt("", (), "", "", ""), range(1), selection, ("",), "delete it")
    answer = "\n".join([fence, *lines[:cut], *lines[cut + 1 :], fence])
    made, refusal = read(answer, dialogue, document, selection, count_here)
    if refusal is None:
        changes = edits(document, selection.first, selection.last, made)
        after = apply_edits(document, reversed(changes), 2)
        assert after.lines[: selection.first] == document.lines[: selection.first]
        assert after.text.endswith("".join(document.lines[selection.last :]))
        assert (count_here(text_of(after)) or 0) <= (count_here(text_of(document)) or 0)

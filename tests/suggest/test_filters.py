"""The filters, by golden files, and what must hold for any text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fim_lsp.suggest.filters import FILTERS, NAMES, polish
from fim_lsp.suggest.place import Draft
from tests.suggest.golden_cases import cases, check, parsed

CASES = cases()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_golden(case: dict[str, Any]) -> None:
    """What is shown, what it replaces and which filters had a say, as the case has it."""
    check(case)


def test_every_filter_has_golden_cases() -> None:
    """A folder for each filter, with at least one case in which it changes something."""
    assert len(CASES) >= 60
    shown = {name for case in CASES.values() for name in case.get("by", [])}
    assert shown == NAMES | {"model"}
    assert {name.split("/")[0] for name in CASES} <= NAMES | {"kept"}


FILES = [
    "def f(x):\n    ▮\n    return x\n",
    "print(▮)\n",
    "if (a) {\n\t▮\n}\n",
    'x = ["▮"]',
    "def f(▮",
    "▮",
    "a = b▮ + c\n",
]
PIECES = [
    "\n", "    ", "\t", "x", "return x", "(", ")", "]", "{", "}", '"', "'", ", ", ":", "else:",
    "# ", "<|fim_pad|>", "def f(a):\n", "`", "é", "🙂", "\\", "```", "// a/b.c\n", '"""', "\ufffd", ";",
]  # fmt: skip
raw_texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(
    st.sampled_from(FILES),
    raw_texts,
    st.booleans(),
    st.sampled_from(["python", "c", "rust", "lua"]),
)
@example("▮", "x" * 5000, True, "python")
def test_a_suggestion_is_part_of_what_the_model_said(
    file: str, raw: str, whole: bool, language: str
) -> None:
    """Whatever comes in: no error, nothing invented, and a reason where nothing is left."""
    place, _ = parsed(file, language)
    draft = polish(Draft(raw, whole), place)
    assert squeezed(draft.text) in squeezed(raw)
    assert draft.text or draft.cuts
    assert 0 <= draft.replaces <= len(place.after)
    assert {cut.filter for cut in draft.cuts} <= NAMES | {"model"}


def test_filters_can_be_left_out() -> None:
    """A benchmark measures a filter by switching it off."""
    place, raw = parsed("print(▮⟦x)⟧)")
    assert polish(Draft(raw), place).text == ""
    assert polish(Draft("xy)"), place).text == "xy"
    assert polish(Draft("xy)"), place, off={"right_text", "parses"}).text == "xy)"
    assert len(FILTERS) == len(NAMES)

"""The filters, by golden files, and what must hold for any text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.ends import standing
from fim_lsp.suggest.filters.order import LEFT, MEANT, polish
from fim_lsp.suggest.reasons import Outcome
from tests.suggest.golden_cases import cases, check, parsed

CASES = cases()
NAMES = {step.__name__ for step in (*MEANT, *LEFT)}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_golden(case: dict[str, Any]) -> None:
    """What is shown, what it replaces and which filters had a say, as the case has it."""
    check(case)


def test_every_filter_has_golden_cases() -> None:
    """A folder for each filter, with at least one case in which it changes something."""
    assert len(CASES) >= 60
    shown = {name for case in CASES.values() for name in case.get("by", [])}
    wanted = NAMES | {"model", "not sure"}
    missing = wanted - shown
    unknown = shown - wanted
    assert not missing, f"no case in tests/suggest/golden has `by` = {sorted(missing)}"
    assert not unknown, f"`by` of a case is unknown to MEANT and LEFT: {sorted(unknown)}"
    folders = {name.split("/")[0] for name in CASES} - NAMES - {"kept", "not_sure"}
    assert not folders, f"folders of tests/suggest/golden without a filter: {sorted(folders)}"


FILES = [
    "def f(x):\n    ▮\n    return x\n", "print(▮)\n", "if (a) {\n\t▮\n}\n", 'x = ["▮"]', "def f(▮",
    "▮", "a = b▮ + c\n",
]  # fmt: skip
PIECES = [
    "\n", "    ", "\t", "x", "return x", "(", ")", "]", "{", "}", '"', "'", ", ", ":", "else:",
    "# ", "<|fim_pad|>", "def f(a):\n", "`", "é", "🙂", "\\", "```", "// a/b.c\n", '"""', "\ufffd",
    ";",
]  # fmt: skip
raw_texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(
    st.sampled_from(FILES), raw_texts, st.booleans(),
    st.sampled_from(["python", "c", "rust", "lua"]),
)  # fmt: skip
@example("▮", "x" * 5000, True, "python")
def test_a_suggestion_is_part_of_what_the_model_said(
    file: str, raw: str, whole: bool, language: str
) -> None:
    """Whatever comes in: no error, nothing invented, and a reason where nothing is left."""
    cursor, _ = parsed(file, language)
    candidate = polish(Candidate(raw, whole), cursor)
    assert squeezed(candidate.text) in squeezed(raw)
    assert candidate.text or candidate.cuts
    assert 0 <= candidate.replaces <= len(cursor.after)
    assert {cut.filter for cut in candidate.cuts} <= NAMES | {"model"}


def test_every_filter_says_what_it_left_out() -> None:
    """In a sentence of its own, for a user who knows of no filters."""
    assert {*Outcome} >= NAMES, f"not in suggest/reasons.py: {NAMES - {*Outcome}}"
    said = [Outcome(name).words for name in NAMES]
    assert not [words for words in said if "candidate" in words or "filter" in words]
    assert not {*said} & NAMES


def test_filters_can_be_left_out() -> None:
    """A benchmark measures a filter by switching it off."""
    cursor, raw = parsed("print(▮⟦x)⟧)")
    assert polish(Candidate(raw), cursor).text == ""
    assert polish(Candidate("xy)"), cursor).text == "xy"
    assert polish(Candidate("xy)"), cursor, off={"right_text", "parses"}).text == "xy)"


@pytest.mark.parametrize("text", ["(\n" * 2000, "a" + " +" * 2000])
def test_a_text_of_loose_ends_is_nothing(text: str) -> None:
    """However many there are, each behind another."""
    assert standing(text, Cursor("python")) == ""

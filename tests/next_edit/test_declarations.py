"""A function written in C or C++, and its declaration in the header."""

from __future__ import annotations

import pytest

from fim_lsp.next_edit.edits import EditedText, FinishedEdit
from tests.parsing import propose

STATS = "class Stats {\n public:\n  double mean() const;\n  double min() const;\n\n  int n;\n};\n"
SOURCE = (
    "double Stats::mean() const\n{\n  return 1;\n}\n\ndouble Stats::min() const {\n  return 2;\n}\n"
)
MAX = "double Stats::max(int a) const {"
C_HEADER = "#pragma once\nint *find(const char *name);\n"
C_SOURCE = "int *find(const char *name) {\n  return 0;\n}\n"


@pytest.mark.parametrize(
    ("language", "header", "source", "written", "expected"),
    [
        ("cpp", STATS, SOURCE, MAX, (4, "  double max(int a) const;")),
        ("cpp", STATS, SOURCE, "std::vector<int> Stats::all() { return {}; }",
         (4, "  std::vector<int> all();")),
        ("c", C_HEADER, C_SOURCE, "int drop(int *a) {", (2, "int drop(int *a);")),
        ("c", C_HEADER, C_SOURCE, "static int drop(int *a) {", None),
        ("cpp", STATS.replace("min() const;", "min() const;\n  double max(int) const;"), SOURCE,
         MAX, None),
        ("cpp", STATS.replace("Stats", "Other"), SOURCE, MAX, None),
        ("cpp", STATS, SOURCE, "double Other::max() const {", None),
        ("java", STATS, SOURCE, MAX, None),
    ],
)  # fmt: skip
def test_below_that_of_the_function_above(
    language: str, header: str, source: str, written: str, expected: tuple[int, str] | None
) -> None:
    """With its indentation, in its class; not where it is declared, or seen in one file only."""
    lines = (*source.split("\n"), written, "}")
    edit = FinishedEdit("a.c", len(lines) - 2, (), (written,), lines[-3])
    texts = [EditedText("a.c", language, lines)]
    texts.append(EditedText("a.h", language, tuple(header.split("\n"))))
    proposal = propose([edit], texts)
    made = proposal and (proposal.line, *proposal.after)
    assert made == expected
    assert proposal is None or (proposal.uri, proposal.before) == ("a.h", ())

"""What the user has not closed yet is no error; what the lines below close is closed once."""

from __future__ import annotations

from typing import Any

import pytest

from fim_lsp.context.grammars import GRAMMARS, Parse, parse_bytes
from fim_lsp.suggest import syntax_errors
from fim_lsp.suggest.cursor import ABOVE_LINES, BELOW_LINES, Cursor
from fim_lsp.suggest.syntax_errors import SyntaxErrors


@pytest.mark.parametrize(
    ("language", "above", "here", "below"),
    [
        ("typescript", ("class Cart {", "  total() {"), "    if (a) {", ("}",)),
        ("typescript", ("class Cart {", "  total() {"), "    if (a) {", ("  }", "}")),
        ("python", ("x = f(", "    1,"), "    2,", ("y = 1",)),
        ("python", ("x = f(", "    1,"), "    2,", (")",)),
        ("lua", ("function f(a)",), "  return 1", ("", "function g() end")),
        ("shellscript", (), "if ! $FORCE; then", ()),
        ("sh", ("for f in *; do", '  if [ -f "$f" ]; then'), "    rm $f", ()),
        ("sh", ("while x; do", "  if y; then", "    z", "  else"), "    a", ("done",)),
        ("bash", ("f() {", "  case $1 in"), "    -h)", ("}",)),
        # Above or below, the window ends within something.
        (
            "csharp",
            ("    int a;",) * (ABOVE_LINES - 1) + ("    protected int A => b & ~C;",),
            "    public int B => b & ~C;",
            (),
        ),
        ("ruby", ("class A", "  def f"), "    b", ("    c", *("",) * (BELOW_LINES - 1))),
        ("php", ("<?php", "f(function () {"), "    g();", ("    g();",) * BELOW_LINES),
        ("json", ("[", "  {"), '    "a": [', ("      1,",) * (BELOW_LINES - 1) + ("      1",)),
        ("python", ("It is `a`.", '"""', "def f():", '    """It is `b`'), "    and `c`", ()),
        ("html", ("<body>", "  <ul>"), "    <li>a", ("  </ul>",)),
        ("shellscript", ("if a", "    then"), "\tb", ()),
        ("c", (), "#ifdef A", ("int a;",) * BELOW_LINES),
        ("typescriptreact", ("const a = (", "  <p>"), "    {b}", ()),
    ],
)
def test_code_that_is_typed_line_by_line(
    language: str, above: tuple[str, ...], here: str, below: tuple[str, ...]
) -> None:
    """No line has an error."""
    cursor = Cursor(language=language, above=above, before=here, after="", below=below)
    errors = SyntaxErrors(cursor)
    assert errors.n(here) == 0
    assert errors.is_known


DEEP = "        f();"


@pytest.mark.parametrize(
    ("n_above", "here", "n_below", "is_known"),
    [
        (ABOVE_LINES, "    }", 0, False),
        (ABOVE_LINES, "        g();\n    }\n}", 0, False),
        (ABOVE_LINES, "    } else {", 0, False),
        (ABOVE_LINES, "    g();", 0, True),
        (9, "    }", 0, True),
        (0, "    if (a) {", BELOW_LINES, False),
        (0, "        if (a) {", BELOW_LINES, True),
        (0, "    if (a) {", 9, True),
    ],
)
def test_a_block_that_is_partly_out_of_sight_is_not_judged(
    n_above: int, here: str, n_below: int, *, is_known: bool
) -> None:
    """It has its other end further up or down; in a file that ends there that is missing."""
    errors = SyntaxErrors(Cursor("javascript", above=(DEEP,) * n_above, below=(DEEP,) * n_below))
    assert errors.n(here) == 0 or is_known
    assert errors.is_known == is_known


HOSTILE = ("(", "{", "a<", "`${", "/*", "'", "if (a) ", "#if\n", "%w(", "$(")

MOST = {"python": 2_400, "ruby": 2_400}  # operations of one text, which may take longer there


@pytest.mark.parametrize("language", GRAMMARS)
def test_a_hostile_source_takes_few_operations(language: str, monkeypatch) -> None:
    """However it nests: those of one call are bounded, and so is what it costs on the loop."""
    used = list[int]()

    def note(*arguments: Any) -> Parse:
        parse = parse_bytes(*arguments)
        used.append(parse.operations)
        return parse

    monkeypatch.setattr(syntax_errors, "parse_bytes", note)
    for unit in HOSTILE:
        used.clear()
        lines = ((unit * 80)[:80],) * 25
        errors = SyntaxErrors(Cursor(language, above=lines, below=lines[:9]))
        errors.n((unit * 400)[:400])
        assert sum(used) <= 20_000, unit
        assert len(used) <= 8, unit
        assert max(used, default=0) <= MOST.get(language, 5_000), unit

"""What the user has not closed yet is no error; what the lines below close is closed once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fim_lsp.context.grammars import GRAMMARS, Parse, parse_bytes
from fim_lsp.suggest import syntax_errors
from fim_lsp.suggest.cursor import ABOVE_LINES, BELOW_LINES, Cursor
from fim_lsp.suggest.open_ends import close_blocks, close_cut, close_quote
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
        ("json", ("x" * 3000,), '    "a": 1', ("  }", "]")),
        # Macros are no part of the grammar of C.
        ("c", ("void f() {", "}"), "TEST_END", ("", "int", "main(void) {", "}")),
        ("c", (), "static redisAtomic int a;", ()),
        ("cpp", ("typedef int a;",), "AN_INLINE bool", ("f(int a) {", "}")),
        ("cpp", ("class A {", "    A_TYPE(b, c)"), "};", ()),
        ("c", ("void f() {", "  A a = {", "    {0},", "    {"), "      .b = 1", ()),
        # A string or a comment of several lines holds no code, and ends where it is cut.
        (
            "rust",
            (
                "fn f() {",
                '    f(b"it (is',
            ),
            "a text, don't",
            (),
        ),
        ("csharp", ("class A {", "  void f() {", '    g(@"a', '      (b");'), "    h();", ()),
        ("ruby", ("class A", "  def f"), "    g(<<~B)", ("    it's", "    B", "  end", "end")),
        ("rust", ("fn f() {", '    g("', "it is"), '", a);', ("}",)),
        # A block's branches stand at its depth, and a comment may stand before them.
        ("ruby", ("def f(a)", "  case a"), "  when :b", ()),
        ("ruby", ("def f", "  if a", "    b"), "  elsif c", ()),
        ("ruby", ("def f",), "  a = if b", ()),
        ("lua", ("if a then",), "  b()", ("-- c", "elseif d then", "end")),
        ("go", ("func f() {", "\tswitch a {", "\tcase 1:"), "\t\tb()", ("\tcase 2:", "\t}", "}")),
        ("typescriptreact", ("const a = (", "  <p>"), "    <b c={<i />} d={() => {}}>", ()),
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


@pytest.mark.parametrize(
    ("language", "above", "here"),
    [
        ("c", (), "  a = b; \\"),
        ("c", ("void f() {", "#if A", "  g("), "  1)"),
        ("c", ("x" * 3000,), "a b c"),
        ("css", ("a {",), "  @apply b! c-4;"),
        ("css", ("a {",), "  b: url(../c.png);"),
        ("shellscript", (), 'a=("${(@kv)b}")'),
        ("javascriptreact", ("const a = (", "  <p>"), "    b & c"),
        ("typescriptreact", ("  <a />", "</p>"), "<b>"),
        ("html", ("{% if a %}",), "<b"),
    ],
)
def test_what_a_grammar_cannot_know_is_not_judged(
    language: str, above: tuple[str, ...], here: str
) -> None:
    """It is older or narrower than its language, or the text is two languages."""
    errors = SyntaxErrors(Cursor(language, above=above))
    assert errors.n(here) == 0
    assert not errors.is_known


@pytest.mark.parametrize(
    ("language", "above", "here"),
    [
        ("c", ("void f() {",), "  AN_INLINE int = ;"),
        ("c", ("int a;",), "TEST_END )"),
        ("cpp", ("class A {",), "  a_type b c"),
        ("c", ("#ifdef A", "int a;"), "int b c d"),
        ("rust", ("fn f() {",), '    let a = "b;'),
        ("ruby", ("def f", "  if a", "  end"), "  elsif b"),
        ("css", ("a {",), "  b: url('c';"),
        ("typescriptreact", ("const a = (", "  <p>"), "    <b c={>"),
        ("json", ("x" * 3000,), '    "a" 1'),
    ],
)
def test_what_is_wrong_there_is_an_error(language: str, above: tuple[str, ...], here: str) -> None:
    """Macros, strings and branches hide none."""
    errors = SyntaxErrors(Cursor(language, above=above))
    assert errors.n(here) > 0
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


STEPS = {
    "shellscript": "if a; then",
    "ruby": "if a <<~B",
    "lua": "if a then",
    "c": "#if A {",
    "typescriptreact": "<a b={{",
    "html": "<a></b>",
    "rust": 'f("',
}


@pytest.mark.timed
@pytest.mark.parametrize("language", STEPS)
def test_what_is_open_is_found_in_linear_time(language: str) -> None:
    """However deep its lines are indented, each below the other or all alike."""

    def cost(n: int, depth: int) -> float:
        lines = tuple(" " * min(line, depth) + STEPS[language] for line in range(n))
        arguments = (language, lines, (), "a")
        start = time.thread_time()
        close_blocks.__wrapped__(*arguments)
        close_cut(*arguments)
        close_quote(*arguments)
        return time.thread_time() - start

    for depth in (8, 1 << 20):
        few = 300 if depth == 8 else 60  # a staircase is longer than it has lines
        once, twice = (min(cost(n, depth) for _ in range(5)) for n in (few, 2 * few))
        assert twice < (3 if depth == 8 else 6) * once + 0.002


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

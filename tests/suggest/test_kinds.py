"""Kinds of troubles that users of other programs reported, as tables: file, answer, what is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters.order import polish
from tests.suggest.golden_cases import parsed

Row = tuple[str, str, str, str]


def shown(language: str, file: str, raw: str, *, by_hand: bool = False) -> tuple[str, str]:
    """Return what is left of an answer, and why it is no more."""
    cursor, _ = parsed(file, language)
    polished = polish(Candidate(raw), replace(cursor, by_hand=by_hand))
    return polished.text, polished.cuts[-1].why if polished.cuts else ""


TOTAL = "def total(a, b):\n    x = a\n"
GO = "package p\n\nfunc f(x int) int {\n\ty := x\n\t▮\n}"
FIRST_LINES: list[Row] = [
    ("python", TOTAL + "    ▮", "   return x", "return x"),
    ("python", TOTAL + "    ▮", " return x", "return x"),
    ("python", TOTAL + "    ▮", "    return x", "return x"),
    ("python", TOTAL + "    ▮", "   if x:\n        return x", "if x:\n        return x"),
    ("python", TOTAL + "    ▮", "    if x:\n            return x", "if x:\n        return x"),
    ("python", TOTAL + "\n    ▮", "  y = 1\n      z = 2", "y = 1\n    z = 2"),
    ("python", "def f(a):\n    if a:\n        b = 1\n        ▮", "    return x", "return x"),
    ("python", "def f(a):\n    if a:\n        ▮", "   return x", "return x"),
    ("python", "def f():\n    return [\n        1,\n        ▮\n    ]", "   2,", "2,"),
    ("python", "value_one = 1\n▮", " value_two = 2", "value_two = 2"),
    ("python", "import os\n\n\n▮", "    def f(): pass", "def f(): pass"),
    ("go", GO, " return x", "return x"),
    ("go", GO, "\treturn x", "return x"),
    ("javascript", "function f(x) {\n  const y = x;\n  ▮\n}", " return x;", "return x;"),
    ("javascript", "function f(x) {\n  ▮\n}", "   return x;", "return x;"),
    ("typescriptreact", "return (\n  <div>\n    ▮", "   <p>x</p>", "<p>x</p>"),
    ("rust", "fn f() -> u8 {\n    let xs = 1;\n    ▮\n}", "    xs", "xs"),
    ("c", "int f() {\n    if (a)\n        ▮\n}", "   return 1;", "return 1;"),
    ("csharp", "class A {\n\tint x;\n\t▮\n}", "\tint y;", "int y;"),
    ("ruby", "def f\n  x = 1\n  ▮\nend", " y = 2", "y = 2"),
    ("lua", "local function f()\n  local x = 1\n  ▮\nend", "  return x", "return x"),
    ("php", "<?php\nfunction f() {\n    $x = 1;\n    ▮\n}", "   return $x;", "return $x;"),
    ("shellscript", "if a; then\n  b\n  ▮\nfi", " cd x", "cd x"),
    ("yaml", "a:\n  b: 1\n  ▮", "  c: 2", "c: 2"),
    ("css", "a {\n  color: red;\n  ▮\n}", "  margin: 0;", "margin: 0;"),
    ("kotlin", "fun f() {\n    val x = 1\n    ▮\n}", "   return x", "return x"),
    ("python", "try:\n    x()\nexcept E:\n    pass\n▮", " y()", "y()"),
    ("python", "def f():\n\tx = 1\n\t▮", "    return x", "return x"),
    ("rust", "match x {\n    1 => a,\n    ▮\n}", "    2 => b,", "2 => b,"),
    ("proto", "message A {\n  int32 x = 1;\n  ▮\n}", " int32 y = 2;", "int32 y = 2;"),
    ("terraform", 'resource "a" "b" {\n  x = 1\n  ▮\n}', " y = 2", "y = 2"),
    ("toml", "[a]\nb = 1\n▮", " c = 2", "c = 2"),
    ("toml", "a = [\n▮\n]", "    1,", "    1,"),
    # No grammar knows the language: what stands between two levels is no level.
    ("vue", "<script>\nexport {\n  name: 'a',\n  ▮\n}", "   data() {},", "data() {},"),
    ("svelte", "<script>\n  let a = 1;\n  ▮\n</script>", " let b = 2;", "let b = 2;"),
    ("json", '{\n  "a": 1,\n  ▮\n}', '   "b": 2', '"b": 2'),
    ("dockerfile", "FROM a\n▮", " RUN b", "RUN b"),
    ("sql", "create table a (\n    x int,\n    ▮\n);", "   y int", "y int"),
    ("haskell", "f x = do\n  a\n  ▮", " put b", "put b"),
    ("scala", "object A {\n  val x = 1\n  ▮\n}", " val y = 2", "val y = 2"),
    ("julia", "function f(x)\n    y = 1\n    ▮\nend", "   if y\n       x", "if y\n    x"),
    ("ini", "[a]\nb=1\n▮", " c=2", "c=2"),
    ("graphql", "type A {\n  x: Int\n  ▮\n}", " y: Int", "y: Int"),
    ("cmake", "if(A)\n  b()\n  ▮\nendif()", " c()", "c()"),
    ("nix", "{\n  a = 1;\n  ▮\n}", " b = 2;", "b = 2;"),
    ("haskell", "f x = do\n▮", "   put a", "   put a"),
    ("haskell", "f x = do\n  a\n  ▮", "  put b", "  put b"),
    ("markdown", "A\n    list\n    ▮", " of", " of"),
    ("html", '<input type="text"\n  ▮', "     name", "     name"),
    # The editor has not indented, or what stands there may be aligned.
    ("python", "def f(a):\n    x()\n▮", "    return x", "    return x"),
    ("java", "/**\n▮", " * The sum.", " * The sum."),
    ("python", TOTAL + "▮", "    return x", "    return x"),
    ("python", "def f(a):\n▮", "    return x", "    return x"),
    ("python", "def f(a):\n    x\n\n    if a:\n  ▮", "      return x", "      return x"),
    ("python", "x = foo(a,\n▮", "        b)", "        b)"),
    ("python", 'def f():\n    """\n    A table\n    ▮', "  a b", "  a b"),
    ("javascript", "foo()\n▮", "  .bar()", "  .bar()"),
    ("javascript", "const a =\n▮", "  build()", "  build()"),
    ("typescriptreact", "return (\n  <div>\n  ▮", "  <p>x</p>", "  <p>x</p>"),
    ("c", "int f() {\n    if (a)\n    ▮\n}", "    return 1;", "    return 1;"),
    ("yaml", "- name: x\n▮", "  value: y", "  value: y"),
    ("markdown", "- a\n▮", "  - b", "  - b"),
    ("makefile", "all: x\n▮", "\techo", "\techo"),
    ("sql", "select\n▮", "    name", "    name"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "file", "raw", "expected"), FIRST_LINES)
def test_the_models_own_white_space(language: str, file: str, raw: str, expected: str) -> None:
    """Where the line above opens no block, a first line is no deeper than the cursor."""
    assert shown(language, file, raw)[0] == expected


AGAIN: list[Row] = [
    ("python", "    # ▮", "# Return the sum.", "Return the sum."),
    ("python", "#▮", "# Return the sum.", " Return the sum."),
    ("python", "x = 1  # ▮", "# the first", "the first"),
    ("python", "# - ▮", "# - two", "two"),
    ("python", 'def f():\n    """▮', '"""Return one."""', 'Return one."""'),
    ("python", 'def f():\n    """▮', '""" Return one."""', ' Return one."""'),
    ("javascript", "// ▮", "// Return nothing.", "Return nothing."),
    ("c", "int x; // ▮", "// the first", "the first"),
    ("rust", "/// ▮", "/// The sum.", "The sum."),
    ("rust", "// ▮", "/// The sum.", "The sum."),
    ("java", "/** ▮\n */", "/** The sum.", "The sum."),
    ("java", "/**\n * ▮\n */", "* The sum.", "The sum."),
    ("sql", "-- ▮", "-- the sum", "the sum"),
    ("lua", "-- ▮", "-- the sum", "the sum"),
    ("scheme", ";; ▮", ";; sum", "sum"),
    ("latex", "% ▮", "% head", "head"),
    ("html", "<!-- ▮ -->", "<!-- head", "head"),
    ("yaml", "  - ▮", "- two", "two"),
    ("markdown", "- ▮", "- two", "two"),
    ("markdown", "* ▮", "* two", "two"),
    ("markdown", "1. ▮", "1. One", "One"),
    ("markdown", "> ▮", "> said", "said"),
    ("markdown", "> - ▮", "> - two", "two"),
    ("markdown", "> - ▮", "- two", "two"),
    ("markdown", "- [ ] ▮", "- [ ] two", "two"),
    ("markdown", "# ▮", "# Title", "Title"),
    ("git-commit", "- ▮", "- two", "two"),
    ("ocaml", "(* ▮", "(* the sum", "the sum"),
    ("jinja", "{# ▮", "{# head", "head"),
    ("restructuredtext", ".. ▮", ".. note:: x", "note:: x"),
    ("bat", ":: ▮", ":: head", "head"),
    ("python", "#: ▮", "#: The sum.", "The sum."),
    ("rust", "//! ▮", "//! The sum.", "The sum."),
    ("python", "    #▮", "#Return", "Return"),
    ("python", "#!▮", "#!/bin/sh", "/bin/sh"),
    ("python", 'r"""▮', '"""Doc."""', 'Doc."""'),
    ("markdown", "a. ▮", "a. One", "One"),
    ("javascript", "/**\n * ▮\n */", " * two", "two"),
    ("vim", '" ▮', '" the', "the"),
    ("vb", "' ▮", "' the", "the"),
    ("fortran", "! ▮", "! the", "the"),
    ("asciidoc", "== ▮", "== Head", "Head"),
    ("org", "** ▮", "** Head", "Head"),
    ("restructuredtext", "#. ▮", "#. two", "two"),
    ("julia", "#= ▮", "#= two", "two"),
    ("powershell", "<# ▮", "<# two", "two"),
    # Not marks, or not all that there is.
    ("c", "    *▮", "*p = 1;", "*p = 1;"),
    ("c", "    -▮", "-x;", "-x;"),
    ("markdown", "| ▮", "| a | b |", "| a | b |"),
    ("python", "x = [\n    ' ▮", "' * 3]", "' * 3]"),
    ("markdown", "#▮", "# Title", "# Title"),
    ("markdown", "- ▮", "-x flag", "-x flag"),
    ("markdown", "* ▮", "**bold** x", "**bold** x"),
    ("markdown", "1. ▮", "2. Two", "2. Two"),
    ("markdown", "1. ▮", "10. Ten", "10. Ten"),
    ("c", "/▮", "/ The sum.", "/ The sum."),
    ("python", "f(*▮", "*kwargs)", "*kwargs)"),
    ("python", "x = -▮", "- 1", "- 1"),
    ("python", "# TODO: ▮", "# fix", "# fix"),
    ("shellscript", "cmd --▮", "--all", "--all"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "file", "raw", "expected"), AGAIN)
def test_a_mark_is_never_meant_twice(language: str, file: str, raw: str, expected: str) -> None:
    """Of a comment, a list or a quote, however short."""
    assert shown(language, file, raw)[0] == expected


FOREIGN: list[Row] = [
    ("python", "import os\n▮\n", "{% if cookiecutter.cli %}", ""),
    ("python", "import os\n▮\n", "{{ cookiecutter.name }} = 1", ""),
    ("python", "import os\n▮\n", "def f[T: int = int](xs: list[T]) -> T:\n    return xs[0]", ""),
    ("javascript", "const a = 1;\n▮\n", "{% block scripts %}", ""),
    ("c", "int f(void) {\n    int n = 0;\n    ▮\n}\n", "FOR_EACH(x, l) {\n        n++;\n    }", ""),
    ("cpp", "int main() {\n    int *a;\n    ▮\n}\n", "k<<<256, 128>>>(a);", "k<<<1, 2>>>(b);"),
    ("cpp", "// shop\n▮\nint f();\n", "export module shop.cart;", ""),
    ("cpp", "class A {\n    ▮\n};", "Q_PROP(int x READ x WRITE y)", "Q_PROP(int y READ y)"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "file", "raw", "seen"), FOREIGN)
def test_what_the_grammar_does_not_know(language: str, file: str, raw: str, seen: str) -> None:
    """By hand it is shown; while typing, where it is one error, or the file has the same."""
    assert shown(language, file, raw, by_hand=True)[0] == raw
    file = file.replace("    ▮", f"    {seen}\n    ▮") if seen else file
    assert shown(language, file, raw)[0] == raw


HIDDEN: list[Row] = [
    ("python", "x = ▮", "is the the sum of", "does not parse here: is the the sum of"),
    ("python", "x = ▮", "'a b", "broke off inside a string or a bracket"),
    ("cpp", "class A {\n    ▮\n};", "Q_P(int x READ x)", "does not parse here: Q_P(int x READ x)"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "file", "raw", "why"), HIDDEN)
def test_the_reason_says_what_it_was(language: str, file: str, raw: str, why: str) -> None:
    """Text that is broken off, and text that is no code here, are different things."""
    assert shown(language, file, raw) == ("", why)


# A file of each language, by what stands above and below a comment that is being typed.
COMMENTED = {
    "c": ("int a;\n\n", "\n\nint f(int x)\n{\n    return x;\n}"),
    "cpp": ("int a;\n\n", "\n\nint f(int x)\n{\n    return x;\n}"),
    "csharp": ("class A {\n    int x;\n\n", "\n\n    int f() {\n        return 1;\n    }\n}"),
    "css": ("a {\n  color: red;\n}\n\n", "\n\nb {\n  margin: 0;\n}"),
    "go": ("package p\n\n", "\n\nfunc f(x int) int {\n\treturn x\n}"),
    "java": ("class A {\n    int x;\n\n", "\n\n    int f() {\n        return 1;\n    }\n}"),
    "javascript": ("const a = 1;\n\n", "\n\nfunction f(x) {\n  return x;\n}"),
    "php": ("<?php\n$a = 1;\n\n", "\n\nfunction f($x) {\n    return $x;\n}"),
    "rust": ("const A: u8 = 1;\n\n", "\n\nfn f(x: u8) -> u8 {\n    x\n}"),
    "typescript": ("const a = 1;\n\n", "\n\nfunction f(x: number) {\n  return x;\n}"),
}
PROSE = ("Returns the sum of its arguments, or nothing", "The user's name (if any) and `a", "A [b.")


@pytest.mark.parametrize("has_code_below", [True, False])
@pytest.mark.parametrize("opening", ["/*", "/**"])
@pytest.mark.parametrize("language", COMMENTED)
def test_a_comment_that_is_not_closed_yet(
    language: str, opening: str, *, has_code_below: bool
) -> None:
    """Its lines are no code, in whatever language: each is shown as it is typed."""
    above, code = COMMENTED[language]
    below = code if has_code_below else ""
    for line in (f"{opening}\n * ▮", f"{opening}\n * Reads a file.\n * ▮", f"{opening} ▮"):
        for raw in PROSE:
            assert shown(language, above + line + below, raw) == (raw, "")


COMMENTS: list[Row] = [
    ("html", "<p>a</p>\n<!--\n  ▮\n<p>b</p>", "what < is > not & shown", "what < is > not & shown"),
    ("lua", "local a = 1\n--[[\n  ▮\nreturn a", "what is not it's", "what is not it's"),
    ("javascript", "/*\n * a\n * ▮\n */\nf();", "it is the", "it is the"),
    ("javascript", "/*\n * a\n * ▮\nf();\n/* b */", "it is the", "it is the"),
    # Behind a comment, or in what only looks like one, code is judged as anywhere.
    ("javascript", "/* a */\nlet x = ▮;", "is the the sum of", ""),
    ("javascript", "/* a\n */\nlet x = ▮;\nf();", "is the the sum of", ""),
    ("javascript", "// a /*\nlet x = ▮;", "is the the sum of", ""),
    ("javascript", 'const g = "src/*";\nlet x = ▮;', "is the the sum of", ""),
    ("lua", "--[[ a ]]\nlocal x = ▮", "is the the sum of", ""),
    ("lua", "-- [[ a\nlocal x = ▮", "is the the sum of", ""),
]


@pytest.mark.parametrize(("language", "file", "raw", "expected"), COMMENTS)
def test_what_stands_in_a_comment(language: str, file: str, raw: str, expected: str) -> None:
    """It is shown; what does not is judged."""
    assert shown(language, file, raw)[0] == expected


# A list of items, one a line, of which the first is being typed; what follows the `▮` is cut off
# where the editor has closed nothing.
FIRST_ITEMS: list[tuple[str, str, str]] = [
    ("c", "int main(void)\n{\n    add(\n        ▮\n    );\n}", "first,"),
    ("c", "int main(void)\n{\n    add(\n        first,\n        ▮\n    );\n}", "second,"),
    ("c", "int main(void)\n{\n    add(\n        ▮\n    );\n}", "first,  // in full"),
    ("c", "int main(void)\n{\n    add(▮);\n}", "first,"),
    ("c", "int add(\n    ▮\n);", "int a,"),
    ("c", "int a[] = {\n    ▮\n};", "1,"),
    ("cpp", "int add(\n    ▮\n)\n{\n    return 1;\n}", "int a,"),
    ("csharp", "class A {\n    void F() {\n        Add(\n            ▮\n        );\n    }\n}", "a,"),
    ("csharp", "class A {\n    void F(\n        ▮\n    ) {\n    }\n}", "int first,"),
    ("go", "package p\nfunc f(\n\t▮\n) {\n}", "a int,"),
    ("java", "@A(\n    ▮\n)\nclass B {\n}", 'name = "a",'),
    ("java", "class A {\n    void f(\n        ▮\n    ) {\n    }\n}", "int first,"),
    ("javascript", "f(\n    ▮\n)", "a,"),
    ("json", "[\n    ▮\n]", '"a",'),
    ("json", '{\n    "a": [\n        ▮\n    ]\n}', '{"b": 1},'),
    ("json", "{\n    ▮\n}", '"a": 1,'),
    ("lua", "add(\n    ▮\n)", "first,"),
    ("lua", "local x = f(\n    ▮\n)\nreturn x", "a + 1,  -- one"),
    ("php", "<?php\nf(\n    ▮\n);", "$a,"),
    ("python", "f(\n    ▮\n)", "a,"),
    ("ruby", "f(\n  ▮\n)", "a,"),
    ("rust", "fn f() {\n    g(\n        ▮\n    )\n}", "a,"),
    ("typescript", "function f(\n    ▮\n) {}", "a: number,"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "file", "raw"), FIRST_ITEMS)
def test_a_comma_before_a_closing_bracket(language: str, file: str, raw: str) -> None:
    """More items are to come, also where the grammar knows no comma there."""
    open_file = f"{file.partition('▮')[0]}▮"
    for text in (file, open_file):
        assert shown(language, text, raw)[0] == raw
        assert shown(language, text, raw, by_hand=True)[0] == raw


ONE_COMMA: list[Row] = [
    ("lua", "add(\n    ▮\n)", "first,,", ""),
    ("lua", "add(\n    ▮\n)", "the first one,", ""),
    ("c", "int main(void)\n{\n    add(\n        ▮\n    );\n}", "is the first,", ""),
    ("json", "[\n    ▮\n]", "the first,", ""),
    ("java", "class A {\n    int f() {\n        return ▮\n        g();\n    }\n}", "a,", ""),
]


@pytest.mark.parametrize(("language", "file", "raw", "expected"), ONE_COMMA)
def test_a_comma_that_is_wrong(language: str, file: str, raw: str, expected: str) -> None:
    """One is allowed, and only where a list ends."""
    assert shown(language, file, raw)[0] == expected


NEXT_LINES: list[Row] = [
    # More lines are to come where nothing stands below yet.
    ("csharp", "class A\n{\n    pub▮\n}", "lic int Total()", "lic int Total()"),
    ("csharp", "class A\n{\n    void F()\n    {\n        t▮\n    }\n}", "ry", "ry"),
    ("csharp", "class A\n{\n    const string Q =▮\n}", ' @"', ' @"'),
    ("java", "class A {\n    @Over▮\n}", "ride", "ride"),
    ("java", "class A {\n    static fi▮\n}", "nal Names NAMES =", "nal Names NAMES ="),
    ("c", "stat▮", "ic size_t", "ic size_t"),
    ("c", "#ifdef A_▮", "NAME", "NAME"),
    ("cpp", "int ma▮", "in()", "in()"),
    ("cpp", "template<type▮", "name T>", "name T>"),
    ("python", "import a\n\n@a.c▮", "ommand()", "ommand()"),
    ("javascript", "const a = b\n  ? c▮", "(1)", "(1)"),
    ("typescript", "const a = s▮", "ql`", "ql`"),
    ("css", "a▮", ":hover,", ":hover,"),
    ("shellscript", "make te▮", "st &&", "st &&"),
    ("shellscript", "ca▮", "t <<EOF", "t <<EOF"),
    ("ruby", "def f\n  call(<▮", "<~TEXT)", "<~TEXT)"),
    ("rust", "struct A {\n    #[se▮\n}", "rde(default)]", "rde(default)]"),
    ("go", "package p\n\nfunc f() {\n\ta.▮\n}", "Get().", "Get()."),
    ("html", "<p>\n  <l▮", "ink", "ink"),
    ("rust", "fn f() {\n    let x = ▮\n}", "editor", "editor"),
    ("csharp", "class A\n{\n    pub▮\n}", "lic string B() => c is null", "lic string B() => c is null"),
    ("typescript", "type A▮", "<S> = B extends keyof S", "<S> = B extends keyof S"),
    ("php", "<?php\n\nclass A\n{\n    #▮\n}", "[Test]", "[Test]"),
    ("ruby", "def f\n  (a ▮", "&& b) ||", "&& b) ||"),
    ("shellscript", "for x▮", " in a b", " in a b"),
    ("cpp", "void f() {\n    auto x = ▮\n}", 'R"(', 'R"('),
    ("python", 'x = {\n    "a▮"\n}', 'b": [', 'b": ['),
    ("html", '<body>\n  <div class="a▮', 'b">', 'b">'),
    # The editor has closed what the text begins a block in.
    ("lua", 'require("a▮")', 'b").setup({', 'b").setup({'),
    ("javascript", "test('it'▮)", ", function () {", ", function () {"),
    ("javascript", "test('it▮')", " runs', () => {", " runs', () => {"),
    ("javascript", "test('it'▮)\nf()", ", function () {", ", function () {"),
    ("typescript", "app.get('/', a▮)", "sync (c) => {", "sync (c) => {"),
    ("lua", "local x = map(function▮)", "(a, b)", "(a, b)"),
    ("lua", "local function f()\n  map(x, function▮)\nend", "(a, b)", "(a, b)"),
    # No line makes these right, or the code below does not follow them.
    ("csharp", "class A\n{\n    pub▮\n    int y = 1;\n}", "lic int Total()", ""),
    ("java", "class A {\n    int x = ▮\n}", ") + 1;", ""),
    ("c", "int f() {\n    int x = ▮\n}", "return else", ""),
    ("javascript", "test('it'▮)", ", => => {", ""),
    ("python", "import a\n\n@▮", "= = b", ""),
    ("css", "a▮", " } } ,", ""),
    ("html", '<body>\n  <div class="a▮', '"" b>', ""),
    ("python", 'x = {\n    "a▮"\n}', 'b": [,', ""),
    # A template has two languages, and half of a comment's mark is not said again by its other half.
    ("html", "<ul>\n  <% a.each(function(b▮", "){ %>", "){ %>"),
    ("lua", "-▮", "- a comment", "- a comment"),
    ("php", "<?▮\n\nclass A\n{\n    public $a\n}", "php", "php"),
    ("shellscript", "ssh a▮", ' "cd b', ' "cd b'),
    ("shellscript", "function a▮", "b()", "b()"),
    ("csharp", "class A\n{\n    void f()\n    {\n    }\n\n    [F▮", "act]", "act]"),
    ("typescriptreact", 'const a = (\n  <b\n    c="▮', 'd"', 'd"'),
    ("html", "<p>\n<img src=a hei▮\n<p>\n<p>", "ght=3><p>", "ght=3><p>"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "file", "raw", "expected"), NEXT_LINES)
def test_a_line_is_judged_with_the_one_that_is_to_come(
    language: str, file: str, raw: str, expected: str
) -> None:
    """What a grammar calls an error until the next line stands there is no error of a suggestion."""
    assert shown(language, file, raw)[0] == expected


def test_what_broke_off_need_not_fit_the_code_below() -> None:
    """What the model had not come to may have closed it."""
    file = '[\n  {\n    "a": 1\n  ▮\n    "b": 2,\n    "c": 3\n  }\n]'
    cursor, _ = parsed(file, "json")
    text = '},\n  {\n    "d": "e",'
    assert polish(Candidate(text, whole=False), cursor).text == "},\n  {"

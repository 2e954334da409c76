"""The next edit from the last ones: which place, which text, and when there is none."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.grammars import grammar_of
from fim_lsp.context.scopes import TABLES
from fim_lsp.next_edit.answers import Answers
from fim_lsp.next_edit.edits import EditedText, FinishedEdit
from fim_lsp.next_edit.engine import Proposal, proposals
from tests.parsing import count_here, propose


class Case(NamedTuple):
    """
    A file as it was, line by line; edits that were made in it; and the edit to be proposed.

    An edit is (line, lines before, lines after), counted on the file as it then was.
    """

    name: str
    lines: str
    made: list[tuple[int, str, str]]
    next: tuple[int, str, str] | None
    language: str = "python"


RENAMED = Case(
    "a parameter that was renamed is renamed where it is used",
    "def area(hight, width):\n    check(hight)\n    return hight * width",
    [(0, "def area(hight, width):", "def area(height, width):"),
     (1, "    check(hight)", "    check(height)")],
    (2, "    return hight * width", "    return height * width"),
)  # fmt: skip

CASES = [
    RENAMED,
    Case(
        "an argument that was added to two calls is added to the next",
        "a = load(path)\nb = load(other)\nx = 1\nc = load(third)",
        [(0, "a = load(path)", "a = load(path, strict=True)"),
         (1, "b = load(other)", "b = load(other, strict=True)")],
        (3, "c = load(third)", "c = load(third, strict=True)"),
    ),
    Case(
        "a literal",
        'url("http://one.org/a")\nurl("http://one.org/b")\nurl("http://one.org/c")',
        [(0, 'url("http://one.org/a")', 'url("https://one.org/a")'),
         (1, 'url("http://one.org/b")', 'url("https://one.org/b")')],
        (2, 'url("http://one.org/c")', 'url("https://one.org/c")'),
    ),
    Case(
        "an assertion that is written in another way, whatever it compares",
        "self.assertEqual(a, 1)\nself.assertEqual(bcd, x)\nself.assertEqual(total, 22)",
        [(0, "self.assertEqual(a, 1)", "assert a == 1"),
         (1, "self.assertEqual(bcd, x)", "assert bcd == x")],
        (2, "self.assertEqual(total, 22)", "assert total == 22"),
    ),
    Case(
        "a line that was removed twice",
        "import a\n# pylint: disable=all\nx = 1\n# pylint: disable=all\ny = 1\n"
        "# pylint: disable=all\nz = 1",
        [(1, "# pylint: disable=all", ""), (2, "# pylint: disable=all", "")],
        (3, "# pylint: disable=all", ""),
    ),
    Case(
        "a block that was replaced twice, with its indentation",
        "def a():\n    lock.acquire()\n    run(lock)\n    go(1)\ndef b():\n"
        "    lock.acquire()\n    run(lock)\n    go(2)\nclass C:\n    def c():\n"
        "        lock.acquire()\n        run(lock)\n        go(3)",
        [(1, "    lock.acquire()\n    run(lock)", "    with lock:\n        go(0)\n        pass"),
         (6, "    lock.acquire()\n    run(lock)", "    with lock:\n        go(0)\n        pass")],
        (12, "        lock.acquire()\n        run(lock)",
         "        with lock:\n            go(0)\n            pass"),
    ),
    Case("nothing after an edit that has no other place", "a = 1\nbcd = 2\ncde = 3",
         [(1, "bcd = 2", "bcd = 4")], None),
    Case("nothing after white space", "if a:\n  b\nif a:\n  b", [(1, "  b", "    b")], None),
    Case(
        "in Rust, as in any language",
        "let opts = Opts::new();\nrun(&opts.maxdepth);\nlet a = opts.maxdepth;\n"
        "let b = opts.maxdepth + 1;",
        [(1, "run(&opts.maxdepth);", "run(&opts.max_depth);"),
         (2, "let a = opts.maxdepth;", "let a = opts.max_depth;")],
        (3, "let b = opts.maxdepth + 1;", "let b = opts.max_depth + 1;"),
        "rust",
    ),
]  # fmt: skip


def replayed(case: Case) -> tuple[list[FinishedEdit], EditedText]:
    """Return the edits of a case, made one after the other, and the text they leave."""
    lines = case.lines.split("\n")
    edits = list[FinishedEdit]()
    for n, (line, before, after) in enumerate(case.made):
        old = before.split("\n")
        new = after.split("\n") if after else []
        assert lines[line : line + len(old)] == old
        around = lines[line - 1] if line else "", "".join(lines[line + len(old) :][:1])
        lines[line : line + len(old)] = new
        edits.append(FinishedEdit("a", line, tuple(old), tuple(new), *around, float(n)))
    return edits, EditedText("a", case.language, tuple(lines))


def what(proposal: Proposal | None) -> tuple[int, str, str] | None:
    """Return a proposal as a case says it."""
    if proposal is None:
        return None
    return proposal.line, "\n".join(proposal.before), "\n".join(proposal.after)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_next_edit(case: Case) -> None:
    """The place and the text, or nothing."""
    edits, text = replayed(case)
    assert what(propose(edits, [text])) == case.next


def test_a_place_above_the_last_edit() -> None:
    """When nothing is left below, the places above come."""
    lines = "print(hight)\nx = 1\nprint(height)\nprint(height)\nprint(height)"
    edits = [FinishedEdit("a", n, ("print(hight)",), ("print(height)",)) for n in (2, 3, 4)]
    assert what(propose(edits, [EditedText("a", "python", tuple(lines.split("\n")))])) == (
        0, "print(hight)", "print(height)",
    )  # fmt: skip


def test_a_place_in_another_file() -> None:
    """Other texts are looked at in their order."""
    made = [
        (n, f"    {use}(hight)", f"    {use}(height)") for n, use in enumerate(["see", "check"])
    ]
    edits, text = replayed(Case("", "    see(hight)\n    check(hight)", made, None))
    other = EditedText("b", "python", ("x = 1", "    check(hight)"))
    proposal = propose(edits, [text, other], sure=0.1)
    assert proposal is not None
    assert (proposal.uri, what(proposal)) == ("b", (1, "    check(hight)", "    check(height)"))


def test_nothing_that_breaks_the_syntax() -> None:
    """The same change, where it would leave a bracket open."""
    made = [(0, "f(first)", "f(first"), (1, "f(first)", "f(first")]
    case = Case("", "f(first)\nf(first)\nx = 1\nf(first)", made, None)
    edits, _ = replayed(case)
    whole = EditedText("b", "python", ("x = 1", "f(first)", "y = 2"))
    assert any(each.uri == "b" for each in proposals(edits, [whole]))
    assert propose(edits, [whole], sure=0.0) is None


def test_a_refused_pattern_stays_quiet() -> None:
    """Dismissed once, at no other place either."""
    edits, text = replayed(RENAMED)
    more = EditedText("a", "python", (*text.lines, "    return hight * width"))
    answers = Answers()
    proposal = propose(edits, [more], answers.refused)
    assert proposal is not None
    answers.note_dismissal(proposal)
    again = propose(edits, [more], answers.refused)
    assert again is None or again.pattern != proposal.pattern


@pytest.mark.parametrize(
    ("after", "stays"), [("    return size * width", False), ("    return height * width", True)]
)
def test_a_contradicted_pattern_stays_quiet(after: str, *, stays: bool) -> None:
    """The user made something else of the place; what was proposed, and all is well."""
    edits, text = replayed(RENAMED)
    proposal = propose(edits, [text])
    assert proposal is not None
    answers = Answers()
    answers.note_edits(
        proposal, [*edits, FinishedEdit("a", 2, proposal.before, (after,), at=9.0)], 5.0
    )
    assert (proposal.pattern not in answers.refused) is stays


TOKENS = st.lists(st.sampled_from(["foo", "bar", "(", ")", " ", ", ", "=", "1"]), max_size=8)
LINE = TOKENS.map("".join)


@given(st.lists(st.tuples(LINE, LINE), min_size=1, max_size=5), st.lists(LINE, min_size=1))
def test_a_proposal_fits_the_text(made: list[tuple[str, str]], lines: list[str]) -> None:
    """Its lines before are those of the text, and something changes."""
    edits = [FinishedEdit("a", 0, (old,), (new,)) for old, new in made]
    text = EditedText("b", "python", tuple(lines))
    for each in proposals(edits, [text]):
        assert text.lines[each.line : each.line + len(each.before)] == each.before
        assert each.before != each.after
        assert 0 <= each.confidence <= 1


CODE = {
    "python": "import numpy\n\ndef f(a, b=1):\n    x = numpy.sum(a, b)\n    return {x: [a, b]}\n",
    "javascript": "import { a } from 'b';\nconst f = (x, y) => ({ x, y: [a(x), y] });\nf(1, a);\n",
    "typescriptreact": "const A = (p: P) => (\n  <div id={p.x}>\n    <b>{p.x}</b>\n  </div>\n);\n",
    "go": "package p\n\nfunc f(a, b int) int {\n\tx := g(a, b)\n\treturn g(x, b)\n}\n",
    "rust": "use a::b;\nfn f(x: u8) -> u8 {\n    let y = b(x, 1);\n    b(y, 1)\n}\n",
    "c": "#include <a.h>\nint f(int a) {\n    int b = g(a, 1);\n    return g(b, 1);\n}\n",
    "cpp": "class A {\n  A(int b) : b(b) {}\n  int b;\n};\nA f() { return A(1); }\n",
    "java": "class A {\n  int b;\n  A(int b) { this.b = b; }\n  int f() { return g(b, b); }\n}\n",
    "csharp": "class A {\n  int b;\n  A(int b) { this.b = b; }\n  int F() => G(b, b);\n}\n",
    "ruby": "class A\n  def f(a, b: 1)\n    @x = a\n    g(@x, b: b)\n  end\nend\n",
    "php": "<?php\nfunction f($a, $b) {\n    $x = g($a, $b);\n    return [$x => $b];\n}\n",
    "lua": "local function f(a, b)\n  local x = g(a, b)\n  return { x = x, b }\nend\n",
    "shellscript": 'f() {\n  local a=$1\n  echo "$a" | g\n}\nf a\n',
    "css": ".a { --b: red; }\n.a > .c { color: var(--b); }\n",
    "html": '<div class="a">\n  <p>b</p>\n</div>\n<div>c</div>\n',
}


def test_every_grammar_with_names_has_code() -> None:
    """So the law below is tried in each."""
    grammars = [grammar_of(language) for language in CODE]
    assert {grammar.module for grammar in grammars if grammar} == TABLES.keys()


WORDS = st.sampled_from(
    ["new", "a", "b", " as z", "(", ")", "{", ",", "<b>", " x", "1", ";", "$", "'"]
)


@given(st.sampled_from(sorted(CODE)), st.data())
def test_no_proposal_adds_an_error(language: str, data: st.DataObject) -> None:
    """In the file with it, whatever was edited before."""
    lines = CODE[language].split("\n")
    edits = list[FinishedEdit]()
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.integers(0, len(lines) - 1))
        tokens = re.findall(r"\w+|\W", lines[row])
        at = data.draw(st.integers(0, len(tokens)))
        kept = tokens[at + data.draw(st.integers(0, 1)) :]
        made = "".join([*tokens[:at], data.draw(WORDS), *kept])
        edits.append(FinishedEdit("a", row, (lines[row],), (made,)))
        lines[row] = made
    text = EditedText("a", language, tuple(lines))
    if proposal := propose(edits, [text], sure=0.0):
        end = proposal.line + len(proposal.before)
        after = (*lines[: proposal.line], *proposal.after, *lines[end:])
        n_errors = count_here(EditedText("a", language, after)) or 0
        assert n_errors <= (count_here(text) or 0)

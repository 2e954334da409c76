"""A definition that was renamed by hand: its uses are the next edits, nearest first."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from fim_lsp.next_edit.edits import EditedText, FinishedEdit
from tests.parsing import propose


class Renamed(NamedTuple):
    """A text with a definition on *row* that was *old*, and in order the rows that are proposed."""

    name: str
    language: str
    row: int
    old: str
    new: str
    text: str
    rows: list[int]


READERS = """\
def read_lines(path, encoding):
    check(path)
    with open(path, encoding=encoding) as lines:
        found = [line for line in lines]
    print("path", path)
    return found  # of the path


def write_lines(path, lines):
    with open(path) as file:
        file.write(lines)
"""
CASES = [
    Renamed(
        "a parameter in TypeScript, with two uses in the whole repository", "typescript", 1,
        "request_context", "ctx",
        "export class LRUCache {\n  getHash = (request_context: string): string => {\n"
        "    const a = 1;\n"
        "    return createHash(request_context).digest('hex');\n  }\n}\n",
        [3],
    ),
    Renamed(
        "a parameter whose new name has nothing in common with the old one",
        "python", 0, "chars", "text",
        "def utf16_num_units(chars):\n    return len(chars) + sum(is_wide(ch) for ch in chars)\n"
        "def other(chars):\n    return chars\n",
        [1],
    ),
    Renamed("no other function's head", "python", 0, "path", "file", READERS, [1, 2, 4]),
    Renamed(
        "the nearest first, below before above", "go", 4, "count", "n",
        "package p\nfunc f() {\n\tg(count)\n}\nvar count = 1\n\n"
        "func g(a int) {\n\th(count)\n\th(count)\n}\n",
        [2, 7, 8],
    ),
    Renamed(
        "comments last", "typescript", 3, "maxDepth", "limit",
        "/**\n * @param maxDepth how deep\n */\nfunction f(maxDepth) {\n"
        "  // maxDepth is odd\n  return maxDepth\n}\n",
        [5, 4, 1],
    ),
    Renamed(
        "on its own line, too", "javascript", 0, "row", "line",
        "const f = row => row + 1\nf(row)\n", [0],
    ),
    Renamed(
        "up to where a parameter of a script gets a value made of its own", "javascript", 0,
        "done", "callback",
        "function f(done) {\n  if (!done) g();\n  done = done || h;\n  done();\n}\n", [1, 2],
    ),
    Renamed(
        "… unless it goes from one to the next", "javascript", 0, "node", "child",
        "function f(node) {\n  while (node) node = node.parent;\n  return node;\n}\n", [1, 2],
    ),
    Renamed(
        "… or is no parameter", "javascript", 1, "path", "file",
        "function f() {\n  let path = g();\n  path = h(path);\n  return path;\n}\n", [2, 3],
    ),
    Renamed(
        "… in Python", "python", 0, "path", "name",
        "def f(path):\n    check(path)\n    path = Path(path)\n    return path\n", [1, 2],
    ),
    Renamed(
        "… and a loop's variable", "python", 0, "line", "row",
        "for n, line in lines:\n    line = line.strip()\n    g(line)\n", [1],
    ),
    Renamed(
        "… in a script", "javascript", 0, "line", "row",
        "for (let line of lines) {\n  line = line.trim();\n  g(line);\n}\n", [1],
    ),
    Renamed(
        "… unless a loop within goes from one to the next", "python", 0, "node", "child",
        "for node in nodes:\n    while node:\n        node = node.up\n    g(node)\n", [1, 2, 3],
    ),
    Renamed(
        "a variable in C++, and no namespace", "cpp", 1, "auto fmt", "auto sv",
        "int f() {\n  auto fmt = fmt::view(s);\n  return fmt;\n}\n", [2],
    ),
    Renamed(
        "an import that gets an alias", "python", 0, "import numpy", "import numpy as np",
        "import numpy\n\n# `numpy` is quick\ndef total(data, numpy_like):\n"
        "    return numpy.sum(data) + data.numpy()\n\ndef other(numpy):\n    return numpy\n"
        "x = [numpy.pi]\n",
        [4, 8],
    ),
    Renamed(
        "… of one name of several", "python", 0, "sum,", "sum as add,",
        "from numpy import pi, sum, tan\nsum(1)\nx.sum(pi)\n", [1],
    ),
    Renamed(
        "… in TypeScript", "typescript", 0, "join ", "join as joinPath ",
        "import { join } from 'path';\nconst a = join(b), c = d.join(e);\n", [1],
    ),
    Renamed(
        "… in Rust", "rust", 0, "HashMap;", "HashMap as Map;",
        "use std::collections::HashMap;\nfn f(a: HashMap<u8, u8>) { HashMap::new(); }\n", [1],
    ),
    Renamed(
        "a variable in PHP", "php", 1, "$rows", "$lines",
        "<?php\nfunction f($rows) {\n    $rows[] = 1;\n    return $a->rows . $rows;\n}\n",
        [2, 3],
    ),
    Renamed(
        "no type that its own line declares", "typescript", 0, "Base)", "T)",
        "function f<T>(a: Base) {\n  const b: Base = a;\n}\n", [],
    ),
    Renamed(
        "a class in C++ with its constructor", "cpp", 0, "Greeter", "Welcomer",
        "class Greeter {\n public:\n  Greeter();\n  int Greeter_;\n};\nGreeter::Greeter() {}\n",
        [2, 5],
    ),
    Renamed(
        "a custom property in CSS", "css", 0, "--main-bg", "--page-bg",
        ":root { --main-bg: red; }\na { color: var(--main-bg); --main: 1; }\n", [1],
    ),
    Renamed(
        "a class in CSS", "css", 0, "card-title", "card-head",
        ".card-title { top: 0; }\n.card-titles {}\na .card-title:hover {}\n", [2],
    ),
    Renamed(
        "a tag in HTML", "html", 0, "div", "section",
        "<div class='a'>\n  <div>b</div>\n</div>\n<div></div>\n", [2],
    ),
    Renamed(
        "a tag in JSX", "typescriptreact", 1, "div", "section",
        "const a = (\n  <div>\n    <div>b</div>\n  </div>\n);\n", [3],
    ),
    Renamed("a variable in Bash", "shellscript", 0, "dir=", "to=", 'dir=a\nls "$dir/dir"\n', [1]),
    Renamed(
        "an instance's variable in Ruby", "ruby", 2, "@name", "@title",
        "class A\n  def initialize(name)\n    @name = name\n  end\n  def to_s = @name + name\nend\n",
        [4],
    ),
    Renamed("tabs", "lua", 0, "arg", "it", "local function f(arg)\n\treturn\targ\nend\n", [1]),
]  # fmt: skip


def all_next(case: Renamed) -> list[tuple[int, str]]:
    """Return what is proposed, made and proposed again until nothing is left, and the text then."""
    lines = case.text.split("\n")
    before = lines[case.row]
    lines[case.row] = before.replace(case.old, case.new, 1)
    edits = [FinishedEdit("a", case.row, (before,), (lines[case.row],))]
    made = list[tuple[int, str]]()
    while len(made) < 20 and (
        proposal := propose(edits, [EditedText("a", case.language, tuple(lines))])
    ):
        assert proposal.before == (lines[proposal.line],)
        lines[proposal.line] = proposal.after[0]
        edits.append(FinishedEdit("a", proposal.line, proposal.before, proposal.after))
        made.append((proposal.line, proposal.after[0]))
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_uses_follow(case: Renamed) -> None:
    """After the definition alone, one after the other."""
    assert [row for row, _ in all_next(case)] == case.rows


def test_texts_are_left_alone() -> None:
    """A string that has the word, and a comment that is prose."""
    changed = dict(all_next(CASES[2]))
    assert changed[4] == '    print("path", file)'


def edit_of(uri: str, lines: list[str], row: int, old: str, new: str) -> FinishedEdit:
    """Rename the first *old* of a line."""
    before = lines[row]
    lines[row] = before.replace(old, new, 1)
    return FinishedEdit(uri, row, (before,), (lines[row],))


def text_of(uri: str, lines: list[str], language: str = "python") -> EditedText:
    return EditedText(uri, language, tuple(lines))


def test_two_names_that_were_renamed_change_together() -> None:
    """A line with both gets both."""
    lines = ["def f(one, two):", "    return one + two"]
    edits = [edit_of("a", lines, 0, "one", "first"), edit_of("a", lines, 0, "two", "second")]
    proposal = propose(edits, [text_of("a", lines)])
    assert proposal is not None
    assert proposal.after == ("    return first + second",)


def test_a_name_that_was_changed_twice() -> None:
    """What still has its first name gets the last one."""
    lines = ["def f(one):", "    x(two)", "    return one"]
    edits = [edit_of("a", lines, 0, "one", "two"), edit_of("a", lines, 0, "two", "three")]
    proposal = propose(edits, [text_of("a", lines)])
    assert proposal is not None
    assert (proposal.line, proposal.after) == (1, ("    x(three)",))
    lines[1] = "    x(three)"
    proposal = propose(edits, [text_of("a", lines)])
    assert proposal is not None
    assert (proposal.line, proposal.after) == (2, ("    return three",))


def test_a_name_beside_other_changes_of_the_line() -> None:
    """It may be that of another thing, so its uses are asked for by what was done twice."""
    after = ("def f(", "    file: str,", "    mode: int,", ") -> None:")
    edit = FinishedEdit("a", 0, ("def f(path: str, mode: int):",), after)
    assert propose([edit], [text_of("a", [*after, "    g(mode)", "    h(path)"])]) is None


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (["a.f(path=1)"], ("b", 0, "a.f(file=1)")),
        (["def f(path): ...", "f(path=1)"], None),
        (["f(path)"], None),
    ],
)
def test_keyword_arguments_in_another_file(
    other: list[str], expected: tuple[str, int, str] | None
) -> None:
    """Where no other file has such a function."""
    lines = ["def f(path):", "    pass"]
    edit = edit_of("a", lines, 0, "path", "file")
    proposal = propose([edit], [text_of("a", lines), text_of("b", other)])
    assert (proposal and (proposal.uri, proposal.line, proposal.after[0])) == expected


def test_parameters_that_moved_were_not_renamed() -> None:
    """The names are there still, in another order."""
    before = ("def f(one, two, three):",)
    after = ("def f(zero, one, two):",)
    text = text_of("a", [*after, "    return one + two + three"])
    assert propose([FinishedEdit("a", 0, before, after)], [text]) is None


def test_another_definition_in_the_place_of_a_use_is_no_rename() -> None:
    """What is around the name tells: it was called, and is defined now."""
    before = ("    return make(Parts(each))",)
    after = ("    let parts = join(each);",)
    text = EditedText("a", "rust", ("fn f() {", *after, "    Parts(parts)", "}"))
    assert propose([FinishedEdit("a", 1, before, after)], [text]) is None


def test_what_was_done_in_two_definitions_is_done_in_a_third() -> None:
    """Then it is no longer about one of them."""
    lines = [f"def {name}(path): return path" for name in "fgh"]
    edits = []
    for row in (0, 1):
        before = lines[row]
        lines[row] = before.replace("path", "file")
        edits.append(FinishedEdit("a", row, (before,), (lines[row],)))
    proposal = propose(edits, [text_of("a", lines)])
    assert proposal is not None
    assert (proposal.line, proposal.after) == (2, ("def h(file): return file",))


def test_a_definition_is_forgotten_after_a_while() -> None:
    """Its uses are, if the user went on with other things."""
    lines = ["def f(path):", "    return path", *(f"x{n} = {n}" for n in range(20))]
    edits = [edit_of("a", lines, 0, "path", "file")]
    assert propose(edits, [text_of("a", lines)]) is not None
    edits += [edit_of("a", lines, row, "x", "y") for row in range(2, 20)]
    proposal = propose(edits, [text_of("a", lines)])
    assert proposal is None or proposal.line != 1


@pytest.mark.parametrize(
    ("language", "before", "after", "use", "follows"),
    [
        ("rust", "fn f(tx: Sender) {", "fn f(rx: Receiver) {", "    g(tx)", False),
        ("python", "def f(context=None):", "def f(verify=True):", "    g(context)", False),
        ("rust", "fn f(one: u8, two: u8) {", "fn f(first: u8, second: u8) {", "    g(one)", True),
        ("rust", "fn f(tx: u8) {", "fn f(_tx: u8) {", "    g(tx)", False),
        ("python", "def read(path):", "def _read(path):", "read(1)", True),
    ],
)
def test_what_else_changed_in_the_line(
    language: str, before: str, after: str, use: str, *, follows: bool
) -> None:
    """Other definitions may; a type or a value makes it another thing, `_x` an unused one."""
    text = EditedText("a", language, (after, use, "}" if language == "rust" else ""))
    proposal = propose([FinishedEdit("a", 0, (before,), (after,))], [text])
    assert (proposal is not None) is follows


def test_once_the_value_is_renamed_too_all_follow() -> None:
    """A parameter of a script that gets a value made of its own was two things, or is one."""
    lines = ["function f(done) {", "  done = done || h;", "  done();", "}"]
    edits = [edit_of("a", lines, 0, "done", "callback")]
    lines[1] = lines[1].replace("done", "callback")
    edits.append(FinishedEdit("a", 1, ("  done = done || h;",), (lines[1],)))
    proposal = propose(edits, [text_of("a", lines, "javascript")])
    assert proposal is not None
    assert (proposal.line, proposal.after) == (2, ("  callback();",))

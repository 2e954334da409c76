"""The uses of a renamed definition, by scope and language: all of them, and no others."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.uses import Renaming, find_uses
from fim_lsp.workspace.syntax_child import CPU_S

TEXTS = (Path(__file__).parent / "uses.txt").read_text("utf-8").split("\n=== ")[1:]
ROWS_OF = {text.partition(":")[0] for text in TEXTS}
ROWS = [(*text.partition("\n")[0].split(": "), text.partition("\n")[2].rstrip()) for text in TEXTS]


@pytest.mark.parametrize(("language", "name", "marked"), ROWS, ids=lambda value: value[:50])
def test_uses(language: str, name: str, marked: str) -> None:
    """In code, and in comments that mean it."""
    del name
    text = re.sub("[→←«»‹›]", "", marked)
    row = marked[: marked.index("→")].count("\n")
    new = marked[marked.index("→") + 1 : marked.index("←")]
    old = new.replace("now", "old").replace("Now", "Old")
    (found,) = find_uses(language, text, [Renaming(row, old, new)])
    assert found is not None
    lines = text.split("\n")
    for use in reversed(found.uses):
        marks = "«»" if use.is_code else "‹›"
        line = lines[use.row]
        end = use.column + len(old)
        lines[use.row] = f"{line[: use.column]}{marks[0]}{old}{marks[1]}{line[end:]}"
    assert "\n".join(lines) == re.sub("[→←]", "", marked)


@pytest.mark.parametrize(
    ("language", "text", "row"),
    [
        ("python", "f(now)\nold = 1\nf(old)", 0),
        ("python", "old = 1\nnow = 2\nf(old)", 1),
        ("python", "def f(now): return old", 7),
        ("python", "class A:\n    def old(self): ...\n    def now(self): ...\n    x.old", 2),
        ("java", "class A {\n void now(int a) {}\n void old(String a) { old(1); }\n}", 1),
        ("go", "package p\nfunc now() {}\nfunc old() { old() }", 1),
        ("plaintext", "now\nold", 0),
        ("python", "(" * 3000 + "now = 1\nold", 0),
        ("python", "def f(now):\n    now = 1\n    return old + now", 0),
        ("go", "package p\nfunc f() {\n\tnow := 1\n\tnow, x := 2, 3\n\tg(old)\n}", 3),
    ],
)  # fmt: skip
def test_what_is_no_definition(language: str, text: str, row: int) -> None:
    """A use; the second of its name, whose uses may mean the first; a text that is not parsed."""
    assert find_uses(language, text, [Renaming(row, "old", "now")]) == [None]


def test_a_name_that_was_changed_twice_is_one() -> None:
    """The second assignment of a variable was renamed, too: it is no other thing of that name."""
    text = "def f():\n    now = 1\n    now = 2\n    return old"
    changes = [Renaming(row, "old", "now") for row in (2, 1)]
    uses = find_uses("python", text, changes)
    assert [len(renamed.uses) for renamed in uses if renamed] == [1, 1]


@pytest.mark.parametrize("end", ["// {old", "// {old}", '// "{old', 'println!("{old'])
def test_a_text_may_end_within_a_name_in_braces(end: str) -> None:
    """While it is typed: it is a mention, or nothing."""
    (renamed,) = find_uses("rust", f"fn f(now: u8) {{\n{end}", [Renaming(0, "old", "now")])
    assert renamed is not None


def test_a_short_field_keeps_its_name() -> None:
    """`{ old }` stands for `{ old: old }`: the variable was renamed, not the field."""
    text = "function f(now) {\n  return { old, a: old }\n}"
    (found,) = find_uses("javascript", text, [Renaming(0, "old", "now")])
    assert found is not None
    assert [use.text for use in found.uses] == ["old: now", "now"]


def test_a_constant_in_a_pattern_is_compared() -> None:
    """In Rust a name with a capital letter is no name that the pattern binds."""
    text = "const NOW: u8 = 1;\nfn f(x: u8) -> bool { match x { OLD => true, _ => OLD == 2 } }"
    (found,) = find_uses("rust", text, [Renaming(0, "OLD", "NOW")])
    assert found is not None
    assert [use.column for use in found.uses] == [32, 50]


@pytest.mark.parametrize(
    ("language", "text", "columns"),
    [
        ("python", "[lambda now: old, lambda x: old] #now", [28]),
        ("javascript", "function f(now) { return xs.map(now => now + old) + old }", [52]),
        ("rust", "fn f(now: u8) { let now = old; g(old) }", [26]),
        ("go", "func f(now int) { if now := g(); now { h(old) }; h(old) }", [51]),
    ],
)  # fmt: skip
def test_a_use_where_another_thing_has_the_new_name(language: str, text: str, columns: list[int]):
    """It would mean that one, so it is left alone."""
    lines = {"python": "def f(now):\n ", "go": "package p\n"}.get(language, "") + text
    row = 1 if language == "go" else 0
    (found,) = find_uses(language, lines, [Renaming(row, "old", "now")])
    assert found is not None
    indent = 1 if language == "python" else 0
    assert [use.column - indent for use in found.uses] == columns


def test_columns_count_characters() -> None:
    """Behind characters of two and of four bytes; names of other alphabets are whole."""
    text = "def f(größe):\n    return '😀é', maß, maßen\n"
    (found,) = find_uses("python", text, [Renaming(0, "maß", "größe")])
    assert found is not None
    assert [(use.row, use.column) for use in found.uses] == [(1, 17)]


def test_calls_in_another_text() -> None:
    """By the function's name; those without one say nothing."""
    text = "f(1, old=2)\ng(old=3)\nx.f(old=old)\n"
    (found,) = find_uses("python", text, [Renaming(-1, "old", "now", "f")])
    assert found is not None
    assert [(use.row, use.column) for use in found.uses] == [(0, 5), (2, 4)]


NAMES = st.sampled_from(["old", "new", "x"])
EXPRESSIONS = st.recursive(
    NAMES,
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("(lambda {}: {})".format, NAMES, inner),
        st.builds("[{} for {} in {}]".format, inner, NAMES, inner),
        st.builds("f({}=({}))".format, NAMES, inner),
        st.builds("{}.{}".format, NAMES, NAMES),
    ),
    max_leaves=6,
)
BODY = st.lists(
    st.one_of(EXPRESSIONS, st.builds("{} = {}".format, NAMES, EXPRESSIONS)), min_size=1, max_size=5
)


@given(BODY, BODY)
def test_a_rename_means_the_same_to_python(first: list[str], second: list[str]) -> None:
    """A parameter is renamed to a name of its own: all other variables keep theirs."""
    head = "def f(old, x):\n    " + "\n    ".join(first) + "\ndef g(old, new):\n    "
    code = head + "\n    ".join(second) + "\n"
    lines = code.replace("def f(old", "def f(fresh", 1).split("\n")
    (found,) = find_uses("python", "\n".join(lines), [Renaming(0, "old", "fresh")])
    assert found is not None
    for use in reversed(found.uses):
        line = lines[use.row]
        lines[use.row] = line[: use.column] + use.text + line[use.column + 3 :]
    renamed = "\n".join(lines)
    local = compile(renamed, "", "exec").co_consts[0]
    assert "old" not in [name for name in local.co_names if name not in dir_of(first)]
    assert renamed[renamed.index("def g") :] == code[code.index("def g") :].replace(
        "f(old=", "f(fresh="
    )


def dir_of(lines: list[str]) -> set[str]:
    """Return the names that stand behind a dot, which no parameter is meant by."""
    return {name for line in lines for name in re.findall(r"\.(\w+)", line)}


@given(st.text(st.sampled_from("old now(){}[]:=.,'\"\n\t#/*;def func let local class ")))
def test_any_text_will_do(text: str) -> None:
    """In each language that has rows, each use is where the old name is."""
    lines = text.split("\n")
    for language in sorted(ROWS_OF):
        for row in range(min(5, len(lines))):
            (found,) = find_uses(language, text, [Renaming(row, "old", "now")])
            for use in found.uses if found else ():
                assert lines[use.row][use.column :].startswith("old")


@pytest.mark.timed
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "now = 1\n" + "old = old\n" * 480),
        ("python", "def f(now):\n  g(old)\n" + "def g(old): old\n" * 450),
        ("python", "# `old` old\n" * 9_000 + "def f(now): old"),
        ("rust", "fn f(now: u8) {\n" + "let old = old;\n" * 450 + "}"),
        ("go", "package p\nfunc f(now int) {\n" + "{ old := old\n" * 150 + "}" * 151),
    ],
)
def test_many_definitions_take_no_long_time(language: str, text: str) -> None:
    """Not with the product of all definitions and all uses."""
    row = next(n for n, line in enumerate(text.split("\n")) if "now" in line)
    start = time.process_time()
    find_uses(language, text, [Renaming(row, "old", "now")])
    assert time.process_time() - start < CPU_S


@pytest.mark.timed
@pytest.mark.parametrize("language", ["python", "typescript", "lua"])
def test_a_long_text_takes_no_long_time(language: str) -> None:
    """10,000 lines with the name in 900 of them, mostly parsing."""
    heads = {"python": "def f(now):", "typescript": "function f(now) {", "lua": "function f(now)"}
    body = "  g(a, b.c, 1)\n" * 9_000 + "  g(old, x.old)\n" * 450
    text = f"{heads[language]}\n{body}" + {"python": "", "typescript": "}", "lua": "end"}[language]
    start = time.process_time()
    (found,) = find_uses(language, text, [Renaming(0, "old", "now")])
    assert time.process_time() - start < CPU_S
    assert found is not None
    assert len(found.uses) == 450


@pytest.mark.timed
@pytest.mark.parametrize("use", ["        self.old = old", "        g(old=1)"])
def test_many_members_and_keys_take_no_long_time(use: str) -> None:
    """The names of their classes and functions are read once for each, in a text of some length."""
    text = "class A:\n    def f(self, x):\n        self.now = x\n" + f"{use}\n" * 400
    start = time.process_time()
    (found,) = find_uses("python", text, [Renaming(2, "old", "now")])
    assert time.process_time() - start < CPU_S
    assert found is not None

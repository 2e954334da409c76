"""Ignore rules by hand, row by row (git's own verdicts on them: tests/workspace), and their cost."""

from __future__ import annotations

import string
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType

import pytest

from fim_lsp.context import ignore_rules
from fim_lsp.context.ignore_rules import (
    CLASSES,
    LONGEST,
    Scope,
    below,
    beyond,
    compile_rules,
    scope,
    why_ignored,
)

pytestmark = pytest.mark.promise("bounded-work")

ROWS: list[tuple[bytes, str, str]] = [  # rules, paths that are ignored, paths that are not
    # names, anchors, folders
    (b"a", "a x/a a/x", "b ab x/b"),
    (b"/a", "a a/x", "x/a"),
    (b"a/", "a/x x/a/y", "a x/a"),
    (b"/a/", "a/x", "a x/a/y"),
    (b"x/a", "x/a x/a/b", "a y/x/a"),
    (b"/", "", "a a/b"),
    (b"a//b", "", "a/b"),
    (b"./a\n../a", "", "a"),
    # negation: the last rule wins, and below an ignored folder none does
    (b"*.log\n!keep.log", "x.log", "keep.log a/keep.log"),
    (b"!keep.log\n*.log", "x.log keep.log", "a"),
    (b"a/\n!a/b", "a/b a/c", "b"),
    (b"/*\n!/src/\n/src/*\n!/src/x.py", "a src/y.py", "src/x.py"),
    (b"*\n!*/\n!*.py", "a x/a.txt", "a.py x/y/a.py"),
    (b"secrets/\n!/src/", "src/secrets/x.py secrets/x.py", "src/x.py"),
    (b"a\n!!a", "a", "!a"),
    (b"!", "", "! a"),
    # stars in a name, and across folders
    (b"*", "a a/b", ""),
    (b"a*b", "ab axb a*b", "axc a/b"),
    (b"x/*/y", "x/a/y", "x/y x/a/b/y"),
    (b"**/a", "a x/a x/y/a", "b"),
    (b"a/**", "a/b a/b/c", "a x/a/b"),
    (b"a/**/b", "a/b a/x/b a/x/y/b", "ab a/bc x/a/b"),
    (b"a/***/b", "a/b a/x/b", "ab"),
    (b"x/a**b", "x/ab x/a.b", "x/a/b"),
    (b"x/**\\/a", "x/y/a x/y/z/a", "x/a"),
    (b"a/?/b", "a/x/b", "a//b a/b"),
    # classes
    (b"[ab]", "a b", "c ab"),
    (b"[!a]\n!x", "b", "a ab x"),
    (b"[^a]", "b", "a"),
    (b"[a-c]x", "ax bx cx", "dx -x"),
    (b"[a-]x", "ax -x", "bx"),
    (b"[]a]x", "]x ax", "bx"),
    (b"[\\]]x", "]x", "\\x"),
    (b"[\\a-c]x", "ax bx", "\\x"),
    (b"[z-a]x", "zx", "ax -x"),
    (b"[a-c-e]x", "ax -x ex", "dx"),
    (b"[[:alpha:]]x", "ax Zx", "1x [x"),
    (b"[[:digit:][:upper:]_]x", "1x Ax _x", "ax"),
    (b"[![:space:]]x", "ax", "x"),
    (b"[[:nothing:]]x", "", "ax :x"),
    (b"[[:alpha:]", "", "a ["),
    (b"[[:]x", "[x :x", "ax"),
    (b"[[=a=]]", "=] a] []", "a [=a=]"),
    (b"[a", "", "a [a [a]"),
    (b"[a\\", "", "a [a\\"),
    (b"a[/]b", "", "a/b"),
    (b"x/[a/b]c", "x/ac x/bc", "a/bc x//c"),
    (b"[*]", "*", "a"),
    # escapes
    (b"\\#a", "#a", "a"),
    (b"\\a\\b", "ab", "\\a\\b"),
    (b"a\\?", "a?", "ab"),
    (b"\\[a]", "[a]", "a"),
    (b"a\\", "", "a a\\"),
    (b"a\\/", "", "a a/b"),
    (b"x\\/a", "x/a", "a"),
    # lines
    (b"# a\na", "a", "#"),
    (b" #a", "", "#a a"),
    (b"\xef\xbb\xbfa\nb", "a b", ""),
    (b"a\r\nb\r\n", "a b", ""),
    (b"a\r", "a", ""),
    (b"a   ", "a", ""),
    (b"a\t", "", "a"),
    (b"a\0b\nc", "a c", "b"),
    (b"\n\n  \n\\\na", "a", "b"),
    (b"*.py[cod]", "x.pyc a/x.pyo", "x.py"),
]
SPACES: list[tuple[bytes, list[str], list[str]]] = [
    (b"a\\ ", ["a "], ["a", "a\\ "]), (b"a \\ ", ["a  "], ["a", "a "]), (b" a", [" a"], ["a"]),
]  # fmt: skip
CASES = [*((rules, yes.split(), no.split()) for rules, yes, no in ROWS), *SPACES]


def verdict(rules: bytes, path: str, *, fold: bool = False) -> bool:
    here = scope([compile_rules(rules, ".gitignore", fold=fold)])
    *folders, name = path.encode().split(b"/")
    for each in folders:
        here = below(here, each)
    return bool(why_ignored(here, name))


@pytest.mark.parametrize(("rules", "yes", "no"), CASES, ids=[repr(case[0]) for case in CASES])
def test_rules_match_as_git_has_it(rules: bytes, yes: list[str], no: list[str]) -> None:
    """Each kind of rule by example."""
    assert [path for path in yes if not verdict(rules, path)] == []
    assert [path for path in no if verdict(rules, path)] == []


@pytest.mark.parametrize(
    ("rules", "path", "same", "folded"),
    [
        (b"Foo", "fOO", False, True),
        (b"x/Foo*", "X/fooBar", False, True),
        (b"[A-C]x", "bX", False, True),
        (b"[[:upper:]]", "a", False, True),
        (b"[a]", "A", False, True),
        (b"[A]", "A", True, False),  # git compares the small letter with the class as written
        (b"\\Foo", "Foo", True, False),  # … and with what is escaped
        (b"\xc3\x89", "é", False, False),
    ],
)
def test_case_counts_unless_git_is_told_otherwise(
    rules: bytes, path: str, same: bool, folded: bool
) -> None:
    """`core.ignoreCase` is for ASCII letters, with git's own exceptions."""
    assert verdict(rules, path) == same
    assert verdict(rules, path, fold=True) == folded


def test_deeper_lists_count_over_upper_ones() -> None:
    """The innermost list that knows a name decides; what is open at a folder's door stays open to it."""
    top = scope([compile_rules(b"*.log\nshut/\n", "top"), compile_rules(b"*.py\n", "least")])
    inner = below(top, b"a", compile_rules(b"!x.log\n/y.py\n", "inner"))
    assert why_ignored(top, b"x.log") == "it matches top"
    assert why_ignored(inner, b"x.log") == ""
    assert why_ignored(inner, b"z.log") == "it matches top"
    assert why_ignored(inner, b"y.py") == "it matches inner"
    assert why_ignored(inner, b"z.py") == "it matches least"
    assert (
        why_ignored(below(top, b"shut", compile_rules(b"!*\n", "inner")), b"a") == "it matches top"
    )


def test_names_are_bytes() -> None:
    """A name that is not UTF-8 has a verdict, and a `?` is one byte of it."""
    here = scope([compile_rules(b"caf\xe9.*\n\xff?\n", "")])
    assert why_ignored(here, b"caf\xe9.py")
    assert why_ignored(here, b"\xff\xfe")
    assert not why_ignored(here, "café.py".encode())


@pytest.mark.parametrize(
    "data", [b"a" * (LONGEST + 1), b"[a]\n" * (CLASSES + 1), b"n1\n" * 100_000]
)
def test_a_list_beyond_the_limits_hides_everything(data: bytes) -> None:
    """Nothing below takes anything back; the reason says what is wrong."""
    shut = compile_rules(data, ".gitignore")
    here = below(scope([compile_rules(b"x", "upper")]), b"a", shut)
    assert beyond(data)
    assert beyond(data[: len(data) // 2 - 200]) == ""
    assert why_ignored(here, b"any").startswith(".gitignore ")
    assert why_ignored(below(here, b"b", compile_rules(b"!*", "lower")), b"any").startswith(
        ".gitignore "
    )


def test_a_list_at_the_limit_is_read() -> None:
    """50,000 rules are long to write and quick to read."""
    rules = b"".join(b"x%d\n" % n for n in range(40_000))[:LONGEST]
    assert verdict(rules, "x30000")
    assert not verdict(rules, "x")


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "stars": lambda n: b"*a" * n + b"b",
    "stars and questions": lambda n: b"*?" * n + b"b",
    "classes": lambda n: b"*[ab]" * n + b"c",
    "folders": lambda n: b"**/a/" * n + b"b",
    "folders with stars": lambda n: b"/*a*/**" * n + b"/b",
    "many": lambda n: b"*a*a*b\n" * n,
    "a row of stars": lambda n: b"a" + b"*" * n + b"b",
    "escapes": lambda n: b"\\a*" * n + b"b",
}


TOOL = 3  # of those that watch instructions: coverage and profilers have others

if sys.version_info >= (3, 12):  # there tracing misses a function that is traced for the first time

    def steps(work: Callable[[], object]) -> int:
        """Return how many bytecodes of ours it takes."""
        n_steps = 0

        def note(code: CodeType, _: int) -> object:
            nonlocal n_steps
            if "ignore_" not in code.co_filename:
                return sys.monitoring.DISABLE
            n_steps += 1
            return None

        event = sys.monitoring.events.INSTRUCTION
        sys.monitoring.use_tool_id(TOOL, "steps")
        sys.monitoring.register_callback(TOOL, event, note)
        sys.monitoring.set_events(TOOL, event)
        try:
            work()
        finally:
            sys.monitoring.set_events(TOOL, 0)
            sys.monitoring.free_tool_id(TOOL)
        return n_steps

else:

    def steps(work: Callable[[], object]) -> int:
        """Return how many bytecodes of ours it takes."""
        n_steps = 0

        def trace(frame, event, _):
            nonlocal n_steps
            if "ignore_" not in frame.f_code.co_filename:
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            n_steps += event == "opcode"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(before)
        return n_steps


@pytest.mark.parametrize("name", HOSTILE)
def test_a_verdict_takes_steps_by_the_length_of_the_path(name: str) -> None:
    """Twice the path, twice the steps; twice the pattern, as many steps on sets twice as long."""
    short, long = (scope([compile_rules(HOSTILE[name](n), "")]) for n in (40, 80))
    judge = lambda here, n: steps(lambda: why_ignored(here, b"a" * n))  # noqa: E731
    once = judge(short, 100)
    twice = judge(short, 200)
    assert twice <= 2.1 * once
    assert judge(long, 100) <= 1.1 * once
    assert once < 100 * 100


@pytest.mark.parametrize("name", HOSTILE)
def test_deep_folders_take_steps_by_their_number(name: str) -> None:
    """What was found of a folder is not found again for each file in it."""
    rules = compile_rules(HOSTILE[name](40), "")

    def walk(n_folders: int) -> Scope:
        here = scope([rules])
        for _ in range(n_folders):
            here = below(here, b"a")
        return here

    once = steps(lambda: walk(50))
    twice = steps(lambda: walk(100))
    assert twice <= 2.1 * once
    assert steps(lambda: why_ignored(walk(100), b"x")) - twice <= steps(
        lambda: why_ignored(walk(5), b"x")
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_list_is_read_in_steps_by_its_length(name: str) -> None:
    """No pattern is expensive to compile, and none has more states than bytes."""
    ignore_rules._small.cache_clear()
    once, twice = (steps(partial(compile_rules, HOSTILE[name](n), "")) for n in (100, 200))
    data = HOSTILE[name](100)
    assert twice <= 2.2 * once
    assert max(x.bit_length() for x in compile_rules(data, "").table) <= len(data) + 1


def test_named_classes_are_those_of_ascii() -> None:
    """All twelve, against Python's own tables; git's spaces are four."""
    named = {
        "alnum": string.ascii_letters + string.digits, "punct": string.punctuation,
        "xdigit": string.hexdigits, "space": " \t\n\r",
    }  # fmt: skip
    for name, members in named.items():
        rules = b"[[:%s:]]\n" % name.encode()
        here = scope([compile_rules(rules, "")])
        assert {chr(n) for n in range(128) if why_ignored(here, bytes([n]))} == set(members) - {"/"}

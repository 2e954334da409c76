"""
No regular expression takes more than linear time, whatever text it is given.

The patterns are found where they are: in the values of all modules, in calls of `re`, and in what functions
make (`MADE`). Each is attacked with texts made of its own parts, repeated thousands of times. Compared are the
processor times of a text and of one twice as long, so that a slow machine is as good as a fast one.
"""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from fim_lsp.suggest import lines, quotes
from server_bridge.fim import layout, tokens
from tests.fuzz import FUZZ
from tests.test_tidy import PATHS, name_of
from tests.test_tidy import parsed as syntax

pytestmark = pytest.mark.promise("bounded-work")

parser: Any = importlib.import_module("re._parser")

# Characters of a text: the first sizes tell an exponential pattern and a cubic one. A repeat with a bound looks quadratic
# in texts that are not much longer than the bound, so where it costs much there, longer ones tell.
SIZES = (20, 125, 1000, 4000)
BOUNDS = 3  # times the greatest bound: what is still quadratic in such a text is
TOO_MUCH = 0.5  # seconds for a text of any of these sizes, linear or not
# Seconds from which twice the text is compared with once: steps of `re` take 2 ns or more.
MUCH = 0.003
# Most attacks are known to be harmless at the second or third size: what costs no more than this there costs less than
# `MUCH` at the last one, also if it is quadratic; and so does what costs little more than eight times the cost of an eighth.
LITTLE = {size: MUCH / (SIZES[-1] / size) ** 2 for size in SIZES[1:3]}
MOST = 3.0  # twice the text costs twice the time, four times if it is quadratic
TIMES = (1, 3, 10)  # runs, of which the fastest counts; more where it seems to cost more

CHARS = "a01A_ -.:/=\n\"'(<\t;b@*"
CATEGORIES = {
    f"CATEGORY_{negated}{name}": re.compile(rf"\{letter.upper() if negated else letter}")
    for name, letter in (("DIGIT", "d"), ("SPACE", "s"), ("WORD", "w"))
    for negated in ("", "NOT_")
}
LONGEST_PUMP = 200
# More of both by scripts/test-security: a pattern seldom costs more where the text ends than where it fails to match.
N_SAMPLES, TAILS = (3, ("", "\n\0")) if FUZZ > 1 else (1, ("\n\0",))
EVERY = 1 if FUZZ > 1 else 12  # of the attacks on each pattern
LEAVES = {"LITERAL", "NOT_LITERAL", "ANY", "IN"}  # what matches one character
WORD = re.compile(r"\w")
REPEATED = re.compile(r"\A(.+?)\1+\Z", re.DOTALL)

# Patterns that functions make.
MADE = {
    **{
        f"lines.scanner({name})": lines.scanner(name)
        for name in ("c", "python", "rust", "vim", "css")
    },
    **{
        f"quotes.outside({name})": quotes.outside(name)
        for name in ("python", "javascript", "cpp", "csharp", "ruby", "php", "shellscript", "lua")
    },
    **{
        f"quotes.inside({name}, {row.opens})": quotes.inside(row, "EOF")
        for name in ("python", "ruby", "php", "shellscript")
        for row in quotes.rows(name)
    },
    **{
        f"layout._looks_special({each.name})": layout._looks_special(each)
        for each in tokens.FAMILIES
    },
    **{f"tokens.{each.name}": re.compile(each.models, re.IGNORECASE) for each in tokens.FAMILIES},
}


class Used(NamedTuple):
    """A pattern, and the methods of it that are called where the name tells that."""

    name: str
    pattern: re.Pattern[Any]
    methods: tuple[str, ...]


def patterns(value: object, name: str) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield those in *value*, which may be a collection."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from patterns(each, f"{name}[{key}]")
    elif isinstance(value, (tuple, list, set, frozenset)):
        for n, each in enumerate(value):
            yield from patterns(each, f"{name}[{n}]")


def collected() -> Iterator[Used]:
    """Yield every pattern once, by where it is found first."""
    sources = {name_of(path): path.read_text("utf-8") for path in PATHS}
    seen: set[re.Pattern[Any]] = set()
    for module in sources:
        near = "".join(
            text
            for name, text in sources.items()
            if name == module or f"from {module} import" in text
        )
        for name, value in vars(importlib.import_module(module)).items():
            for inner, pattern in patterns(value, name):
                if pattern not in seen:
                    called = re.findall(rf"\b{name}\.(\w+)\(", near) if inner == name else ()
                    yield Used(f"{module}.{inner}", pattern, tuple(sorted({*called})))
                seen.add(pattern)
    for name, pattern in MADE.items():
        yield Used(name, pattern, ())


def written() -> Iterator[Used]:
    """Yield the patterns that stand in calls like `re.search("…", text)`; a variable there is refused."""
    for path in PATHS:
        for node in ast.walk(syntax(path)):
            call = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and re.fullmatch(r"re\.(?!compile|escape)[a-z]+", call):
                flags = re.findall(r"re\.([A-Z]+)", ast.unparse(node))
                pattern = re.compile(
                    ast.literal_eval(node.args[0]), sum(getattr(re, flag) for flag in flags)
                )
                yield Used(f"{name_of(path)}:{node.lineno}", pattern, (call[3:],))


def sampled(item: Any, n: int) -> str:
    """Return a text that the parsed *item* matches, roughly; *n* chooses among several."""
    op = str(item[0])
    value = item[1]
    if op == "LITERAL":
        return chr(value)
    if op in {"NOT_LITERAL", "ANY", "IN"}:
        found = [char for char in CHARS if accepts(item, char)]
        if found:
            return found[n % len(found)]
        last = value[-1][1]  # a character, or the first and the last one of a range
        return chr(last if isinstance(last, int) else last[1])
    if op == "BRANCH":
        return joined(value[1][n % len(value[1])], n)
    if op.endswith("_REPEAT"):
        return joined(value[2], n) * max(value[0], min(1 + n % 2, int(value[1])))
    return joined(value[3], n) if op == "SUBPATTERN" else ""


def joined(items: Iterable[Any], n: int) -> str:
    return "".join(sampled(item, n) for item in items)


def accepts(item: Any, char: str) -> bool:
    """Return whether *item*, a character or a class, matches *char*."""
    op = str(item[0])
    value = item[1]
    if op == "IN":
        negated = str(value[0][0]) == "NEGATE"
        return any(accepts(each, char) for each in value[negated:]) != negated
    if op == "RANGE":
        return bool(value[0] <= ord(char) <= value[1])
    if op == "CATEGORY":
        return CATEGORIES[str(value)].match(char) is not None
    return op == "ANY" or (ord(char) == value) == (op == "LITERAL")


def sequences(items: Any) -> Iterator[list[Any]]:
    """*items*, and the sequences of items inside of them."""
    yield [*items]
    for op, value in items:
        inner: Iterable[Any] = ()
        if str(op) == "BRANCH":
            inner = value[1]
        elif str(op) == "SUBPATTERN" or str(op).startswith("ASSERT"):
            inner = value[-1:]
        elif str(op).endswith("_REPEAT"):
            inner = value[2:]
        for each in inner:
            yield from sequences(each)


def words(items: list[Any]) -> Iterator[list[Any]]:
    """Yield the items of a sequence one by one, but literals that follow one another together: no part of a word is repeated."""
    for is_word, run in itertools.groupby(items, lambda item: str(item[0]) == "LITERAL"):
        together = [*run]
        yield from [together] if is_word else [[item] for item in together]


def parsed(pattern: re.Pattern[Any]) -> Any:
    """Return the items of *pattern* as `re` parses them."""
    source = pattern.pattern
    return parser.parse(
        source if isinstance(source, str) else source.decode("latin-1"), pattern.flags
    )


@functools.cache
def bound(pattern: re.Pattern[Any]) -> int:
    """Return the greatest finite number of times that something in *pattern* is repeated."""
    repeats = [
        item[1][1]
        for each in sequences(parsed(pattern))
        for item in each
        if str(item[0]).endswith("_REPEAT")
    ]
    return max((int(most) for most in repeats if most != parser.MAXREPEAT), default=0)


def traits(pattern: re.Pattern[Any]) -> Callable[[str], str]:
    """Return what replaces each character by the first of those that *pattern* cannot tell from it."""
    items = [item for each in sequences(parsed(pattern)) for item in each]
    if any("GROUP" in str(item[0]) for item in items):  # compares characters with one another
        return str
    leaves = {repr(item): item for item in items if str(item[0]) in LEAVES}.values()
    first: dict[object, str] = {}

    @functools.cache
    def replaced(char: str) -> str:
        cases = [each for each in (char, char.lower(), char.upper()) if len(each) == 1]
        seen = [[accepts(leaf, each) for leaf in leaves] for each in cases]
        return first.setdefault(
            repr((seen, WORD.match(char) is None, char == "\n", ord(char) > 127)), char
        )

    return lambda text: "".join(map(replaced, text))


def attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """
    Yield what stands in front, what is repeated, and how the text ends.

    Of those that make the same text, or texts that *pattern* cannot tell from one another, only one.
    """
    made = {("", char) for char in CHARS}
    for n, items in itertools.product(range(N_SAMPLES), sequences(parsed(pattern))):
        made |= {("", sampled(item, n)) for item in items}
        parts = [joined(each, n) for each in words(items)]
        for at in range(len(parts)):
            pumps = {"".join(parts[at:end]) for end in (at + 1, at + 2, len(parts))}
            made |= {*itertools.product(("", "".join(parts[:at])), pumps)}
    plain = traits(pattern)
    distinct = {
        (plain(head), REPEATED.sub(r"\1", plain(pump))): (head, pump)
        for head, pump in sorted(made, reverse=True)
        if 0 < len(pump) <= LONGEST_PUMP
    }
    for head, pump in distinct.values():
        yield from ((head, pump, tail) for tail in TAILS)


def cost(used: Used, attack: tuple[str, str, str], size: int, times: int) -> float:
    """Return the least processor time of some runs."""
    head, pump, tail = attack
    subject: Any = head + pump * (size // len(pump)) + tail
    if isinstance(used.pattern.pattern, bytes):
        subject = subject.encode("latin-1", "replace")
    once = {"match": used.pattern.match, "fullmatch": used.pattern.fullmatch}
    calls = [once[name] for name in used.methods if name in once]
    if len(calls) < len(used.methods) or not calls:
        every: Any = used.pattern.finditer
        calls = [lambda whole: sum(1 for _ in every(whole))]  # type: ignore[list-item]
    least = float("inf")
    for _ in range(times):
        start = time.thread_time()
        for call in calls:
            call(subject)
        least = min(least, time.thread_time() - start)
    return least


def is_linear(used: Used, attack: tuple[str, str, str]) -> bool:
    """Return whether twice the text costs twice the time, at the first size that tells where it costs much."""
    enough = BOUNDS * bound(used.pattern)
    for size in sorted({*SIZES, enough} if enough > SIZES[2] else SIZES):
        once = cost(used, attack, size, 1)
        if once > MUCH and size == SIZES[0]:
            return cost(used, attack, size, TIMES[1]) <= MUCH  # twice an exponential one is endless
        if once > MUCH and size >= enough:
            doubles = any(_doubles(used, attack, size, times) for times in TIMES)
            return doubles or cost(used, attack, size, TIMES[2]) <= MUCH  # `once` was one run
        if once > TOO_MUCH:
            return False
        if once <= LITTLE.get(size, 0.0) or (
            size == SIZES[2] and once <= 8 * MOST * cost(used, attack, SIZES[1], TIMES[1])
        ):
            return True
    return True


def _doubles(used: Used, attack: tuple[str, str, str], size: int, times: int) -> bool:
    """Return whether a text of twice the *size* costs twice the time; the runs alternate, so that a busy moment meets both."""
    runs = [[cost(used, attack, n, 1) for n in (size, 2 * size)] for _ in range(times)]
    once, twice = map(min, zip(*runs, strict=True))
    return twice <= MOST * once


def test_all_functions_that_make_patterns_are_known() -> None:
    """What they make is among the values of a module, or in `MADE`."""
    makers = {
        f"{name_of(path)}.{node.name}"
        for path in PATHS
        if "re.compile(" in (text := path.read_text("utf-8"))
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.FunctionDef)
        and "re.compile(" in "".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
    }
    assert makers == {
        "fim_lsp.context.secrets.credentials._form", "fim_lsp.context.secrets.forms._forms",
        "fim_lsp.context.secrets.tokens._form", "fim_lsp.next_edit.declarations._declares",
        "fim_lsp.next_edit.declarations._find_declared", "fim_lsp.suggest.lines.scanner",
        "fim_lsp.suggest.quotes.inside", "fim_lsp.suggest.quotes.outside",
        "server_bridge.fim.layout._looks_special", "server_bridge.fim.tokens._is_named",
    }  # fmt: skip


@pytest.mark.timed
@pytest.mark.parametrize(
    ("pattern", "linear"),
    [
        (r"(a+)+b", False), (r"\s+$", False), (r"[\w.+-]+: none", False),
        (r"[\w.+-]{1,80}: none", True), (r"(?<![\w.])\w+ =", True),
    ],
)  # fmt: skip
def test_the_attacks_tell_patterns_apart(pattern: str, linear: bool) -> None:
    """Exponential and quadratic ones are found; those that look at a text a bounded number of times are not."""
    used = Used(pattern, re.compile(pattern), ())
    assert all(is_linear(used, attack) for attack in attacks(used.pattern)) == linear


@pytest.mark.promise("private-files")
@pytest.mark.timed
def test_a_pattern_is_linear() -> None:
    """Of all modules, and of those that functions make."""
    assert {
        used.name: attack
        for used in (*collected(), *written())
        for attack in [*attacks(used.pattern)][::EVERY]
        if not is_linear(used, attack)
    } == {}

"""Known continuations, by replaying what people do; suggestions without a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.known import MAX_CHARS, MAX_PATHS, Continuations
from fim_lsp.suggest.lines_in_sight import continue_line
from tests.suggest.golden_cases import parsed

KEY = "model a"
FILE = "import os\n\n\ndef f(path):\n    {}\n\n\nf(1)\n"


def cursor(line: str, after: str = "") -> Cursor:
    """Return the cursor behind *line*, which may hold line ends, in a file."""
    return parsed(FILE.format(line + "▮" + after))[0]


def found(known: Continuations, line: str, after: str = "", key: str = KEY) -> list[str]:
    """Return the one caller of `find`."""
    return [candidate.text for candidate in known.find(cursor(line, after), key)]


@pytest.fixture
def known() -> Continuations:
    """At `x = ` the model said two lines, at `n = ` one."""
    known = Continuations()
    known.put(cursor("x = "), Candidate("open(path)\n    return x.read()"), KEY)
    known.put(cursor("n = "), Candidate("1\n"), KEY)
    return known


@pytest.mark.parametrize(
    ("line", "rests"),
    [
        ("x = ", ["open(path)\n    return x.read()"]),
        ("x = op", ["en(path)\n    return x.read()"]),
        ("x = open(path)\n    ret", ["urn x.read()"]),
        ("x =", [" open(path)\n    return x.read()"]), ("", []), ("y = ", []), ("x = close", []),
        ("x = open(path)\n    return x.read()", []),
        ("x = open(path)\n    return x.read()\n    y", []), ("n = 1", []),
    ],
    ids=[
        "there", "typed", "a line on", "back", "all deleted", "other", "against it", "accepted",
        "past it", "a line is typed, and the next may follow",
    ],
)  # fmt: skip
def test_typing_along_a_path(known: Continuations, line: str, rests: list[str]) -> None:
    """A text that begins an entry gets its rest, any other text gets nothing."""
    assert found(known, line) == rests


@pytest.mark.parametrize(
    ("line", "after", "key", "rests"),
    [
        ("x = open(", ")", KEY, ["path)\n    return x.read()"]),  # brackets that editors insert
        ("x = open(", "other", KEY, []),
        ("x = ", "", "model b", []),  # what one model said is not what another would say
    ],
)
def test_text_behind_the_cursor_and_the_model_count(
    known: Continuations, line: str, after: str, key: str, rests: list[str]
) -> None:
    """`(` typed through a suggestion brings its `)` along."""
    assert found(known, line, after, key) == rests


def test_text_around_must_be_the_same(known: Continuations) -> None:
    """A changed neighbour line makes a path unknown; a line far above does not."""
    here = cursor("x = ")
    assert known.find(replace(here, above=("import re", *here.above[1:])), KEY)
    assert not known.find(replace(here, above=(*here.above[:-1], "def g(path):")), KEY)
    assert not known.find(replace(here, below=("", "g(2)")), KEY)


FIRST = "open(path)\n    return x.read()"


@pytest.mark.parametrize(
    ("put", "rests"),
    [  # what was decoded ahead; alternatives in their order; who knew more typed comes first
        ([(f"x = {FIRST}", "\n\ndef g():")], {f"x = {FIRST}": ["\n\ndef g():"]}),
        (
            [("x = ", "os.open(path)"), ("x = ", "None")],
            {"x = ": [FIRST, "os.open(path)", "None"], "x = o": [FIRST[1:], "s.open(path)"]},
        ),
        ([("x = op", "enat(path)")], {"x = ope": ["nat(path)", FIRST[3:]]}),
    ],
)
def test_several_texts(
    known: Continuations, put: list[tuple[str, str]], rests: dict[str, list[str]]
) -> None:
    """Typing on leaves those that agree."""
    for line, text in put:
        known.put(cursor(line), Candidate(text), KEY)
    assert {line: found(known, line) for line in rests} == rests


def test_nothing_is_remembered_too() -> None:
    """Where the model said nothing it is not asked again, until something is typed."""
    known = Continuations()
    known.put(cursor("x"), Candidate(""), KEY)
    assert found(known, "x") == [""]
    assert found(known, "x ") == []


def test_longer_text_replaces_shorter(known: Continuations) -> None:
    """A text that was decoded further is one path, not two."""
    known.put(cursor("y = "), Candidate("op", whole=False), KEY)
    known.put(cursor("y = "), Candidate("open()"), KEY)
    assert known.find(cursor("y = "), KEY) == [Candidate("open()")]


def test_a_choice_stands_behind_the_answer(known: Continuations) -> None:
    """Another sample that goes on as the answer does is a path of its own; the same text is not."""
    for sample, text in enumerate(["open()", "open().read()", "open()"]):
        known.put(cursor("y = "), Candidate(text), KEY, sample)
    assert found(known, "y = ") == ["open()", "open().read()"]


def test_it_stays_small() -> None:
    """Neither many paths nor long ones make it grow without end: the oldest are given up."""
    known = Continuations()
    places = range(MAX_PATHS + 50)
    for n in places:
        known.put(Cursor(before=f"{n}", above=(f"{n}",)), Candidate("x"), KEY)

    def kept() -> list[int]:
        cursors = {n: Cursor(before=f"{n}", above=(f"{n}",)) for n in places}
        return [n for n, cursor in cursors.items() if known.find(cursor, KEY)]

    assert kept() == [*places][50:]
    known.put(Cursor(before="long"), Candidate("x" * MAX_CHARS), KEY)
    assert kept() == []
    assert known.find(Cursor(before="long"), KEY) == []


texts = st.text("ab \n", max_size=12)


@given(st.lists(st.tuples(texts, texts), max_size=8), texts)
def test_what_is_found_was_said(puts: list[tuple[str, str]], line: str) -> None:
    """The text before the cursor and what is found there are together a text that was put."""
    known = Continuations()
    for before, said in puts:
        known.put(cursor(before), Candidate(said), KEY)
    wholes = {before + said for before, said in puts}
    for rest in found(known, line):
        assert line + rest in wholes


@pytest.mark.parametrize(
    ("text", "elsewhere", "rest"),
    [
        ("return value\n\nretu▮", [], "rn value"),
        ("return value\nretu▮", [], ""),
        ("retu▮\nreturn value", [], "rn value"),
        ("retu▮\n", ["  return value"], "rn value"),
        ("return value\n\nreturn value▮", [], ""),
        ("return a\nreturn b\n\nretu▮", [], "rn b"),
        ("return a\nreturn b\nreturn c\n\nretu▮", [], ""),
        ("return a\n\nretu▮\nreturn b", ["return a", "return c"], "rn a"),
        ("print(a)\n\nprint(▮)", [], "a)"),
        ("print(a)\n\nprint▮(b)", [], ""),
        ("x = 1\n▮", [], ""),
    ],
)
def test_continued(text: str, elsewhere: list[str], rest: str) -> None:
    """The rest of the line that most lines beginning alike have, of equals the nearest; else nothing."""
    assert continue_line(parsed(text)[0], elsewhere).text == rest

"""The process that reads syntax: no text of a repository ends the session, or keeps the next one from being read."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from fim_lsp.context.grammars import find_borders
from fim_lsp.context.uses import Renaming, find_uses
from fim_lsp.next_edit.edits import EditedText
from fim_lsp.workspace import reader
from fim_lsp.workspace.reader import DEATHS, SyntaxProcess
from tests.fuzz import FUZZ

pytestmark = pytest.mark.promise("bounded-work")

CODE = "def freight(weight):\n    return weight * 2\n"
HANGS = (sys.executable, "-c", "import time; time.sleep(600)")
ENDS = (sys.executable, "-c", "")
N, EVERY = (60_000, 1) if FUZZ > 1 else (20_000, 4)  # scripts/test-security
HOSTILE = {
    "typescript": ["{" * N, "`${" * N, "<a " * N, "/*" * N],
    "python": ["(" * N, '"""\n' * N, "[x for " * N, " " * N + "\n" * N],
    "java": ["class A { int x = " + "(" * N, "class A {" * N],
    "lua": ["f(" * N, "[==[" * N, "function " * N],
    "c": ["#if\n" * N, "((" * N, "a*b*" * N],
    "cpp": ["a<" * N, "template<" * N],
    "shellscript": ["<<E\n" * N, "$(" * N],
    "rust": ["r#" * N, "|x| " * N],
    "ruby": ["%w(" * N, "<<A\n" * N],
}


@pytest.fixture
def process() -> Iterator[SyntaxProcess]:
    process = SyntaxProcess()
    yield process
    process.end()
    process.close()


@pytest.mark.parametrize("language", HOSTILE)
def test_after_any_text_the_next_one_is_read(process: SyntaxProcess, language: str) -> None:
    """A hostile one has no syntax, or some; it may end the child, and another one is started."""
    for text in HOSTILE[language][::EVERY]:
        process.borders(language, text)
        borders = process.borders("python", CODE)
        assert borders == find_borders("python", CODE), text[:20]


@pytest.mark.parametrize("language", ["typescript", "lua", "rust"])
def test_uses_are_read_by_it(process: SyntaxProcess, language: str) -> None:
    """As in this process; of a hostile text none, and then those of the next one."""
    asked = [Renaming(0, "mass", "weight"), Renaming(1, "mass", "weight")]
    code = CODE.replace("return weight", "return mass")
    expected = find_uses("python", code, asked)
    assert [renamed is None for renamed in expected] == [False, True]
    for text in HOSTILE[language][::EVERY]:
        process.uses(language, "weight mass\n" + text, asked)
        assert process.uses("python", code, asked) == expected


@pytest.mark.parametrize(("code", "n_errors"), [(CODE, 0), ("x = = 1\n", 1), ("", 0)])
def test_errors_are_counted_by_it(process: SyntaxProcess, code: str, n_errors: int) -> None:
    """Of a whole text; in a language without a grammar none are known."""
    assert process.errors("python", code) == n_errors
    assert process.errors("plaintext", code) is None


def test_a_definition_is_found_behind_the_uses_that_followed_it(process: SyntaxProcess) -> None:
    """However many were changed since: they are newer, and no definitions."""
    code = "def f(new):\n" + "    g(new)\n" * 30 + "    h(old)\n"
    asked = [*(Renaming(row, "old", "new") for row in range(30, 0, -1)), Renaming(0, "old", "new")]
    *uses, definition = process.uses("python", code, asked) or []
    assert uses == [None] * 30
    assert definition is not None
    assert [use.row for use in definition.uses] == [31]


def test_no_more_than_some_uses_are_looked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest: who reads another text waits meanwhile."""
    n_asked: list[int] = []

    def note(_: SyntaxProcess, language: str, text: str, asked: Sequence[Renaming]) -> list[None]:
        n_asked.append(len(asked))
        return [None] * len(asked)

    monkeypatch.setattr(SyntaxProcess, "uses", note)
    text = EditedText("file:///a.py", "python", ("x = 1", ""))
    renamings = [Renaming(0, f"old_{n}", f"new_{n}") for n in range(200)]
    assert reader.SourceReader().find_uses(text, renamings) == [None] * 200
    assert n_asked == [reader.RENAMINGS]


@pytest.mark.parametrize("child", [HANGS, ENDS], ids=["hangs", "ends"])
def test_a_child_without_an_answer_is_ended_and_not_started_for_ever(
    process: SyntaxProcess, monkeypatch: pytest.MonkeyPatch, child: tuple[str, ...]
) -> None:
    """The text has no syntax; after some of these no child is started any more."""
    monkeypatch.setattr(reader, "LIMIT_S", 0.05)
    monkeypatch.setattr(reader, "_CHILD", child)
    started = []
    start = reader._start

    def noting():
        started.append(start())
        return started[-1]

    monkeypatch.setattr(reader, "_start", noting)

    assert [process.borders("python", CODE) for _ in range(DEATHS + 5)] == [None] * (DEATHS + 5)
    assert len(started) == DEATHS
    assert all(each is not None and each.returncode is not None for each in started)


def test_a_text_that_waits_when_the_session_ends_gets_no_answer(
    process: SyntaxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit does not wait for the parser."""
    monkeypatch.setattr(reader, "_CHILD", HANGS)
    answers: list[object] = []
    waits = threading.Thread(target=lambda: answers.append(process.borders("python", CODE)))
    waits.start()
    while process._child is None:
        time.sleep(0.01)
    process.end()
    waits.join(timeout=10)

    assert answers == [None]
    assert process.borders("python", CODE) is None
    assert process.uses("python", CODE, [Renaming(0, "mass", "weight")]) is None

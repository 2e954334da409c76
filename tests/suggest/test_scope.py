"""A place stands in a comment, a string or code as its language says (`fim.completion.quietIn`)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fim_lsp.context.grammars import GRAMMARS, Parse
from fim_lsp.documents import Position, open_document
from fim_lsp.suggest import scope
from fim_lsp.suggest.scope import ENOUGH, Text, scope_at
from fim_lsp.suggest.syntax_errors import parse_in_stages

TABLE: dict[str, dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "scopes.toml").read_text("utf-8")
)


def scope_in(text: str, language: str) -> str:
    head, _, tail = text.replace("⏎", "\n").replace("→", "\t").partition("▮")
    lines = head.split("\n")
    document = open_document("file:///src/app", language, 1, head + tail)
    return scope_at(document, Position(len(lines) - 1, len(lines[-1])))


ROWS = [
    (language, expected, text)
    for language, scopes in TABLE.items()
    for expected, texts in scopes.items()
    for text in texts
]


@pytest.mark.parametrize(("language", "expected", "text"), ROWS)
def test_scope(language: str, expected: str, text: str) -> None:
    """Each row, however much of it is written yet."""
    assert (scope_in(text, language) or "code") == expected


FAR = 350  # lines: more than are parsed


@pytest.mark.parametrize(
    ("language", "head", "line", "tail", "expected"),
    [
        ("python", 'def f():⏎    """Doc⏎', "    It says a, and b (c).⏎", "    the ▮", "string"),
        ("python", 'def f():⏎    """Doc⏎', "    It's a.⏎", '    """⏎    x = ▮', ""),
        ("python", 'a"""⏎', "total = compute(value)⏎", "x = f'a {▮", ""),
        ("javascript", "/*⏎", "  It's a, and b (c).⏎", "  the ▮⏎*/⏎f();", "comment"),
        ("javascript", "f(`⏎", "  It's a, and b (c).⏎", "  the ${▮}`);", ""),
        ("javascript", "f(`⏎", "  It's a, and b (c).⏎", "  the ▮`);", "string"),
        ("shellscript", "cat <<EOF⏎", "It's a, and b.⏎", "the ▮⏎EOF", "string"),
        ("ruby", "a = %q{it's}⏎", "total = compute(value)⏎", "c = ▮", ""),
        ("javascript", "if (a) /`/.test(b)⏎", "total = compute(value);⏎", "c = ▮", ""),
        ("php", "<?php⏎", "total = compute(value);⏎", "# the ▮", "comment"),
        ("php", "<?php⏎", "total = compute(value);⏎", "c(▮", ""),
        ("html", "<script>⏎", "total = compute(value);⏎", "c('▮", "string"),
    ],
)
def test_what_begins_far_above(
    language: str, head: str, line: str, tail: str, expected: str
) -> None:
    """It counts, but not where the code in between makes no sense that way."""
    assert scope_in(head + line * FAR + tail, language) == expected


HOSTILE = ("(", "a<", "`${", "/*", "'", "#if\n", "%w(", "$(", "f'{", "=begin\n", "a ")


@pytest.mark.parametrize("language", GRAMMARS)
def test_a_hostile_text_is_parsed_seldom(language: str, monkeypatch) -> None:
    """Behind a parse that took many operations there is no other one, nor of a longer text."""
    found = list[Parse]()
    sizes = list[int]()

    def note(language: str, text: bytes) -> Parse:
        parse = parse_in_stages(language, text)
        found.append(parse)
        sizes.append(len(text))
        return parse

    monkeypatch.setattr(scope, "parse_in_stages", note)
    for unit in HOSTILE:
        line = (unit * 80)[:80] + "\n"
        text = Text(language, f"{line * 125}{unit * 20}'", f"\n{line * 8}")
        scope.scope(text)
        found.clear()
        scope.scope(text)
        assert sum(parse.operations for parse in found[:-1]) <= ENOUGH, unit
    assert max(sizes) <= 4_000

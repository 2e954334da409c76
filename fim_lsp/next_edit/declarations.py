"""
A function that was written in C or C++, and its declaration that another file lacks. Pure.

It belongs below the declaration of the function that stands right above the new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fim_lsp.documents import LINE_CHARS
from fim_lsp.next_edit.edits import FRESH, HISTORY, EditedText, Example, FinishedEdit, examples
from fim_lsp.suggest.lines import indent

LANGUAGES = ("c", "cpp")
# `double Point::length(int a) const {`, on one line, and not what only this file sees
_HEAD = re.compile(
    r"(?!(?:static|inline|template|return|else)\b)(?P<type>[A-Za-z_][\w:<>,*& ]{0,200}?[ *&])"
    r"(?P<of>\w{1,100}::)?(?P<name>\w{1,100})(?P<rest>\([^{};]{0,300}?)\s*(?:\{.*)?"
)


def find_undeclared(
    edits: Sequence[FinishedEdit], texts: Sequence[EditedText]
) -> Iterator[tuple[str, int, str, Example]]:
    """
    Yield the declarations that the *edits* of a while leave to write, newest first: the text and
    the row to insert the line at, the line, and what it is for.
    """
    by_uri = {text.uri: text for text in texts if text.language in LANGUAGES}
    for example in examples(edits, HISTORY)[:FRESH]:
        here = by_uri.get(example.uri)
        added = [head for line in example.after if (head := _head(line))] if here else []
        for head in added:
            above = _function_above(here.lines, head) if here else None
            for text in by_uri.values():
                row = _find_declared(text, above) if above and text is not here else None
                if row is None or [*_declares(text.lines, head)]:
                    continue
                line = f"{indent(text.lines[row])}{head['type']}{head['name']}{head['rest']};"
                yield text.uri, row + 1, line, example


def _head(line: str) -> re.Match[str] | None:
    return _HEAD.fullmatch(line) if len(line) <= LINE_CHARS else None


def _function_above(lines: Sequence[str], head: re.Match[str]) -> re.Match[str] | None:
    """Return the head of the function of the same class that stands above the one with *head*."""
    row = next((n for n, line in enumerate(lines) if line == head.string), 0)
    heads = (other for line in reversed(lines[:row]) if (other := _head(line)))
    return next((other for other in heads if other["of"] == head["of"]), None)


def _declares(lines: Sequence[str], head: re.Match[str]) -> Iterator[int]:
    """Yield the rows at which the function with *head* is declared."""
    pattern = re.compile(rf"\s*\w[\w:<>,*& ]*[ *&]{head['name']}\s*\([^{{}}]*\)[^{{}}()]*;\s*")
    for n, line in enumerate(lines):
        if head["name"] in line and len(line) <= LINE_CHARS and pattern.fullmatch(line):
            yield n


def _find_declared(text: EditedText, head: re.Match[str]) -> int | None:
    """Return the only row at which a function is declared, in its class if it has one."""
    rows = [*_declares(text.lines, head)]
    if len(rows) != 1:
        return None
    named = re.compile(rf"\s*(?:class|struct)\b.*\b{(head['of'] or '')[:-2]}\b.*")
    above = reversed(text.lines[: rows[0]])
    is_inside = any(named.fullmatch(line) for line in above if line and not line[0].isspace())
    return rows[0] if is_inside == bool(head["of"]) or not head["of"] else None

"""
A text into what it defines, by tree-sitter queries. Pure.

The queries of `tags/` are written as editors' `tags.scm` are. Each match is a `@class`,
`@function`, `@field` or `@scope` (members of a class that is defined elsewhere) with its `@name`;
`@owner` is a class that does not stand around it. `ONLY` stands for predicates: these would read
the text as the parser does, which has an end (`syntax.READS`).
"""

from __future__ import annotations

import functools
import pkgutil
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tree_sitter import Node, Query, QueryCursor

from fim_lsp.context.grammars import load
from fim_lsp.context.syntax import NAME_CHARS, ParsedText, Unit, parse_text, units_of

DEFINITIONS = 2_000
"""Of one text. The longest file of CPython has 1,400 functions and classes."""

ONLY = {"self": "self", "macro": "attr_", "key": "id", "variable": "--"}
"""What the text of these captures must begin with."""

_TEXT_BYTES = 200  # of a name


class Definition(NamedTuple):
    """A name and the lines [start, end) that define it; *owner* is the class it is a member of."""

    name: str
    owner: str
    start: int
    end: int


class Syntax(NamedTuple):
    """The syntax of a text: its units and its definitions."""

    units: tuple[Unit, ...] = ()
    definitions: tuple[Definition, ...] = ()


class _Match(NamedTuple):
    """A match of a query; *tag* is one of `_TAGS`."""

    tag: str
    node: Node
    name: str
    captures: dict[str, list[Node]]


def read_syntax(language: str, text: str) -> Syntax:
    """Return all that is read of *text*, which is parsed once."""
    tree = parse_text(language, text)
    return Syntax(units_of(tree), definitions_of(tree))


def definitions_of(text: ParsedText) -> tuple[Definition, ...]:
    """
    Return the definitions of *text* in order, outer ones first; none in a language without a
    grammar.
    """
    if text.grammar is None or text.tree is None:
        return ()
    in_order = sorted(_resolve(text, _matches(text)), key=lambda d: (d.start, -d.end))
    return tuple(in_order[:DEFINITIONS])


@functools.cache
def _query(module: str, function: str) -> Query:
    name = module.removeprefix("tree_sitter_")
    source = pkgutil.get_data(__package__ or "", f"tags/{name}.scm") or b""
    return Query(load(module, function), source.decode())


def _matches(text: ParsedText) -> list[_Match]:
    """Return the first match of each name in the text, outer nodes first."""
    assert text.grammar is not None
    assert text.tree is not None
    cursor = QueryCursor(_query(text.grammar.module, text.grammar.function))
    by_place: dict[int, tuple[int, _Match]] = {}
    for pattern, captures in cursor.matches(text.tree.root_node):
        if not all(
            _text(text, captures[key][0]).startswith(ONLY[key]) for key in ONLY & captures.keys()
        ):
            continue
        tag = next(tag for tag in _TAGS if tag in captures)
        for node in captures["name"]:
            key, name = node.start_byte, _name(text, node)
            if name and (key not in by_place or pattern < by_place[key][0]):
                by_place[key] = pattern, _Match(tag, captures[tag][0], name, captures)
    matches = (match for _, match in by_place.values())
    return sorted(matches, key=lambda m: (m.node.start_byte, -m.node.end_byte))


def _resolve(text: ParsedText, matches: Iterable[_Match]) -> Iterator[Definition]:
    """
    Yield the matches with their owners. A function inside a function is none, a field is known
    once.
    """
    around: list[_Match] = []
    fields: set[tuple[str, str]] = set()
    for match in matches:
        while around and around[-1].node.end_byte <= match.node.start_byte:
            around.pop()
        owner = next((m.name for m in reversed(around) if m.tag in ("class", "scope")), "")
        is_inner = bool(around) and around[-1].tag == "function"
        if match.tag in ("class", "scope", "function"):
            around.append(match)
        if match.tag == "scope" or (match.tag == "function" and is_inner):
            continue
        if named := match.captures.get("owner"):
            owner = (_WORD.findall(_text(text, named[0])) or ("",))[-1]
        if match.tag == "field":
            if (owner, match.name) in fields:
                continue
            fields.add((owner, match.name))
        yield _definition(text, match, owner)


def _definition(text: ParsedText, match: _Match, owner: str) -> Definition:
    assert text.grammar is not None
    node, parent = match.node, match.node.parent
    if parent is not None and parent.type in text.grammar.wrappers:
        node = parent
    return Definition(match.name, owner, node.start_point.row, _last_row(node) + 1)


def _name(text: ParsedText, node: Node) -> str:
    """
    Return the last word of a name: `self.basket` is known as `basket`; a name in CSS is whole.
    """
    name = _text(text, node).lstrip("-@:$")
    if not _NAME.fullmatch(name):
        name = (_WORD.findall(name) or [""])[-1]
    return name if len(name) <= NAME_CHARS else ""


def _text(text: ParsedText, node: Node) -> str:
    """Return the beginning of *node*."""
    end = min(node.end_byte, node.start_byte + _TEXT_BYTES)
    return text.data[node.start_byte : end].decode("utf-8", "replace")


def _last_row(node: Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


_TAGS = ("class", "scope", "function", "field")
_NAME = re.compile(r"[\w-]+")
_WORD = re.compile(r"[^\W\d]\w*")

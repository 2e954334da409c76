"""
A text into what it defines and imports, and where it can be cut, by tree-sitter queries. Pure.

The queries of `tags/` are written as editors' `tags.scm` are. Each match is a `@class`,
`@function`, `@field` or `@scope` (members of a class that is defined elsewhere) with its `@name`;
`@owner` is a class that does not stand around it. An `@import` has none. `ONLY` stands for
predicates: these would read the text as the parser does, which has an end (`grammars.READS`).
"""

from __future__ import annotations

import functools
import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from tree_sitter import Node, Query, QueryCursor

from fim_lsp.context.grammars import ParsedText, load, parse_text, types

DEFINITIONS = 2_000
"""Of one text. The longest file of CPython has 1,400 functions and classes."""

ONLY = {"self": "self", "macro": "attr_", "key": "id", "variable": "--", "require": "require"}
"""What the text of these captures must begin with."""

_TEXT_BYTES = 200  # of a name
_NAME_CHARS = 100  # a longer name is generated, not typed
_IMPORTED = 1_000  # names of one text


class Definition(NamedTuple):
    """A name and the lines [start, end) that define it; *owner* is the class it is a member of."""

    name: str
    owner: str
    start: int
    end: int


class Syntax(NamedTuple):
    """
    The syntax of a text: the lines at which something whole begins or ends (*borders*), the names
    that its imports bring in, and its definitions.
    """

    borders: tuple[int, ...] = ()
    imported: tuple[str, ...] = ()
    definitions: tuple[Definition, ...] = ()


class _Match(NamedTuple):
    """A match of a query; *tag* is one of `_TAGS`, *rows* are the lines of what it defines."""

    tag: str
    node: Node
    name: str
    rows: tuple[int, int]
    captures: dict[str, list[Node]]


def read_syntax(language: str, text: str) -> Syntax:
    """
    Return all that is read of *text*, which is parsed once; the definitions in order, outer ones
    first, none in a language without a grammar.
    """
    parsed = parse_text(language, text)
    matches, imports = _matches(parsed)
    wholes = [match.rows for match in matches if match.tag != "field"]
    spans = dict.fromkeys(map(_rows, imports))  # one statement may have thousands of matches
    in_order = sorted(_resolve(parsed, matches), key=lambda d: (d.start, -d.end))
    return Syntax(
        _find_borders(parsed.lines, wholes),
        _find_imported_names(parsed.lines[n] for at in spans for n in range(*at)),
        tuple(in_order[:DEFINITIONS]),
    )


def _find_borders(lines: Sequence[str], wholes: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """
    Return where *wholes* begin, with the lines right above them (comments, decorators), where they
    end, and where a line without indentation follows a blank one.
    """
    heads, ends = {start for start, _ in wholes}, {end for _, end in wholes}
    borders = {n for n in range(1, len(lines)) if lines[n][:1].strip() and not lines[n - 1].strip()}
    fixed = {0, *ends, *(head + 1 for head in heads)}
    for start in heads:
        while start not in fixed and lines[start - 1].strip():
            start -= 1  # noqa: PLW2901
        borders.add(start)
    return tuple(sorted(borders | ends))


def _find_imported_names(lines: Iterable[str]) -> tuple[str, ...]:
    """
    Return the words of import statements that may be names, in order, once each.

    Module paths are among them: a lookup in an index of definitions simply does not find those.
    A line is read once: a minified one holds thousands of imports.
    """
    words = dict.fromkeys(word for line in dict.fromkeys(lines) for word in _WORD.findall(line))
    return tuple(word for word in words if word not in _KEYWORDS)[:_IMPORTED]


@functools.cache
def _query(module: str, function: str) -> Query:
    name = module.removeprefix("tree_sitter_")
    source = pkgutil.get_data(__package__ or "", f"tags/{name}.scm") or b""
    return Query(load(module, function), source.decode())


def _matches(text: ParsedText) -> tuple[list[_Match], list[Node]]:
    """Return the first match of each name in the text, outer nodes first, and the imports."""
    if text.grammar is None or text.tree is None:
        return [], []
    imports: list[Node] = []
    cursor = QueryCursor(_query(text.grammar.module, text.grammar.function))
    by_place: dict[int, tuple[int, _Match]] = {}
    for pattern, captures in cursor.matches(text.tree.root_node):
        if not all(
            _text(text, captures[key][0]).startswith(ONLY[key]) for key in ONLY & captures.keys()
        ):
            continue
        if "import" in captures:
            imports += captures["import"]
            continue
        tag = next(tag for tag in _TAGS if tag in captures)
        for node in captures["name"]:
            key, name = node.start_byte, _name(text, node)
            if name and (key not in by_place or pattern < by_place[key][0]):
                whole = captures[tag][0]
                rows = _find_rows(whole, text.grammar.wrappers)
                by_place[key] = pattern, _Match(tag, whole, name, rows, captures)
    matches = (match for _, match in by_place.values())
    return sorted(matches, key=lambda m: (m.node.start_byte, -m.node.end_byte)), imports


def _resolve(text: ParsedText, matches: Iterable[_Match]) -> Iterator[Definition]:
    """
    Yield the matches with their owners. A function inside a function is none, a field is known
    once.
    """
    around: list[tuple[_Match, str]] = []  # each with the class that its members are of
    fields: set[tuple[str, str]] = set()
    for match in matches:
        while around and around[-1][0].node.end_byte <= match.node.start_byte:
            around.pop()
        owner = around[-1][1] if around else ""
        is_inner = bool(around) and around[-1][0].tag == "function"
        if match.tag != "field":
            around.append((match, owner if match.tag == "function" else match.name))
        if match.tag == "scope" or (match.tag == "function" and is_inner):
            continue
        if named := match.captures.get("owner"):
            owner = (_WORD.findall(_text(text, named[0])) or ("",))[-1]
        if match.tag == "field":
            if (owner, match.name) in fields:
                continue
            fields.add((owner, match.name))
        yield Definition(match.name, owner, *match.rows)


def _find_rows(node: Node, wrappers: AbstractSet[str]) -> tuple[int, int]:
    """Return the lines [start, end) of a definition, with what wraps it."""
    parent = node.parent if wrappers else None  # it is sought from the root down
    return _rows(parent if parent and parent.type in wrappers else node)


def _name(text: ParsedText, node: Node) -> str:
    """
    Return the last word of a name: `self.basket` is known as `basket`; a name in CSS is whole.
    """
    name = _text(text, node).lstrip("-@:$")
    if not _NAME.fullmatch(name):
        name = (_WORD.findall(name) or [""])[-1]
    return name if len(name) <= _NAME_CHARS else ""


def _text(text: ParsedText, node: Node) -> str:
    """Return the beginning of *node*."""
    end = min(node.end_byte, node.start_byte + _TEXT_BYTES)
    return text.data[node.start_byte : end].decode("utf-8", "replace")


def _rows(node: Node) -> tuple[int, int]:
    """Return the lines [start, end) of a node; one that ends in column 0 does not hold its last."""
    start, (row, column) = node.start_point.row, node.end_point
    return start, row + (column > 0 or row == start)


_TAGS = ("class", "scope", "function", "field")
_NAME = re.compile(r"[\w-]+")
_WORD = re.compile(r"[^\W\d]\w*")
_KEYWORDS = types(
    "import from as use pub crate self super mod static package using namespace function const "
    "let var local require require_relative require_once include define global type typeof"
)

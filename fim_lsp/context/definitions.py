"""
A text into what it defines and what its names hold, by tree-sitter queries. Pure.

The queries of `tags/` are written as editors' `tags.scm` are. Each match is a `@class`, `@function`, `@field`,
`@scope` (members of a class that is defined elsewhere) or `@local` with its `@name`; `@of` is what the name holds,
`@owner` a class that does not stand around it, `@body` where a head ends if the grammar has no field of that name.
`ONLY` stands for predicates: these would read the text as the parser does, which has an end (`parse.READS`).
"""

from __future__ import annotations

import enum
import functools
import itertools
import pkgutil
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tree_sitter import Node, Query, QueryCursor

from fim_lsp.context.grammars import load, types
from fim_lsp.context.syntax import NAME_CHARS, ParsedText, Unit, parse_text, units_of

DEFINITIONS = 2_000
"""Of one text, and as many locals. The longest file of CPython has 1,400 functions and classes."""

ONLY = {"self": "self", "macro": "attr_", "key": "id", "variable": "--"}
"""What the text of these captures must begin with."""

HEAD_LINES = 12  # of a signature: parameters on a line each
FIELD_LINES = 3  # of a field: its value may be a table
_TEXT_BYTES = 200  # of a name or a type
_DOC_LINES = 60  # of a comment above a definition


class Kind(enum.Enum):
    """The kind of a definition."""

    CLASS = "class"  # or any other type
    FUNCTION = "function"
    FIELD = "field"  # of a class, a member of an enum, a global variable
    LOCAL = "local"  # nothing that others can use, but what the name holds is known


class Definition(NamedTuple):
    """
    A name, the lines [start, end) that define it, and its head, the lines [start, head).

    *doc* is the first line of the comment above, -1 without one. *owner* is the class it is a member of. *of* are
    the words of what it holds: a function's return type, a class's bases, a variable's type or what was called.
    """

    kind: Kind
    name: str
    owner: str
    start: int
    head: int
    end: int
    doc: int
    of: tuple[str, ...]

    def holds(self, other: Definition) -> bool:
        """Return whether *other* is a member that stands inside."""
        return other.owner == self.name and self.start <= other.start < self.end


class Syntax(NamedTuple):
    """The syntax of a text: its units and its definitions."""

    units: tuple[Unit, ...] = ()
    definitions: tuple[Definition, ...] = ()


class _Match(NamedTuple):
    """A match of a query; *tag* is a kind's value or "scope"."""

    tag: str
    node: Node
    name: str
    captures: dict[str, list[Node]]


def read_syntax(language: str, text: str) -> Syntax:
    """Return all that is read of *text*, which is parsed once."""
    tree = parse_text(language, text)
    return Syntax(units_of(tree), definitions_of(tree))


def definitions_of(text: ParsedText) -> tuple[Definition, ...]:
    """Return the definitions of *text* in order, outer ones first; none in a language without a grammar."""
    if text.grammar is None or text.tree is None:
        return ()
    found = _join_locals(_resolve(text, _matches(text, text.tree.root_node)))
    parts = ([d for d in found if (d.kind is Kind.LOCAL) is is_local] for is_local in (False, True))
    few = itertools.chain.from_iterable(part[:DEFINITIONS] for part in parts)
    return tuple(sorted(few, key=lambda d: (d.start, -d.end)))


def _join_locals(found: Iterable[Definition]) -> list[Definition]:
    """Join a field with the local of the same name: what it holds may be known of either."""
    by_place: dict[tuple[int, str], Definition] = {}
    for each in found:
        key = each.start, each.name
        old = by_place.get(key)
        if old is None:
            by_place[key] = each
        elif {old.kind, each.kind} == {Kind.FIELD, Kind.LOCAL}:
            field, local = (old, each) if old.kind is Kind.FIELD else (each, old)
            by_place[key] = field._replace(of=tuple(dict.fromkeys((*field.of, *local.of))))
    return list(by_place.values())


@functools.cache
def _query(module: str, function: str) -> Query:
    name = module.removeprefix("tree_sitter_")
    source = pkgutil.get_data(__package__ or "", f"tags/{name}.scm") or b""
    return Query(load(module, function), source.decode())


def _matches(text: ParsedText, root: Node) -> list[_Match]:
    """Return the first match of each name in the text, outer nodes first; a field may be a local, too."""
    assert text.grammar is not None
    cursor = QueryCursor(_query(text.grammar.module, text.grammar.function))
    found: dict[tuple[int, bool], tuple[int, _Match]] = {}
    for pattern, captures in cursor.matches(root):
        if not all(
            _text(text, captures[key][0]).startswith(ONLY[key]) for key in ONLY & captures.keys()
        ):
            continue
        tag = next(tag for tag in _TAGS if tag in captures)
        for node in captures["name"]:
            key, name = (node.start_byte, tag == "local"), _name(text, node, tag)
            known, match = found.get(key, (pattern, None))
            if match is not None and tag == "local":  # `auto x = f()`: a type and a call
                match.captures["of"] += captures["of"]
            elif name and (match is None or pattern < known):
                found[key] = pattern, _Match(tag, captures[tag][0], name, captures)
    matches = (match for _, match in found.values())
    return sorted(matches, key=lambda m: (m.node.start_byte, -m.node.end_byte))


def _resolve(text: ParsedText, matches: Iterable[_Match]) -> Iterator[Definition]:
    """Yield the matches with their owners. A function inside a function is none, a field is known once."""
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
            owner = (_words(text, named[0]) or ("",))[-1]
        if match.tag == "field":
            if (owner, match.name) in fields:
                continue
            fields.add((owner, match.name))
        yield _definition(text, match, owner)


def _definition(text: ParsedText, match: _Match, owner: str) -> Definition:
    assert text.grammar is not None
    kind, node = Kind(match.tag), match.node
    parent = node.parent
    if parent is not None and parent.type in text.grammar.wrappers:
        node = parent
    start, end = node.start_point.row, _last_row(node) + 1
    longest = FIELD_LINES if kind is Kind.FIELD else HEAD_LINES
    head = end if kind in (Kind.FIELD, Kind.LOCAL) else _head(text, match, end)
    doc = -1 if kind in (Kind.FIELD, Kind.LOCAL) else _comment(text, start)
    head = max(start + 1, min(head, start + longest, end))
    return Definition(kind, match.name, owner, start, head, end, doc, _of(text, match))


def _head(text: ParsedText, match: _Match, end: int) -> int:
    """Return the first line that is not of the head: the signature, and a string that documents it."""
    named = match.captures.get("body")
    body = named[0] if named else match.node.child_by_field_name("body")
    if body is None:
        return end
    row, column = body.start_point
    if text.lines[row].encode("utf-8", "replace")[:column].strip():
        return row + 1
    first = next(iter(body.named_children), None)
    inner = next(iter(first.named_children), None) if first is not None else None
    if inner is None or inner.type != "string" or inner.start_point.row != row:
        return row
    is_bare = not _WORD.search(text.lines[row]) and inner.end_point.row > row
    return row + 1 + is_bare


def _comment(text: ParsedText, start: int) -> int:
    """Return the first line with words of the comment that ends right above line *start*."""
    assert text.grammar is not None
    signs = _SIGNS.get(text.grammar.module, _SLASHES)
    first = start
    while first > max(0, start - _DOC_LINES) and text.lines[first - 1].lstrip().startswith(signs):
        first -= 1
    return next((n for n in range(first, start) if _WORD.search(text.lines[n])), -1)


def _name(text: ParsedText, node: Node, tag: str) -> str:
    """Return the last word of a name: `self.basket` is known as `basket`; a name in CSS is whole."""
    name = _text(text, node).lstrip("-@:$")
    if tag == "local" or not _NAME.fullmatch(name):
        name = (_WORD.findall(name) or [""])[-1]
    return name if len(name) <= NAME_CHARS else ""


def _of(text: ParsedText, match: _Match) -> tuple[str, ...]:
    if "of" in match.captures:
        nodes = match.captures["of"]
    elif match.tag == "class":
        nodes = [child for child in match.node.named_children if child.type in _BASES]
    else:
        fields = map(match.node.child_by_field_name, _TYPES)
        nodes = [field for field in fields if field is not None][:1]
    return tuple(dict.fromkeys(word for node in nodes for word in _words(text, node)))


def _words(text: ParsedText, node: Node) -> list[str]:
    return _WORD.findall(_text(text, node))


def _text(text: ParsedText, node: Node) -> str:
    """Return the beginning of *node*."""
    end = min(node.end_byte, node.start_byte + _TEXT_BYTES)
    return text.data[node.start_byte : end].decode("utf-8", "replace")


def _last_row(node: Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


_TAGS = ("class", "scope", "function", "field", "local")
_TYPES = ("return_type", "result", "returns", "type")  # fields of the grammars
_BASES = types(
    "argument_list class_heritage base_class_clause base_list base_clause superclass super_interfaces"
)
_NAME = re.compile(r"[\w-]+")
_WORD = re.compile(r"[^\W\d]\w*")
_SLASHES = ("//", "/*", "*", "*/")
_SIGNS = {
    "tree_sitter_python": ("#",),
    "tree_sitter_ruby": ("#",),
    "tree_sitter_bash": ("#",),
    "tree_sitter_php": (*_SLASHES, "# "),
    "tree_sitter_lua": ("--",),
}

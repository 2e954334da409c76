"""
Where a name stands in a text, and what it is there: a definition, a use, a member, a comment. Pure.

Only the places of one name are looked at: the way from the root of the syntax tree down to each
says what it is, by the tables of `scopes.toml`. So a text costs its parse (see `syntax`), and each
place the depth of the tree.
"""

from __future__ import annotations

import enum
import pkgutil
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from tree_sitter import Node, Tree

from fim_lsp.context.grammars import types
from fim_lsp.context.syntax import ParsedText

PLACES = 1_000
"""Of one name in one text; a name that is more frequent is not looked at."""

DEPTH = 400  # nodes within nodes; code has some 60
NAME_BYTES = 200  # of what is called, or of a method's receiver
SELVES = types("self this cls Self super")
CALLS = {  # what has arguments or fields with names, and which child says what it is
    "call": "function",
    "composite_literal": "type",
    "struct_expression": "name",
    "struct_pattern": "type",
}
# what stands before a member, read backwards: its sign, and the name that it is a member of
_RECEIVER = re.compile(r"(?:\.\??(?!\.)|::|(:))\s*[\])]*(\w*)")
# bytes of other alphabets are parts of words, too
_IN_WORD = frozenset(n for n in range(256) if not chr(n).isascii() or re.match(r"[\w$]", chr(n)))
_FUNCTIONS = types("function_declaration method_declaration")  # of an owner, and none themselves
_KEYS = types("property_identifier field_identifier statement_identifier")
_KINDS = types(
    "scopes closed owners names binders patterns members assigned keys outer outside traits"
)

Table = dict[str, frozenset[str]]

_ROWS: dict[str, dict[str, str]] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "scopes.toml") or b"").decode()
)
TABLES: dict[str, Table] = {
    f"tree_sitter_{module}": {kind: types(row.get(kind, "")) for kind in _KINDS}
    for language, row in _ROWS.items()
    for module in row.get("modules", language).split()
}


class Role(enum.Enum):
    """The meaning of a name at a place."""

    BINDS = "binds"
    REFERS = "refers"
    DEFINES_MEMBER = "defines a member"
    MEMBER = "member"
    KEY = "key"  # of a call or a literal
    UNBINDS = "unbinds"  # from here on, the name is that of a scope around
    MENTION = "mention"  # in a comment or a string


class Step(NamedTuple):
    """A node on the way down, and its place in its parent: `parent.field`."""

    node: Node
    edge: str


class Place(NamedTuple):
    """
    A name at byte *at*. One that binds does so in *scope*, from byte *since* on; a member has the
    name of its *owner*, "" where there is none.
    """

    at: int
    way: tuple[Step, ...]
    role: Role
    owner: str = ""
    scope: Node | None = None
    since: int = 0


def _find_word(data: bytes, word: bytes, start: int, end: int) -> Iterator[int]:
    """Yield where *word* stands in data[start:end] as a whole word."""
    at = data.find(word, start, end)
    while at >= 0:
        behind = at + len(word)
        if not _IN_WORD.intersection(data[max(0, at - 1) : at] + data[behind : behind + 1]):
            yield at
        at = data.find(word, behind, end)


class ScopedText:
    """A parsed text in a language with a *table*."""

    def __init__(self, text: ParsedText, tree: Tree, table: Table) -> None:
        self.lines = text.lines
        self.table = table
        self._data = text.data
        self._tree = tree

    def places(self, name: str, row: int = -1) -> list[Place]:
        """Return the places of *name*, in the whole text or on one *row*."""
        word = name.encode("utf-8", "replace")
        start, end = self._starts[row : row + 2] if row >= 0 else (0, len(self._data))
        offsets = [*_find_word(self._data, word, start, end)]
        if len(offsets) > PLACES:
            return []
        places = (self._place(at, len(word)) for at in offsets)
        return [place for place in places if place]

    def position(self, at: int) -> tuple[int, int]:
        """Return the row and the column of byte *at*."""
        row = bisect_right(self._starts, at) - 1
        return row, len(self._data[self._starts[row] : at].decode("utf-8", "replace"))

    @cached_property
    def _starts(self) -> list[int]:
        """The byte at which each line begins, and the end."""
        return [0, *accumulate(len(line) + 1 for line in self._data.split(b"\n"))]

    def _place(self, at: int, size: int) -> Place | None:
        """Return what a name of so many bytes at byte *at* is; None for what is not to be named."""
        way = self._walk(at)
        leaf, edge = way[-1]
        if "comment" in leaf.type or "string" in leaf.type:
            is_argument = self._data[at - 1 : at] == b"{" and self._data[
                at + size : at + size + 1
            ] in (b"}", b":")
            in_macro = any(step.node.type == "token_tree" for step in way)
            return Place(at, way, Role.REFERS if is_argument and in_macro else Role.MENTION)
        if not leaf.type.endswith("identifier") or leaf.end_byte != at + size:
            return None
        row, column = self.position(at)
        match = _RECEIVER.match(self.lines[row][:column][::-1])
        is_member = match and (not match[1] or edge == "method_index_expression.method")
        receiver = match[2][::-1] if match and is_member else None
        for depth in range(len(way) - 1, 0, -1):
            if place := self._defining(at, way[: depth + 1], receiver):
                return place
            if way[depth].edge not in self.table["patterns"]:
                break
        if receiver is not None:
            return Place(at, way, Role.MEMBER, self._owner(way, receiver))
        return None if leaf.type in _KEYS else Place(at, way, Role.REFERS)

    def _defining(self, at: int, way: tuple[Step, ...], receiver: str | None) -> Place | None:
        """Return what a place is as the last child on its *way*; None if that says nothing."""
        edge, table = way[-1].edge, self.table
        is_own = receiver in SELVES or (receiver is not None and "tables" in table["traits"])
        if edge in table["members"] or (is_own and edge in table["assigned"]):
            owner = self._owner(way[:-1], "self" if receiver is None else receiver)
            return Place(at, way, Role.DEFINES_MEMBER, owner)
        if edge in table["names"] or (edge in table["binders"] and receiver is None):
            return self._bind(at, way)
        if edge in table["keys"]:
            return Place(at, way, Role.KEY, _find_callee(way))
        if edge in table["outer"]:
            return Place(at, way, Role.UNBINDS, scope=self._innermost(way[:-1]))
        return None

    def _walk(self, at: int) -> tuple[Step, ...]:
        cursor, way, edge = self._tree.walk(), list[Step](), ""
        while (node := cursor.node) is not None:
            way.append(Step(node, edge))
            if len(way) > DEPTH or cursor.goto_first_child_for_byte(at) is None:
                break
            edge = f"{node.type}.{cursor.field_name}" if cursor.field_name else node.type
        return tuple(way)

    def _bind(self, at: int, way: tuple[Step, ...]) -> Place:
        declaring, edge, table = way[-2].node, way[-1].edge, self.table
        if declaring.child_by_field_name("alias") and not edge.endswith(".alias"):
            return Place(at, way, Role.KEY)  # `import a as b` binds the other one
        is_name = edge in table["names"]
        scope = self._innermost(way[: len(way) - 1 - is_name])
        is_owner = scope.type in table["owners"] and scope.type not in _FUNCTIONS
        owner, since = name_of(scope) if is_owner else "", 0
        counts = scope.parent is not None or "repeats" in table["traits"]
        if "ordered" in table["traits"] and counts and not is_name and not is_owner:
            since = at if declaring == scope else declaring.end_byte
        if any(child.type == "accessibility_modifier" for child in declaring.children[:1]):
            owner = self._owner(way, "self")  # `constructor(private name: string)`
        return Place(at, way, Role.BINDS, owner, scope, since)

    def _innermost(self, way: Sequence[Step]) -> Node:
        scopes = (step.node for step in reversed(way) if step.node.type in self.table["scopes"])
        return next(scopes, way[0].node)

    def _owner(self, way: Sequence[Step], receiver: str) -> str:
        """Return whose member is meant by `receiver.name`."""
        for step in reversed(way):
            is_owner = step.node.type in self.table["owners"]
            method = words(step.node.child_by_field_name("receiver")) if is_owner else []
            if is_owner and (receiver in SELVES or receiver in method[:1]):
                return name_of(step.node)
        return receiver


def name_of(owner: Node) -> str:
    """Return the name of a class, or of what a method belongs to."""
    if receiver := words(owner.child_by_field_name("receiver")):  # Go: `(c *Command)`
        return (receiver[1:2] or receiver)[0]
    name = owner.child_by_field_name("name") or owner.child_by_field_name("type")
    names = words(name)
    if name is not None and name.type.endswith("index_expression"):  # Lua: `function M:name`
        return names[-2] if len(names) > 1 else ""
    return names[0] if names else ""


def words(node: Node | None) -> list[str]:
    """Return the words of a short node."""
    if node is None or node.end_byte - node.start_byte > NAME_BYTES or node.text is None:
        return []
    return re.findall(r"\w+", node.text.decode("utf-8", "replace"))


def _find_callee(way: Sequence[Step]) -> str:
    """Return the name of the function, or of the type, whose arguments a key is among."""
    made = (step.node for step in reversed(way[-4:-1]) if step.node.type in CALLS)
    names = [words(node.child_by_field_name(CALLS[node.type])) for node in made]
    return names[0][-1] if names and names[0] else ""

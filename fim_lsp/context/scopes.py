"""
Where a name stands in a text, and what it is there: a definition, a use, a member, a comment. Pure.

Only the places of one name are looked at: the way from the root of the syntax tree down to each
says what it is, by the tables of `scopes.toml`. So a text costs its parse (see `grammars`), and
each place the depth of the tree.
"""

from __future__ import annotations

import enum
import pkgutil
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice
from typing import NamedTuple

from tree_sitter import Node, Tree

from fim_lsp.context.grammars import ParsedText, types
from fim_lsp.context.owners import NAME_BYTES, name_of, split_words
from fim_lsp.context.shell_words import names_variable

PLACES = 1_000
"""Of one name in one text; a name that is more frequent is not looked at."""

DEPTH = 400  # nodes within nodes; code has some 60
SELVES = types("self this cls Self super static parent")
# what stands before a member, read backwards: its sign, and the name that it is a member of
_RECEIVER = re.compile(r"(?:\.[?&]?(?!\.)|::|>-\??|(:))\s*[\])]*(\w*)")
# bytes of other alphabets are parts of words, too
_IN_WORD = frozenset(n for n in range(256) if not chr(n).isascii() or re.match(r"[\w$]", chr(n)))
_TYPE = re.compile(rb"[^\[{(|<]*?(?<!\w)(\w++)[\s*&?]*+(?:<|$)")  # of no list, structure or choice
_LOCALS = (["local"], ["declare"], ["typeset"])  # of a function in Bash
_SORTS = {
    "private_property_identifier": "#",
    "instance_variable": "@",
    "class_variable": "@",
    "word": "()",
}
_WORDS = types("command.argument unary_expression")  # Bash: variables, where they are names
CALLABLE = "'"  # the sort of a whole text, which may name a function
_MAKER = "initializer_expression"  # C#: `new A { b = 1 }`
_KEYS = types("property_identifier field_identifier statement_identifier")
# From a key up to what is made, or to a list of it.
_DIRECT = 4
_KEY_DEPTH = 8
_GENERIC = ("type_parameter", "const_parameter")
_NAMES = ("identifier", "identifier_pattern")

Table = dict[str, frozenset[str]]

_ROWS: dict[str, dict[str, str]] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "scopes.toml") or b"").decode()
)
_KINDS = {kind for row in _ROWS.values() for kind in row} - {"modules"}
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
    A name at byte *at*. A definition binds it in *scope*, from byte *since* on; a member has the
    name of its *owner*, "" where there is none. A name of another *sort* may be spelled alike: "#"
    for private members, "@" for those of Ruby, "()" for methods in Java, "$" for variables in PHP.
    """

    at: int
    way: tuple[Step, ...]
    role: Role
    owner: str = ""
    scope: Node | None = None
    since: int = 0
    sort: str = ""
    is_of_type: bool = False  # `A::b`, where no value stands before it

    @property
    def is_generic(self) -> bool:
        """Return whether it is a type's own name in a class or a function."""
        return self.way[-1].edge.startswith(_GENERIC)


def _find_word(
    data: bytes, word: bytes, start: int, end: int, in_word: frozenset[int]
) -> Iterator[int]:
    """Yield where *word* stands in data[start:end] as a whole word, by the bytes *in_word*."""
    at = data.find(word, start, end)
    while at >= 0:
        behind = at + len(word)
        if not in_word.intersection(data[max(0, at - 1) : at] + data[behind : behind + 1]):
            yield at
        at = data.find(word, behind, end)


class ScopedText:
    """A parsed text in a language with a *table*."""

    def __init__(self, text: ParsedText, tree: Tree, table: Table) -> None:
        self.lines = text.lines
        self.table = table
        self._data = text.data
        self._tree = tree

    def find_places(self, name: str, row: int = -1) -> list[Place]:
        """Return the places of *name*, in the whole text or on one *row*."""
        size = len(name.encode("utf-8", "replace"))
        return [place for at in self.search(name, row) if (place := self._make_place(at, size))]

    def search(self, name: str, row: int = -1) -> list[int]:
        """Return where *name* stands, in bytes; nowhere if that is too often."""
        start, end = self._starts[row : row + 2] if row >= 0 else (0, len(self._data))
        traits = self.table["traits"]
        in_word = _IN_WORD - {ord("$")} if "sigils" in traits else _IN_WORD
        in_word |= {ord("-")} if "hyphens" in traits else frozenset()
        word = name.encode("utf-8", "replace")
        offsets = [*islice(_find_word(self._data, word, start, end, in_word), PLACES + 1)]
        return offsets if len(offsets) <= PLACES else []

    def type_of(self, name: str) -> str:
        """Return the type that all declarations of a name say, or ""."""
        roles = (Role.BINDS, Role.DEFINES_MEMBER)
        all_types = {self._find_type(p.way) for p in self.find_places(name) if p.role in roles}
        return all_types.pop() if len(all_types) == 1 else ""

    def _find_type(self, way: Sequence[Step]) -> str:
        for node, _ in way[-2:0:-1]:
            if declared := node.child_by_field_name("type"):
                named = _TYPE.match((declared.text or b"")[:NAME_BYTES])
                return named[1].decode() if named else ""
            if node.type in self.table["scopes"]:
                break
        return ""

    def position(self, at: int) -> tuple[int, int]:
        """Return the row and the column of byte *at*."""
        row = bisect_right(self._starts, at) - 1
        return row, len(self._data[self._starts[row] : at].decode("utf-8", "replace"))

    @cached_property
    def _starts(self) -> list[int]:
        """The byte at which each line begins, and the end."""
        return [0, *accumulate(len(line) + 1 for line in self._data.split(b"\n"))]

    def _make_place(self, at: int, size: int) -> Place | None:
        """Return what a name of so many bytes at byte *at* is; None for what is not to be named."""
        way = self.walk(at)
        leaf, edge = way[-1]
        if "comment" in leaf.type or "string" in leaf.type or leaf.type in self.table["texts"]:
            is_whole = "callables" in self.table["traits"] and leaf.end_byte == at + size
            is_whole &= at - leaf.start_byte == (leaf.type == "simple_symbol")
            sort = CALLABLE if is_whole else ""
            return Place(at, way, self._read_text(at, size, way), sort=sort)
        is_name = leaf.type.endswith(_NAMES)
        is_name |= not self.table["leaves"].isdisjoint((leaf.type, edge))
        if leaf.type == "word":
            is_name |= leaf.start_byte == at and names_variable(way[-2].node, leaf)
        is_name &= edge not in self.table["labels"] and leaf.end_byte == at + size
        if not is_name or _is_of_module(way):
            return None
        receiver, sort = self._read_owner(at, way)
        if edge == "keyword_pattern":
            return Place(at, way, Role.KEY)
        is_value = edge == "dotted_name" and _is_value(way[-2])
        for depth in () if is_value else range(len(way) - 1, 0, -1):
            if place := self._defining(at, way[: depth + 1], receiver):
                return place._replace(sort=sort)
            if way[depth].edge not in self.table["patterns"]:
                break
        if receiver is not None:
            is_of_type = self._data[max(0, at - 2) : at] == b"::" and receiver not in SELVES
            owner = self._owner(way, receiver)
            return Place(at, way, Role.MEMBER, owner, sort=sort, is_of_type=is_of_type)
        return None if leaf.type in _KEYS else self._refer(at, way, sort)

    def _refer(self, at: int, way: tuple[Step, ...], sort: str) -> Place:
        """Return a use of a name, or the key of what is made (`new A { b = 1 }`)."""
        is_key = way[-1].edge == "assignment_expression.left" and way[-3].node.type == _MAKER
        if made := _find_callee(way, self.table) if is_key else None:
            return Place(at, way, Role.KEY, made)
        owner = self._owner(way, "self") if self.table["qualified"] else ""
        return Place(at, way, Role.REFERS, owner, sort=sort)

    def _read_text(self, at: int, size: int, way: Sequence[Step]) -> Role:
        """Return what a name in a comment, a string or the text of a macro is."""
        behind = self._data[at + size : at + size + 1]
        before = self._data[max(0, at - 2) : at]  # `{{` is a brace
        is_argument = before[-1:] == b"{" and before != b"{{" and behind in (b"}", b":")
        in_macro = any(step.node.type == "token_tree" for step in way)
        is_code = way[-1].node.type == "preproc_arg" or (is_argument and in_macro)
        return Role.REFERS if is_code else Role.MENTION

    def _read_owner(self, at: int, way: Sequence[Step]) -> tuple[str | None, str]:
        """Return the owner of a name, None where it is no member, and its sort."""
        (around, outer), (leaf, edge) = way[-2:]
        row, column = self.position(at)
        written = self.lines[row][:column]
        written = written.removesuffix("$") if written.endswith("::$") else written
        match = _RECEIVER.match(written[::-1])
        is_joined = "sigils" in self.table["traits"] and written.endswith(".")  # strings
        is_member = not is_joined and match and (not match[1] or edge.startswith("method_index"))
        receiver = match[2][::-1] if match and is_member else None
        if written.endswith("::") and receiver in split_words(leaf):
            receiver = None  # C++: the class of its constructor, `A::A`
        sort = _SORTS.get(leaf.type, "") if edge not in _WORDS else ""
        if edge == "qualified_name" and not outer.startswith("namespace_use_clause"):
            sort = "\\"  # PHP: of another namespace
        if around.type == "variable_name" and receiver is None:
            sort = "" if outer in self.table["members"] else "$"
        if edge in self.table["methods"] and (receiver or edge.endswith(".name")):
            sort = "()"
        is_own = (sort and sort != "$" and leaf.type != "word") or edge in self.table["own"]
        return ("self" if receiver is None and is_own else receiver), sort

    def _defining(self, at: int, way: tuple[Step, ...], receiver: str | None) -> Place | None:
        """Return what a place is as the last child on its *way*; None if that says nothing."""
        edge = way[-1].edge
        table = self.table
        is_own = receiver in SELVES or (receiver is not None and "tables" in table["traits"])
        is_own = is_own and edge in table["assigned"]
        is_own |= bool(receiver) and edge in table["qualified"]
        if edge in table["members"] or is_own:
            owner = self._owner(way[:-1], "self" if receiver is None else receiver)
            return Place(at, way, Role.DEFINES_MEMBER, owner)
        is_type = edge in table["typed"] and way[-1].node.type == "type_identifier"
        if edge in table["names"] or (
            edge in table["binders"] and receiver is None and not is_type
        ):
            return self._bind(at, way)
        if edge in table["keys"] and self._data[at - 1 : at] != b"[":  # Lua: `{ [a] = b }`
            callee = _find_callee(way, table)
            return None if callee is None else Place(at, way, Role.KEY, callee)
        if edge in table["outer"]:
            return Place(at, way, Role.UNBINDS, scope=self._innermost(way[:-1]))
        return None

    def walk(self, at: int) -> tuple[Step, ...]:
        """Return the way from the root down to the byte *at*."""
        cursor = self._tree.walk()
        way = list[Step]()
        edge = ""
        while (node := cursor.node) is not None:
            way.append(Step(node, edge))
            if len(way) > DEPTH or cursor.goto_first_child_for_byte(at) is None:
                break
            edge = f"{node.type}.{cursor.field_name}" if cursor.field_name else node.type
        return tuple(way)

    def _bind(self, at: int, way: tuple[Step, ...]) -> Place:
        declaring = way[-2].node
        edge = way[-1].edge
        table = self.table
        if declaring.child_by_field_name("alias") and not edge.endswith(".alias"):
            return Place(at, way, Role.KEY)  # `import a as b` binds the other one
        if _refers(way):
            return Place(at, way, Role.REFERS)
        if edge == "for_in_statement.left" and declaring.child_by_field_name("kind") is None:
            return Place(at, way, Role.REFERS)  # `for (a of b)`, without `const`
        if edge == "match_pattern" and self._data[at : at + 1].isupper():
            return Place(at, way, Role.REFERS)  # Rust: a constant
        is_name = edge in table["names"]
        around = way[: len(way) - 1 - is_name]
        command = declaring if edge == "declaration_command" else way[-3].node
        is_local = command.type == "declaration_command" and split_words(command)[:1] in _LOCALS
        if not table["hoisted"].isdisjoint((edge, way[-2].edge)) and not is_local:
            around = tuple(step for step in around if step.node.type not in table["blocks"])
        scope = self._innermost(around)
        holder = scope if scope.type in table["owners"] else scope.parent or scope
        is_owner = holder.type in table["owners"] and holder.type not in table["functions"]
        is_owner &= not edge.startswith(_GENERIC)
        owner = name_of(holder) if is_owner else ""
        since = 0
        counts = scope.parent is not None or "repeats" in table["traits"]
        if "ordered" in table["traits"] and counts and not is_name and not is_owner:
            is_arm = declaring.type == "match_pattern"
            since = at if declaring == scope else declaring.end_byte
            since = declaring.start_byte if is_arm else since  # it has the guard, too
        is_field = any(child.type in table["visible"] for child in declaring.children[:1])
        if is_field or edge == "enumerator.name":
            owner = self._owner(way, "self")  # `constructor(private name: string)`
        return Place(at, way, Role.BINDS, owner, scope, since)

    def _innermost(self, way: Sequence[Step]) -> Node:
        scopes = (step.node for step in reversed(way) if step.node.type in self.table["scopes"])
        return next(scopes, way[0].node)

    def _owner(self, way: Sequence[Step], receiver: str) -> str:
        """Return whose member is meant by `receiver.name`."""
        for step in reversed(way):
            is_owner = step.node.type in self.table["owners"]
            method = split_words(step.node.child_by_field_name("receiver")) if is_owner else []
            is_meant = is_owner and (receiver in SELVES or receiver in method[:1])
            if is_meant and (name := name_of(step.node)):
                return name
        return receiver


def _refers(way: Sequence[Step]) -> bool:
    """Return whether what looks like a declaration only names what is declared elsewhere."""
    declaring = way[-2].node
    node, edge = way[-1]
    if edge == "foreach_statement":
        return declaring.named_child(0) == node  # what is gone through
    if declaring.type.endswith("_specifier") and edge.endswith(".name"):
        return declaring.child_by_field_name("body") is None  # C: `struct a b`
    is_typed = edge.startswith(("function_definition.decl", "declaration.decl"))
    return is_typed and declaring.child_by_field_name("type") is None  # C++: a constructor


def _is_of_module(way: Sequence[Step]) -> bool:
    """Return whether a name is that of another module: `export { a } from "b"`."""
    is_exported = way[-1].edge == "export_specifier.name"
    return is_exported and way[-4].node.child_by_field_name("source") is not None


def _is_value(name: Step) -> bool:
    """Return whether a name with dots is compared: `case A.b`, where `case a` would bind it."""
    return name.node.named_child_count > 1 and name.edge.endswith("_pattern")


def _find_callee(way: Sequence[Step], table: Table) -> str | None:
    """
    Return the name of the function, or of the type, whose arguments a key is among; None for one
    that is a value, in a Go map.
    """
    fields = {node: field for node, _, field in (edge.partition(".") for edge in table["calls"])}
    for depth in range(2, min(_KEY_DEPTH, len(way)) + 1):
        node = way[-depth].node
        made = node.child_by_field_name(fields.get(node.type, ""))
        if made is not None:
            is_value = depth == _DIRECT and made.type in table["lists"]
            return None if is_value else ["", *split_words(made)][-1]
    return ""

"""
A text into whole units: functions, classes, import blocks and what stands between them.

`units` is the one entry point. With a grammar it reads the syntax tree, only as deep as classes
within classes; statements inside functions are never visited, so the walk costs per definition,
not per token. Without one, or where the syntax is broken, blocks of lines stand in.

Cost: tree-sitter needs about 4 ms per 1,000 lines, so this runs in a worker thread, never while
handling an event. The parser holds Python's lock, except when it calls back for more text: it is
therefore fed in slices (`_SLICE`), between which the event loop gets its turn.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node, Parser

from fim_lsp.context.grammars import Grammar, grammar_of, load, types
from fim_lsp.documents import unix

_SLICE = 4096  # bytes per read: 0.2 ms of parsing, where 64 KiB hold the lock for 4 ms
_SIGNATURE_LINES = 12  # longer heads (huge parameter lists) are cut: a signature is a summary
_BLOCK_LINES = 40  # fallback blocks: about a screen, the size of a long function


class Kind(enum.Enum):
    """What a unit is."""

    FUNCTION = "function"  # or any other definition without members worth a unit of their own
    CLASS = "class"
    IMPORTS = "imports"
    BLOCK = "block"  # statements between definitions, and everything in unknown languages


@dataclass(frozen=True, slots=True)
class Unit:
    """
    The lines [start, end) of a text; comments and decorators directly above belong to it.

    Members follow their class in the tuple, with *depth* one higher. *signature* is the text
    from the start up to the body, *names* what an import block brings in.
    """

    kind: Kind
    name: str
    start: int
    end: int
    depth: int = 0
    signature: str = ""
    names: tuple[str, ...] = ()


def units(language: str, text: str) -> tuple[Unit, ...]:
    """Every unit of *text* in order; siblings share at most a line. Any text will do."""
    lines = unix(text).split("\n")
    grammar = grammar_of(language)
    if grammar is None:
        return tuple(_blocks(lines, 0, len(lines)))
    return tuple(_Walk(grammar, lines).units())


def enclosing(units: Iterable[Unit], line: int) -> Unit | None:
    """The innermost unit that holds *line*."""
    found = None
    for unit in units:
        if unit.start <= line < unit.end and (found is None or unit.depth >= found.depth):
            found = unit
    return found


class _Walk:
    """One pass over the upper levels of one syntax tree."""

    def __init__(self, grammar: Grammar, lines: Sequence[str]) -> None:
        self._grammar = grammar
        self._lines = lines

    def units(self) -> Iterator[Unit]:
        data = "\n".join(self._lines).encode("utf-8", "replace")
        parser = Parser(load(self._grammar.module, self._grammar.function))
        root = parser.parse(lambda offset, _: data[offset : offset + _SLICE]).root_node
        if root.type == "ERROR":
            return _blocks(self._lines, 0, len(self._lines))
        return _merged(self._level(root, 0), self._lines)

    def _level(self, node: Node, depth: int) -> Iterator[Unit]:
        """The units among the children of *node*; comments join the unit directly below them."""
        above = -1  # first line of the comments that end right above the next node
        end = -1
        for child in self._children(node):
            start = child.start_point.row
            if "comment" in child.type or child.type in _ATTRIBUTES:
                above = above if above >= 0 and start <= end else start
                end = _end_line(child)
                continue
            joined = above if above >= 0 and start <= end else start
            above = -1
            yield from self._unit(child, joined, depth)

    def _children(self, node: Node) -> Iterator[Node]:
        for child in node.named_children:
            if child.type in self._grammar.transparent:
                inner = self._children(child)
                yield from (c for c in inner if not c.type.endswith(_NAME_TYPES))
            else:
                yield child

    def _unit(self, node: Node, start: int, depth: int) -> Iterator[Unit]:
        grammar, end = self._grammar, _end_line(node)
        inner = _unwrapped(node, grammar)
        if inner.type in grammar.classes:
            yield self._definition(Kind.CLASS, inner, (start, end), depth)
            body = _body(inner)
            if body is not None:
                members = _merged(self._level(body, depth + 1), self._lines)
                yield from (u for u in members if u.kind is not Kind.IMPORTS)
        elif inner.type in grammar.functions or _is_function_value(inner):
            yield self._definition(Kind.FUNCTION, inner, (start, end), depth)
        elif inner.type in grammar.imports or _is_require(inner):
            names = imported_names(self._lines[start:end])
            yield Unit(Kind.IMPORTS, "", start, end, depth, names=names)
        elif node.type == "ERROR":
            yield from (replace(b, depth=depth) for b in _blocks(self._lines, start, end))
        else:
            yield Unit(Kind.BLOCK, _name(inner), start, end, depth)

    def _definition(self, kind: Kind, node: Node, span: tuple[int, int], depth: int) -> Unit:
        start, end = span
        body = _body(node)
        stop = end if body is None else max(body.start_point.row, node.start_point.row + 1)
        head = self._lines[
            node.start_point.row : min(stop, node.start_point.row + _SIGNATURE_LINES)
        ]
        return Unit(kind, _name(node), start, end, depth, signature="\n".join(head))


_ATTRIBUTES = types("attribute_item inner_attribute_item attribute_list annotation")
_WORD = re.compile(r"[^\W\d]\w*")
_KEYWORDS = types(
    "import from as use pub crate self super mod static package using namespace function const "
    "let var local require require_relative require_once include define global type typeof"
)


def imported_names(lines: Iterable[str]) -> tuple[str, ...]:
    """
    The words of an import statement that may be names, in order, once each.

    Module paths are among them: a lookup in an index of definitions simply does not find those.
    """
    words = (word for line in lines for word in _WORD.findall(line))
    return tuple(dict.fromkeys(w for w in words if w not in _KEYWORDS))


def _unwrapped(node: Node, grammar: Grammar) -> Node:
    while node.type in grammar.wrappers:
        inner = node.child_by_field_name("definition") or node.child_by_field_name("declaration")
        inner = inner or (node.named_children or [node])[-1]
        if inner.id == node.id:
            break
        node = inner
    return node


def _is_require(node: Node) -> bool:
    """`require "x"` in Ruby, Lua, PHP and CommonJS is an import by use, not by syntax."""
    head = (node.text or b"")[:200].lstrip()
    return node.end_point.row - node.start_point.row <= 1 and b"require" in head.split(b"\n")[0]


def _is_function_value(node: Node) -> bool:
    """`const f = () => …` and `exports.f = function …` over several lines define a function."""
    if node.start_point.row == node.end_point.row or not node.named_children:
        return False
    target = node if node.type == "assignment_expression" else node.named_children[-1]
    value = target.child_by_field_name("value") or target.child_by_field_name("right")
    return value is not None and "function" in value.type


def _body(node: Node) -> Node | None:
    """Where the members of a class or the statements of a function stand."""
    if node.type == "element":
        return node
    block = next((c for c in node.named_children if c.type == "block"), None)
    return node.child_by_field_name("body") or block


_NAME_TYPES = ("identifier", "name")  # endings of the node types that are names
_NAME_FIELDS = ("declarator", "left", "key", "type")


def _name(node: Node) -> str:
    """The last word of what a node defines; C hides it in a chain of declarators."""
    named = node.child_by_field_name("name")
    while named is None and not node.type.endswith(_NAME_TYPES):
        fields = (node.child_by_field_name(field) for field in _NAME_FIELDS)
        leaves = (c for c in node.named_children if c.type.endswith(_LEAF_TYPES))
        inner = next((field for field in fields if field is not None), None) or next(leaves, None)
        if inner is None:
            break
        node = inner
        named = node.child_by_field_name("name")
    text = ((named or node).text or b"").decode("utf-8", "replace")
    words = _WORD.findall(text.split("\n")[0])
    return words[-1] if words else ""


_LEAF_TYPES = (*_NAME_TYPES, "declarator", "spec")


def _end_line(node: Node) -> int:
    """The first line after the node: one that ends in column 0 does not hold that line."""
    row, column = node.end_point
    return row + 1 if column > 0 or row == node.start_point.row else row


def _merged(units: Iterator[Unit], lines: Sequence[str]) -> Iterator[Unit]:
    """Imports in a row become one block, and so do loose statements up to a blank line."""
    last: Unit | None = None
    for unit in units:
        if last is not None and _joins(last, unit, lines):
            names = tuple(dict.fromkeys(last.names + unit.names))
            last = replace(last, end=max(last.end, unit.end), names=names)
            continue
        if last is not None:
            yield last
        last = unit
    if last is not None:
        yield last


def _joins(last: Unit, unit: Unit, lines: Sequence[str]) -> bool:
    same = last.kind is unit.kind and last.depth == unit.depth
    if not same or unit.kind not in (Kind.IMPORTS, Kind.BLOCK):
        return False
    if unit.kind is Kind.IMPORTS:
        return all(not line.strip() for line in lines[last.end : unit.start])
    return unit.start <= last.end and unit.end - last.start <= _BLOCK_LINES


def _blocks(lines: Sequence[str], start: int, end: int) -> Iterator[Unit]:
    """Lines cut where a line without indent follows a blank one, or when a block grows long."""
    first = start
    for idx in range(start + 1, end):
        fresh = not lines[idx - 1].strip() and lines[idx][:1].strip()
        if fresh or idx - first >= _BLOCK_LINES:
            yield from _block(lines, first, idx)
            first = idx
    yield from _block(lines, first, end)


def _block(lines: Sequence[str], start: int, end: int) -> Iterator[Unit]:
    while end > start and not lines[end - 1].strip():
        end -= 1
    while start < end and not lines[start].strip():
        start += 1
    if start < end:
        yield Unit(Kind.BLOCK, "", start, end)

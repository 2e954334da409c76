"""
A text into whole units: functions, classes, import blocks and what stands between them. Pure.

`units_of` is the one entry point. With a grammar it reads the syntax tree, only as deep as classes
within classes; statements inside functions are never visited, so the walk costs per definition,
not per token. Without one, or where the syntax is broken, blocks of lines stand in.

Cost: tree-sitter needs about 4 ms per 1,000 lines and holds Python's lock meanwhile, and time
quadratic in the length of a hostile text: error recovery tries each open token again, and a scanner
may read to the end of the text for each token. So operations and bytes read are counted, and a
parse that needs many more than code does has no result. Both counts are exact: the same text always
ends the same way.

Warning: what error recovery does at the end of a text is not counted. With N tokens open there it
takes N² steps and as much memory: 0.1 s at 2,000 bytes, 3 s at 8,000, and a 200 kB Java file ends
the process. So long texts are parsed in a process of their own (`workspace.syntax_child`), and
`units` is for the code in it, for tests and for benchmarks.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tree_sitter import Node, Parser, Point, Tree

from fim_lsp.context.grammars import Grammar, grammar_of, load, types
from fim_lsp.documents import unix

OPERATIONS = 5
"""Of the parser, per byte. Of 620 files in fourteen languages the worst needs 1.7, of 3,700 windows
of 100 lines around a half-typed one 2.4. Hostile ones need 4 to 1,000."""

READS = 10
"""Of each byte. Files need 2.2 at most, windows 4, a Lua window with an open `[[` 17 of its
3,000."""

_SPARE_OPERATIONS = 10_000  # for texts so short that nothing can be said per byte: 10 to 20 ms
_SPARE_READS = 100_000  # likewise
# operations from one call of the progress callback to the next (tree-sitter's choice)
_COUNTED = 100
_SLICE = 4096  # bytes per read; reading a slice again is what is counted


class Parse(NamedTuple):
    """The *tree* of a text, None if it needs more *operations* than it may."""

    tree: Tree | None
    operations: int


def parser_of(grammar: Grammar) -> Parser:
    """Return a parser for one language; a missing wheel raises ImportError."""
    return Parser(load(grammar.module, grammar.function))


def parse_bytes(
    parser: Parser, data: bytes, operations: int, old_tree: Tree | None = None
) -> Parse:
    """
    UTF-8 *data* parsed in at most so many *operations*.

    *old_tree* is an earlier tree, edited as the text was: unchanged parts are not parsed again.
    """
    n_calls, n_bytes = 0, _SPARE_READS + READS * len(data)

    def read(offset: int, _: Point) -> bytes:
        nonlocal n_bytes
        part = data[offset : offset + _SLICE]
        n_bytes -= len(part)
        return part if n_bytes > 0 else b""  # the scanner that reads again and again sees the end

    def is_too_much(*_: object) -> bool:
        nonlocal n_calls
        n_calls += 1
        return n_calls * _COUNTED > operations or n_bytes <= 0

    try:
        if old_tree is None:
            tree = parser.parse(read, progress_callback=is_too_much)
        else:
            tree = parser.parse(read, old_tree, progress_callback=is_too_much)
    except ValueError:  # "Parsing failed": it was stopped
        parser.reset()
        return Parse(None, n_calls * _COUNTED)
    is_whole, n_bytes = n_bytes > 0, 1 << 62  # `Node.text` reads, too, and never ends without
    return Parse(tree if is_whole else None, n_calls * _COUNTED)


UNITS = 5_000
"""Units of one text. The longest file of CPython has 1,400; behind this a text is cut by lines."""

DEPTH = 32
"""Classes within classes, wrappers within wrappers. HTML nests its elements some 20 deep."""

NAME_CHARS = 100  # of a definition: a longer name is generated, not typed
_IMPORTED = 1_000  # names of one import block
_REQUIRE_BYTES = 200  # … in which a call of `require` counts as an import
_BLOCK_LINES = 40  # fallback blocks: about a screen, the size of a long function


class UnitKind(enum.Enum):
    """The kind of a unit."""

    DEFINITION = "definition"
    IMPORTS = "imports"
    BLOCK = "block"  # statements between definitions, and everything in unknown languages


class Unit(NamedTuple):
    """
    The lines [start, end) of a text; comments and decorators directly above belong to it.

    Members follow their class in the tuple, with *depth* one higher. *names* is what an import
    block brings in.
    """

    kind: UnitKind
    start: int
    end: int
    depth: int = 0
    names: tuple[str, ...] = ()


class ParsedText(NamedTuple):
    """
    A text with its tree; None where there is no grammar, or where the syntax could not be read.
    """

    grammar: Grammar | None
    lines: Sequence[str]
    data: bytes
    tree: Tree | None


def parse_text(language: str, text: str) -> ParsedText:
    """Return *text* parsed once, for all that is read from it. Any text will do."""
    grammar, lines = grammar_of(language), unix(text).split("\n")
    data = "\n".join(lines).encode("utf-8", "replace")
    if grammar is None:
        return ParsedText(None, lines, data, None)
    most = _SPARE_OPERATIONS + OPERATIONS * len(data)
    return ParsedText(grammar, lines, data, parse_bytes(parser_of(grammar), data, most).tree)


def units_of(text: ParsedText) -> tuple[Unit, ...]:
    """Return the first `UNITS` of *text* in order; siblings share at most a line."""
    return tuple(islice(_units(text), UNITS))


def _units(text: ParsedText) -> Iterator[Unit]:
    grammar, lines, data, tree = text
    if grammar is None or tree is None or tree.root_node.type == "ERROR":
        return _blocks(lines, 0, len(lines))
    return _merge(_Walk(grammar, data, lines).units(tree.root_node), lines)


class _Level:
    """Siblings that are being visited, and the comments right above the next of them."""

    def __init__(self, nodes: Iterator[Node], depth: int) -> None:
        self.nodes = nodes
        self.depth = depth
        self._above = -1  # first line of the comments that end right above the next node
        self._end = -1

    def comment(self, node: Node) -> None:
        """Add a comment: it belongs to what stands directly below."""
        self._above = self.first_line(node)
        self._end = _end_line(node)

    def first_line(self, node: Node) -> int:
        """Return the first line of *node*, with its comments."""
        start = node.start_point.row
        first = self._above if self._above >= 0 and start <= self._end else start
        self._above = -1
        return first


class _Walk:
    """One pass over the upper levels of one syntax tree, without recursion."""

    def __init__(self, grammar: Grammar, data: bytes, lines: Sequence[str]) -> None:
        self._grammar = grammar
        self._data = data
        self._lines = lines

    def units(self, root: Node) -> Iterator[Unit]:
        """Yield the units in order, not merged."""
        levels = [_Level(self._children(root), 0)]
        while levels:
            level = levels[-1]
            node = next(level.nodes, None)
            if node is None:
                levels.pop()
            elif "comment" in node.type or node.type in _ATTRIBUTES:
                level.comment(node)
            else:
                members = yield from self._unit(node, level.first_line(node), level.depth)
                if members is not None and len(levels) < DEPTH:
                    levels.append(_Level(self._children(members), level.depth + 1))

    def _children(self, node: Node) -> Iterator[Node]:
        """Yield the named children of *node*, those of transparent ones in their place."""
        nested = [iter(node.named_children)]
        while nested:
            child = next(nested[-1], None)
            if child is None:
                nested.pop()
            elif child.type in self._grammar.transparent:
                if len(nested) < DEPTH:
                    nested.append(iter(child.named_children))
            elif len(nested) == 1 or not child.type.endswith(_NAME_TYPES):
                yield child

    def _unit(self, node: Node, start: int, depth: int) -> Generator[Unit, None, Node | None]:
        """
        Yield the unit that *node* is, or the units; returns the node whose children are its
        members.
        """
        grammar, end = self._grammar, _end_line(node)
        inner = _unwrap(node, grammar)
        if inner.type in grammar.classes:
            yield Unit(UnitKind.DEFINITION, start, end, depth)
            return _body(inner)
        if inner.type in grammar.functions or _is_function_value(inner):
            yield Unit(UnitKind.DEFINITION, start, end, depth)
        elif inner.type in grammar.imports or self._is_require(inner):
            if depth == 0:
                names = find_imported_names(self._lines[start:end])
                yield Unit(UnitKind.IMPORTS, start, end, depth, names)
        elif node.type == "ERROR":
            yield from (b._replace(depth=depth) for b in _blocks(self._lines, start, end))
        else:
            yield Unit(UnitKind.BLOCK, start, end, depth)
        return None

    def _is_require(self, node: Node) -> bool:
        """
        Return whether *node* is `require "x"`, as in Ruby, Lua, PHP and CommonJS: an import by use,
        not by syntax.
        """
        end = min(node.end_byte, node.start_byte + _REQUIRE_BYTES)
        head = self._data[node.start_byte : end].partition(b"\n")[0]
        return node.end_point.row - node.start_point.row <= 1 and b"require" in head


_ATTRIBUTES = types("attribute_item inner_attribute_item attribute_list annotation")
_WORD = re.compile(r"[^\W\d]\w*")
_KEYWORDS = types(
    "import from as use pub crate self super mod static package using namespace function const "
    "let var local require require_relative require_once include define global type typeof"
)


def find_imported_names(lines: Iterable[str]) -> tuple[str, ...]:
    """
    Return the words of an import statement that may be names, in order, once each.

    Module paths are among them: a lookup in an index of definitions simply does not find those.
    """
    words = (word for line in lines for word in _WORD.findall(line))
    return tuple(dict.fromkeys(w for w in words if w not in _KEYWORDS))


def _unwrap(node: Node, grammar: Grammar) -> Node:
    for _ in range(DEPTH):
        if node.type not in grammar.wrappers:
            break
        inner = node.child_by_field_name("definition") or node.child_by_field_name("declaration")
        inner = inner or (node.named_children or [node])[-1]
        if inner.id == node.id:
            break
        node = inner
    return node


def _is_function_value(node: Node) -> bool:
    """
    Return whether *node* defines a function over several lines: `const f = () => …`, or
    `exports.f = function …`.
    """
    if node.start_point.row == node.end_point.row or not node.named_children:
        return False
    target = node if node.type == "assignment_expression" else node.named_children[-1]
    value = target.child_by_field_name("value") or target.child_by_field_name("right")
    return value is not None and "function" in value.type


def _body(node: Node) -> Node | None:
    """Return the node with the members of a class or the statements of a function."""
    if node.type == "element":
        return node
    block = next((c for c in node.named_children if c.type == "block"), None)
    return node.child_by_field_name("body") or block


_NAME_TYPES = ("identifier", "name")  # endings of the node types that are names


def _end_line(node: Node) -> int:
    """Return the first line after the node: one that ends in column 0 does not hold that line."""
    row, column = node.end_point
    return row + 1 if column > 0 or row == node.start_point.row else row


def _merge(units: Iterable[Unit], lines: Sequence[str]) -> Iterator[Unit]:
    """Merge imports in a row into one block, and loose statements up to a blank line."""
    last: Unit | None = None
    names: dict[str, None] = {}
    for unit in units:
        if last is not None and _joins(last, unit, lines):
            last = last._replace(end=max(last.end, unit.end))
            names |= dict.fromkeys(unit.names)
            continue
        if last is not None:
            yield last._replace(names=tuple(islice(names, _IMPORTED)))
        last, names = unit, dict.fromkeys(unit.names)
    if last is not None:
        yield last._replace(names=tuple(islice(names, _IMPORTED)))


def _joins(last: Unit, unit: Unit, lines: Sequence[str]) -> bool:
    same = last.kind is unit.kind and last.depth == unit.depth
    if not same or unit.kind not in (UnitKind.IMPORTS, UnitKind.BLOCK):
        return False
    if unit.kind is UnitKind.IMPORTS:
        return all(not line.strip() for line in lines[last.end : unit.start])
    return unit.start <= last.end and unit.end - last.start <= _BLOCK_LINES


def _blocks(lines: Sequence[str], start: int, end: int) -> Iterator[Unit]:
    """
    Yield blocks of lines, cut where a line without indent follows a blank one, or when one grows
    long.
    """
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
        yield Unit(UnitKind.BLOCK, start, end)

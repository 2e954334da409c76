"""
The tree-sitter grammars by language (`grammars.toml`), and texts into their syntax trees, in a time
that any text keeps; and the lines where a text can be cut, because something whole begins or ends.

Grammars are imported when first asked for: sixteen shared libraries cost 60 ms and 20 MB that a
Python user should not pay for Rust.

Cost: tree-sitter needs about 4 ms per 1,000 lines and holds Python's lock meanwhile, and time
quadratic in the length of a hostile text: error recovery tries each open token again, and a scanner
may read to the end of the text for each token. So operations and bytes read are counted, and a
parse that needs many more than code does has no result. Both counts are exact: the same text always
ends the same way.

Warning: the work of error recovery at the end of a text is not counted. With N tokens open there it
takes N² steps and as much memory: 0.1 s at 2,000 bytes, 3 s at 8,000, and a 200 kB Java file ends
the process. So long texts are parsed in a process of their own (`workspace.syntax_child`).

The queries of `tags/` match what is `@whole`: classes, functions, and members of a class that is
defined elsewhere. A language without one is cut at blank lines alone.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor, Tree

from fim_lsp.documents import unix


@dataclass(frozen=True)
class Grammar:
    """
    One language: where its parser comes from, and the types of nodes that a definition may be
    wrapped in, and has the range of.
    """

    module: str
    function: str
    wrappers: AbstractSet[str]


def types(text: str) -> frozenset[str]:
    """Return node types written as words."""
    return frozenset(text.split())


def _grammar(row: dict[str, str]) -> Grammar:
    wrappers = types(row.get("wrappers", ""))
    return Grammar(row["module"], row.get("function", "language"), wrappers)


_ROWS: dict[str, dict[str, str]] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "grammars.toml") or b"").decode()
)
GRAMMARS = {name: _grammar(row) for name, row in _ROWS.items()}
ALIASES = {word: name for name, row in _ROWS.items() for word in row.get("aliases", "").split()}
EXTENSIONS = {end: name for name, row in _ROWS.items() for end in row["files"].split()}


def language_of(path: str) -> str:
    """Return the LSP language identifier a file name suggests, "" when we know none."""
    return EXTENSIONS.get(path.rpartition(".")[2].lower(), "")


def grammar_of(language: str) -> Grammar | None:
    """Return the row for a language identifier as any editor spells it."""
    language = language.lower()
    return GRAMMARS.get(ALIASES.get(language, language))


@functools.cache
def load(module: str, function: str) -> Language:
    """Return the parser tables. Imported on first use; a missing wheel raises ImportError."""
    return Language(getattr(importlib.import_module(module), function)())


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
    n_calls = 0
    n_bytes = _SPARE_READS + READS * len(data)

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
    is_whole = n_bytes > 0
    n_bytes = 1 << 62  # `Node.text` reads, too, and never ends without
    return Parse(tree if is_whole else None, n_calls * _COUNTED)


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
    grammar = grammar_of(language)
    lines = unix(text).split("\n")
    data = "\n".join(lines).encode("utf-8", "replace")
    if grammar is None:
        return ParsedText(None, lines, data, None)
    most = _SPARE_OPERATIONS + OPERATIONS * len(data)
    return ParsedText(grammar, lines, data, parse_bytes(parser_of(grammar), data, most).tree)


def count_errors(tree: Tree, end: int = 1 << 62) -> int:
    """Return how many nodes that begin at byte *end* or in front of it are errors, or missing."""
    n_found = 0
    nodes = [tree.root_node]
    while nodes:
        node = nodes.pop()
        n_found += node.is_error or node.is_missing
        nodes.extend(one for one in node.children if one.has_error and one.start_byte <= end)
    return n_found


def find_borders(language: str, text: str) -> tuple[int, ...]:
    """
    Return the lines of *text* where wholes begin, with the lines right above them (comments,
    decorators), where they end, and where a line without indentation follows a blank one.
    """
    parsed = parse_text(language, text)
    return _find_borders(parsed.lines, {*_list_wholes(parsed)})


def _find_borders(lines: Sequence[str], wholes: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    heads = {start for start, _ in wholes}
    ends = {end for _, end in wholes}
    borders = {n for n in range(1, len(lines)) if lines[n][:1].strip() and not lines[n - 1].strip()}
    fixed = {0, *ends, *(head + 1 for head in heads)}
    for start in heads:
        while start not in fixed and lines[start - 1].strip():
            start -= 1  # noqa: PLW2901
        borders.add(start)
    return tuple(sorted(borders | ends))


def _list_wholes(text: ParsedText) -> Iterator[tuple[int, int]]:
    """Yield the lines [start, end) of each whole."""
    if text.grammar is None or text.tree is None:
        return
    query = _query(text.grammar.module, text.grammar.function)
    for _, captures in QueryCursor(query).matches(text.tree.root_node) if query else ():
        yield _find_rows(captures["whole"][0], text.grammar.wrappers)


@functools.cache
def _query(module: str, function: str) -> Query | None:
    name = module.removeprefix("tree_sitter_")
    try:
        source = pkgutil.get_data(__package__ or "", f"tags/{name}.scm") or b""
    except FileNotFoundError:
        return None
    return Query(load(module, function), source.decode())


def _find_rows(node: Node, wrappers: AbstractSet[str]) -> tuple[int, int]:
    """
    Return the lines [start, end) of a whole, with what wraps it; one that ends in column 0 does not
    hold its last.
    """
    parent = node.parent if wrappers else None  # it is sought from the root down
    whole = parent if parent and parent.type in wrappers else node
    start = whole.start_point.row
    row, column = whole.end_point
    return start, row + (column > 0 or row == start)

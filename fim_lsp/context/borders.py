"""
The lines where a text can be cut: where something whole begins or ends, by tree-sitter. Pure.

The queries of `tags/` match what is `@whole`: classes, functions, and members of a class that is
defined elsewhere. A language without one is cut at blank lines alone.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from tree_sitter import Node, Query, QueryCursor

from fim_lsp.context.grammars import ParsedText, load, parse_text


def find_borders(language: str, text: str) -> tuple[int, ...]:
    """
    Return the lines of *text* where wholes begin, with the lines right above them (comments,
    decorators), where they end, and where a line without indentation follows a blank one.
    """
    parsed = parse_text(language, text)
    return _find_borders(parsed.lines, {*_list_wholes(parsed)})


def _find_borders(lines: Sequence[str], wholes: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    heads, ends = {start for start, _ in wholes}, {end for _, end in wholes}
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
    start, (row, column) = whole.start_point.row, whole.end_point
    return start, row + (column > 0 or row == start)

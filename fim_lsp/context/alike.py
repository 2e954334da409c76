"""
Names without scopes that changed: classes and custom properties of CSS, pairs of tags. Pure.

A text with half a pair renamed is parsed as it was before, because a closing tag that fits nothing
may be taken for the end of another element.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tree_sitter import Node

from fim_lsp.context.grammars import parse_text
from fim_lsp.context.scopes import ScopedText, Step

Match = tuple[int, int]  # the row and the column of a name


def find_alike(
    text: ScopedText, row: int, old: str, new: str, rows: Collection[int]
) -> list[Match] | None:
    """
    Return where *old* stands in a text for what is *new* on *row*, which may be any of its places;
    None where that is not such a name, or the new one stands elsewhere than on the changed *rows*.
    """
    named = [(kind, text.position(at)[0]) for kind, at in _kinds(text, new)]
    kind = next((kind for kind, at in named if at == row), "")
    if not kind or any(other == kind and at not in rows for other, at in named):
        return None
    uses = kind.split("|")
    return [text.position(at) for other, at in _kinds(text, old) if other.split("|")[-1] in uses]


def find_partner(
    language: str, text: ScopedText, row: int, old: str, new: str
) -> list[Match] | None:
    """
    Return where the other tag of an element has its *old* name, whose *new* one is on *row*:
    nowhere if both tags have the new one, the first of which is on *row*; else None.
    """
    for at in text.search(new, row):
        column = text.position(at)[1]
        line = text.lines[row]
        if not line[:column].endswith(("<", "</")):
            continue
        if (other := _partner(text, at)) is not None:
            return [] if other > at else None
        before = [*text.lines]
        before[row] = line[:column] + old + line[column + len(new) :]
        was = parse_text(language, "\n".join(before))
        scoped = ScopedText(was, was.tree, text.table) if was.tree else text
        there = (at for at in scoped.search(old, row) if scoped.position(at)[1] == column)
        if (other := _partner(scoped, next(there, 0))) is not None:
            other_row, start = scoped.position(other)
            is_behind = other_row == row and start > column
            return [(other_row, start + len(new) - len(old) if is_behind else start)]
    return None


def find_tags(text: ScopedText, name: str) -> list[Match]:
    """Return where *name* is that of a tag."""
    pairs = text.table["pairs"]
    ways = ((at, text.walk(at)) for at in text.search(name))
    return [
        text.position(at)
        for at, way in ways
        if any(_is_tag_of(way[n:], pairs) for n in range(len(way)))
    ]


def _kinds(text: ScopedText, name: str) -> Iterator[tuple[str, int]]:
    """Yield where a whole *name* stands, and its kind: one of the table's `alike`."""
    for at in text.search(name):
        (around, _), (leaf, _) = text.walk(at)[-2:]
        node = around if leaf.type == "identifier" else leaf
        is_whole = leaf.start_byte == at and leaf.end_byte == at + len(name.encode())
        is_named = node.type != "property_name" or name.startswith("--")
        for kind in text.table["alike"]:
            if is_whole and is_named and kind.split("|")[0] == node.type:
                yield kind, at
        if is_whole and node.type == "plain_value":
            yield node.type, at


def _partner(text: ScopedText, at: int) -> int | None:
    """Return where the name at byte *at* stands in the other tag of its element."""
    way = text.walk(at)
    pairs = text.table["pairs"]
    depth = next((n for n, step in enumerate(way) if _is_tag_of(way[n:], pairs)), 0)
    if not depth:
        return None
    tag = way[depth].node
    tags = [child for child in way[depth - 1].node.children if child.type in pairs]
    other = tags[-1] if tags[0] == tag else tags[0]
    own_name = _name(tag)
    other_name = _name(other)
    is_same = other != tag and own_name.text == other_name.text
    return at - own_name.start_byte + other_name.start_byte if is_same else None


def _is_tag_of(way: tuple[Step, ...], pairs: frozenset[str]) -> bool:
    """Return whether *way* goes from a tag to its name, and not to what is within it."""
    return way[0].node.type in pairs and len(way) > 1 and way[1].node == _name(way[0].node)


def _name(tag: Node) -> Node:
    return tag.child_by_field_name("name") or tag.named_children[0]

"""
The uses of a definition whose name was changed, by scope: all that still have the old name. Pure.

The definition is looked at as if it still had its old name: each name that then refers to it is a
use, and a name that refers to another definition is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tree_sitter import Node

from fim_lsp.context.alike import Match, find_alike, find_partner, find_tags
from fim_lsp.context.bindings import find_binding, find_variable, list_binders, scope_key
from fim_lsp.context.grammars import ParsedText, parse_text, types
from fim_lsp.context.magics import read_lines
from fim_lsp.context.owners import name_of
from fim_lsp.context.scopes import CALLABLE, TABLES, Place, Role, ScopedText

HEADS = ("#", "//", "/*", "*", "--", "@")
"""Beginnings of lines above a definition that belong to it: comments and decorators."""

_MARKED = re.compile(r"@\w+ (\{[^@]*\} )?\[?$|:\w+ (\w+ )?$|`$")  # `@param name`, `:param name:`
_ENTRY_MARK = re.compile(r"\s*(?:[*#/-]+\s*)?")
_ENTRY_TYPE = re.compile(r"( \(.*\))?:")  # `name (int): …`
_METHODS = types("method_declaration.name method.name function_definition.name")
_HEAD = re.compile(r"\b(?:def|function) (\w+)")
_NO_WORD = re.compile(r"[^_]_[^_]|[a-z][A-Z]|\d")  # names that are no words of a language


class Renaming(NamedTuple):
    """
    On *row*, a definition that was called *old* is called *new* now.

    Where *row* is -1, it is a parameter of *function*, which stands in another text.
    """

    row: int
    old: str
    new: str
    function: str = ""


class Use(NamedTuple):
    """*text* is to replace the old name at *column* of *row*; *is_code* is false in comments."""

    row: int
    column: int
    text: str
    is_code: bool


class Renamed(NamedTuple):
    """
    The *uses* that still have the old name. If it *is_local*, no use can stand in another text, but
    in calls of *function*, where callers may name it.

    *alike* are the rows and columns of all names of its *kind* that have the old name, whatever
    they mean.
    """

    uses: tuple[Use, ...]
    is_local: bool
    function: str = ""
    kind: str = ""
    alike: tuple[Match, ...] = ()


DEFINITIONS = 8
"""Whose uses are looked for at once, the first: each takes up to 0.15 s in a hostile text, and
others wait meanwhile."""


def find_uses(language: str, text: str, renamings: Sequence[Renaming]) -> Sequence[Renamed | None]:
    """
    Return the uses of the first `DEFINITIONS` renamed; None where there is no such definition.
    """
    parsed = _parse(language, text)
    table = TABLES.get(parsed.grammar.module) if parsed.grammar else None
    if parsed.tree is None or table is None:
        return [None] * len(renamings)
    scoped = ScopedText(parsed, parsed.tree, table)
    rows: dict[tuple[str, str], set[int]] = {}
    for row, old, new, _ in renamings:
        rows.setdefault((old, new), set()).add(row)
    found = list[Renamed | None]()
    n_found = 0
    for renaming in renamings:
        names = renaming[1:3]
        renamed = None
        if n_found < DEFINITIONS:
            renamed = _find_alike(language, scoped, renaming, rows[names])
            renamed = renamed or _find_in_scope(scoped, renaming, rows[names])
        found.append(renamed)
        n_found += renamed is not None
    return found


def _parse(language: str, text: str) -> ParsedText:
    """Parse a text; in Python that has errors, lines of IPython are read as what they use."""
    parsed = parse_text(language, text)
    if language != "python" or parsed.tree is None or not parsed.tree.root_node.has_error:
        return parsed
    lines = read_lines(parsed.lines)
    return parsed if lines == parsed.lines else parse_text(language, "\n".join(lines))


def _find_alike(
    language: str, text: ScopedText, renaming: Renaming, rows: Collection[int]
) -> Renamed | None:
    """
    Return the uses of a name that has no scope and was renamed so on *rows*, or the other tag of a
    pair.
    """
    row, old, new, _ = renaming
    is_pair = bool(text.table["pairs"])
    if not (is_pair or text.table["alike"]) or not 0 <= row < len(text.lines):
        return None
    places = (
        find_partner(language, text, row, old, new)
        if is_pair
        else find_alike(text, row, old, new, rows)
    )
    if places is None:
        return None
    uses = tuple(Use(*place, new, is_code=True) for place in places)
    tags = find_tags(text, old) if is_pair else ()
    return Renamed(uses, is_pair, kind="tag" if is_pair else "", alike=tuple(tags))


def count_heads(lines: Sequence[str], function: str) -> int:
    """Return how often Python *lines* define a function of that name."""
    return sum(name == function for line in lines for name in _HEAD.findall(line))


def _find_in_scope(text: ScopedText, renaming: Renaming, rows: Collection[int]) -> Renamed | None:
    """Return the uses of what was renamed so on *rows*, seen from one of them."""
    row, old, new, function = renaming
    if row < 0:
        keys = _find_keys(text.find_places(old), function)
        return Renamed(_uses(text, keys, renaming), is_local=False)
    here = text.find_places(new, row) if row < len(text.lines) else ()
    definition = next((p for p in here if p.role in (Role.BINDS, Role.DEFINES_MEMBER)), None)
    if definition is None:
        return None
    places = text.find_places(old)
    taken = text.find_places(new)
    if _is_bound_again(text, definition, [p for p in taken if text.position(p.at)[0] not in rows]):
        return None  # its uses would be of another thing
    variables = find_variable(text.table, definition, places, taken)
    members = _find_member(text, definition, places)
    if variables is None or members is None:
        return None
    function = _function_of(definition)
    keys = _find_keys(places, function) if count_heads(text.lines, function) <= 1 else []
    mentions = _find_mentions(text, definition, places, old)
    uses = _uses(text, [*variables, *members, *keys, *mentions], renaming)
    kind = "member" if definition.owner else "variable"
    alike = tuple(text.position(p.at) for p in places if _kind(p) == kind)
    return Renamed(uses, _scope_around(definition) is not None, function, kind, alike)


def _is_bound_again(text: ScopedText, definition: Place, others: Sequence[Place]) -> bool:
    """Return whether one of *others*, of the same name, is another definition in its scope."""
    is_again = definition.role is Role.BINDS and scope_key(definition.scope) in list_binders(others)
    return is_again and "repeats" not in text.table["traits"]


def _find_keys(places: Sequence[Place], function: str) -> list[Place]:
    """Return the places where calls of *function* name its parameter; none where it is ""."""
    return [p for p in places if p.role is Role.KEY and function and p.owner == function]


def _find_mentions(
    text: ScopedText, definition: Place, places: Sequence[Place], old: str
) -> list[Place]:
    """Return the places in comments and strings that mean the definition."""
    is_called = definition.way[-1].edge in _METHODS and _NO_WORD.search(old)
    calls = [p._replace(role=Role.REFERS) for p in places if is_called and p.sort == CALLABLE]
    if definition.way[-1].edge.endswith(".alias"):
        return calls  # the others mean the module
    others = [p for p in places if not (is_called and p.sort == CALLABLE)]
    mentions = [p for p in others if p.role is Role.MENTION and _is_meant(text, p, old)]
    if scope := _scope_around(definition):
        first, end = _rows_of(text.lines, scope)
        mentions = [p for p in mentions if first <= text.position(p.at)[0] < end]
    return [*calls, *mentions]


def _scope_around(definition: Place) -> Node | None:
    """Return the scope outside of which it has no use; None where all of the text may have some."""
    scope = None if definition.owner else definition.scope
    return scope if scope and scope.parent else None


def _kind(place: Place) -> str:
    """Return the kind of a name: that of a member, of a variable, or "" for neither."""
    if place.role in (Role.DEFINES_MEMBER, Role.MEMBER):
        return "member"
    is_name = place.role in (Role.BINDS, Role.REFERS, Role.UNBINDS)
    return ("member" if place.owner else "variable") if is_name else ""


def _find_member(
    text: ScopedText, definition: Place, places: Sequence[Place]
) -> list[Place] | None:
    """Return the places of a member; None if it is not the first, or only, one of its name."""
    owner = definition.owner
    table = text.table
    traits = text.table["traits"]
    if not owner:
        return []
    binders = list_binders([definition, *places])
    is_component = definition.scope is not None and definition.scope.type == "record_declaration"
    sort = definition.sort.strip("$")
    places = [p for p in places if p.sort == sort or (is_component and p.sort == "()")]
    defining = [p for p in places if p.owner and p.role in (Role.BINDS, Role.DEFINES_MEMBER)]
    same = [place for place in defining if place.owner == owner]
    is_second = bool(same) and ("overloads" in traits or same[0].at < definition.at)
    if is_second and "redeclares" not in traits:
        return None
    is_only = len(same) == len(defining) and "tables" not in traits and sort != "@"
    is_only &= definition.scope is None or definition.scope.type not in table["namespaces"]
    types_only = table["owners"] - table["functions"]  # no value has a type
    is_only &= definition.way[-2].node.type not in types_only
    members = {p.owner for p in places if p.role is Role.MEMBER and not p.is_of_type}
    known = {name for name in members if is_only or (name and text.type_of(name) == owner)}
    is_constant = is_only and definition.way[-1].edge in table["constants"]
    is_key = is_only and definition.way[-1].edge in table["described"]
    for place in places:
        is_elsewhere = place.role is Role.MEMBER and not place.is_of_type and place.owner in known
        is_elsewhere |= is_key and place.role is Role.KEY and not place.owner
        if place.role in (Role.MEMBER, Role.KEY) and (place.owner == owner or is_elsewhere):
            same.append(place)
        is_use = place.role is Role.REFERS and (place.owner == owner or is_constant)
        if is_use and find_binding(place, binders, table) is None:
            same.append(place)
    return same


def _function_of(definition: Place) -> str:
    """Return the function that a name is a parameter of, where callers may name it, or ""."""
    around = [step.node for step in definition.way if step.node.type.endswith("_definition")]
    is_parameter = any(step.edge == "function_definition.parameters" for step in definition.way)
    if not is_parameter or definition.scope not in around:
        return ""
    *_, maker, name = "", *map(name_of, around)
    return maker if name == "__init__" and maker else name


def _rows_of(lines: Sequence[str], scope: Node) -> tuple[int, int]:
    """Return the rows of a scope, with those above that belong to it."""
    first = scope.start_point.row
    while first and lines[first - 1].lstrip().startswith(HEADS):
        first -= 1
    return first, scope.end_point.row + 1


def _is_meant(text: ScopedText, place: Place, old: str) -> bool:
    """Return whether a comment, or a documentation string, names what is in code."""
    row, column = text.position(place.at)
    before = text.lines[row][:column]
    behind = text.lines[row][column + len(old) :]
    kind = place.way[-1].node.type
    is_statement = any(step.node.type == "expression_statement" for step in place.way[-3:])
    if kind == "simple_symbol" or ("string" in kind and not is_statement):
        return False
    is_entry = _ENTRY_MARK.fullmatch(before) and _ENTRY_TYPE.match(behind)
    return bool(_NO_WORD.search(old) or _MARKED.search(before) or is_entry)


def _uses(text: ScopedText, places: Sequence[Place], renaming: Renaming) -> tuple[Use, ...]:
    """
    Return places as uses, in order; `{name}` stands for `{name: name}` in some languages, and is
    exported as `name as name`.
    """
    uses = set[Use]()
    for place in places:
        node, edge = place.way[-1]
        is_short = node.type.startswith("shorthand_property_identifier")
        is_short |= edge == "shorthand_field_initializer"
        new = f"{renaming.old}: {renaming.new}" if is_short else renaming.new
        if edge == "export_specifier.name" and not place.way[-2].node.child_by_field_name("alias"):
            new = f"{renaming.new} as {renaming.old}"
        uses.add(Use(*text.position(place.at), new, place.role is not Role.MENTION))
    return tuple(sorted(uses))

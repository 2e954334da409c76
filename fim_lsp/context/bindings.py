"""
The definition that a name refers to, in the innermost scope around it that has one, and all places
that refer to the same one. Pure.

All places of one name are looked at together: those that bind it, by their scope, and the one that
asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tree_sitter import Node

from fim_lsp.context.owners import split_words
from fim_lsp.context.scopes import Place, Role, Step, Table

Scope = Node | str | None  # a namespace by its name
Binders = Mapping[Scope, Sequence[Place]]
_LOOP = re.compile("for_|while_|do_")


def scope_key(scope: Node | None) -> Scope:
    """Return what is the same for all parts of a namespace."""
    if scope is None or scope.type not in ("namespace_definition", "namespace_declaration"):
        return scope
    return "::".join(split_words(scope.child_by_field_name("name"))) or scope


def list_binders(places: Sequence[Place]) -> dict[Scope, list[Place]]:
    """Return by scope what binds a name."""
    unbound = {place.scope for place in places if place.role is Role.UNBINDS}
    binders: dict[Scope, list[Place]] = {}
    for place in places:
        if place.role is Role.BINDS and place.scope not in unbound:
            binders.setdefault(scope_key(place.scope), []).append(place)
    return binders


def find_binding(place: Place, binders: Binders, table: Table) -> tuple[Scope, int] | None:
    """Return what a name refers to: a scope and, where names repeat in it, a declaration."""
    binder: Place | None = place
    if scope_key(place.scope) not in binders or "dynamic" in table["traits"]:
        binder = _nearest(place, binders, table)
    while binder is not None and binder.way[-1].edge in table["plain"]:
        around = _scopes_around(binder, table)
        if not around or around[0].type in table["sealed"]:
            break
        above: dict[Scope, list[Place]] = {
            scope: [p for p in binders.get(scope, ()) if p.at < binder.at] for scope in around[1:]
        }
        if (outer := _nearest(binder, above, table)) is None:
            break
        binder = outer
    repeats = "repeats" in table["traits"]
    return binder and (scope_key(binder.scope), binder.since if repeats else 0)


def find_variable(
    table: Table, definition: Place, places: Sequence[Place], taken: Sequence[Place]
) -> list[Place] | None:
    """
    Return the places of a variable, a function or a type, but for those where another thing has
    *taken* its new name; None if it was bound above already.
    """
    if definition.role is not Role.BINDS:
        return []
    is_value = definition.way[-1].edge in table["values"]
    places = [p for p in places if p.sort == definition.sort and not (is_value and _is_type(p))]
    binders = list_binders([definition, *places])
    others = list_binders(taken)
    is_declared = definition.way[-1].edge in table["names"]
    is_one = "redeclares" in table["traits"]
    alike = [p for p in binders.get(scope_key(definition.scope), ()) if not is_one or _has_body(p)]
    if is_declared and len({*alike, definition}) > 1 and (not is_one or _has_body(definition)):
        return None  # a function or type of the old name is there still: this is a new one
    bound = find_binding(definition, binders, table)
    variables = (p for p in places if p.role in (Role.BINDS, Role.REFERS, Role.UNBINDS))
    # The only one of a namespace is meant outside of it, too: macros hide where it ends.
    is_only = is_one and isinstance(scope_key(definition.scope), str) and len(binders) == 1
    meant = {bound, None} if is_only else {bound}
    same = [place for place in variables if find_binding(place, binders, table) in meant]
    is_first = is_one or all(definition.at < p.at for p in same if scope_key(p.scope) in binders)
    bound = find_binding(definition, others, table)
    meant = {bound, None} if is_only else {bound}
    same = [p for p in same if find_binding(p, others, table) in meant]
    if any(step.edge in table["splits"] for step in definition.way):
        same = _until_split(same, taken, table, definition)
    return same if is_first else None


def _nearest(place: Place, binders: Binders, table: Table) -> Place | None:
    """Return what binds a name in the innermost scope around a place that does."""
    passed = set[str]()  # types of the scopes that lie between
    for scope in _scopes_around(place, table):
        for binder in reversed(binders.get(scope_key(scope), ())):
            is_open = not passed or scope.type not in table["closed"] or binder.is_generic
            is_seen = table["sealed"].isdisjoint(passed) or _is_global(binder, table)
            is_mine = table["owners"].isdisjoint(passed) or not _is_of_self(binder)
            if binder.since <= place.at and is_open and is_seen and is_mine:
                return binder
        passed.add(scope.type)
    return None


def _is_of_self(binder: Place) -> bool:
    """Return whether it is a method of a class in Ruby, which classes within it do not have."""
    return bool(binder.owner) and binder.way[-1].edge in ("method.name", "singleton_method.name")


def _is_global(binder: Place, table: Table) -> bool:
    """Return whether a function sees a name from outside: another function, a type, a constant."""
    leaf, edge = binder.way[-1]
    return edge in table["names"] or leaf.type == "constant" or "use_clause" in edge


def _scopes_around(place: Place, table: Table) -> list[Node]:
    """Return the scopes around a place, the innermost first."""
    scopes: list[Node] = []
    for (above, _), (node, edge) in pairwise([Step(place.way[0].node, ""), *place.way]):
        if edge in table["outside"] and scopes and not _is_further(above):
            scopes.pop()
        if node.type in table["scopes"]:
            scopes.append(node)
    return scopes[::-1]


def _is_further(clause: Node) -> bool:
    """Return whether a clause of a comprehension sees what those before it bind."""
    before = clause.prev_named_sibling if clause.type == "for_in_clause" else None
    return before is not None and before.type in ("for_in_clause", "if_clause")


def _until_split(places: list[Place], new: Sequence[Place], table: Table, by: Place) -> list[Place]:
    """
    Return places up to where a parameter, or a loop's variable, defined *by* one and *new* by now,
    gets a value made of its own, outside of further loops (`done = done || none`): most who rename
    it above keep the old name from there on.
    """
    for n, place in enumerate(places):
        (around, _), (_, edge) = place.way[-2:]
        value = around.child_by_field_name("right") if edge in table["assigned"] else None
        read = [p for p in (*places, *new) if value and value.start_byte <= p.at < value.end_byte]
        if read and not any(_LOOP.match(s.node.type) for s in {*place.way} - {*by.way}):
            return [*places[:n], *(p for p in read if p in places)]
    return places


def _is_type(place: Place) -> bool:
    """Return whether a name stands where only a type can."""
    leaf, edge = place.way[-1]
    return leaf.type in ("type_identifier", "namespace_identifier") or edge.endswith(".type")


def _has_body(place: Place) -> bool:
    """Return whether a place names a function or a type where that is written."""
    return place.way[-2].node.child_by_field_name("body") is not None

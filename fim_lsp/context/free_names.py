"""
A text and some names into those that it reads and never binds: they must come from elsewhere. Pure.

No scopes are resolved. Each place that a name stands at reads it, is no name of its own (an attribute, a keyword
argument), or may bind it; a name that any place may bind, in whatever scope, is not free. Only places that the table
below knows to read do so. So a name may be missed, and hardly ever is one given that is bound.

For texts of others only in a process of its own: see `parse`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tree_sitter import Node

from fim_lsp.context.grammars import ALIASES
from fim_lsp.context.syntax import parse_text

NAMES = 20  # that are looked for in one text
PLACES = 200  # of one name that are looked at: a name with more is none that was just typed
_ABOVE = 100  # nodes around a place


class FreeName(NamedTuple):
    """A name, the first line that reads it, and whether it is read as a type only."""

    name: str
    line: int
    is_type: bool


def free_names(language: str, text: str, names: Iterable[str]) -> tuple[FreeName, ...]:
    """Return those of *names* that are free in *text*; none in a language without a table."""
    roles = _ROLES.get(ALIASES.get(language, language))
    tree = parse_text(language, text) if roles else None
    if roles is None or tree is None or tree.tree is None:
        return ()
    root = tree.tree.root_node
    found = (
        _free(root, roles, name, tree.data)
        for name in itertools.islice(dict.fromkeys(names), NAMES)
    )
    return tuple(each for each in found if each)


def _free(root: Node, roles: dict[str, bool | None], name: str, data: bytes) -> FreeName | None:
    lines, are_types = list[int](), list[bool]()
    for n, (start, end) in enumerate(_places(data, name.encode())):
        node = root.descendant_for_byte_range(start, end)
        if (
            node is None
            or node.type not in _NAMES
            or (node.start_byte, node.end_byte) != (start, end)
        ):
            continue
        reads = _reads(node, roles)
        if reads is False or n == PLACES:
            return None
        if reads:
            lines.append(node.start_point.row)
            parent = node.parent
            is_query = parent is not None and parent.type == "type_query"
            are_types.append(node.type == "type_identifier" or is_query)
    return FreeName(name, lines[0], all(are_types)) if lines else None


def _places(data: bytes, name: bytes) -> Iterator[tuple[int, int]]:
    """Yield where *name* stands as a whole word."""
    at = data.find(name)
    while at >= 0:
        end = at + len(name)
        if not (_in_word(data[at - 1 : at]) or _in_word(data[end : end + 1])):
            yield at, end
        at = data.find(name, end)


def _in_word(char: bytes) -> bool:
    return char.isalnum() or char in (b"_", b"$") or char >= b"\x80"


def _reads(node: Node, roles: dict[str, bool | None]) -> bool | None:
    """Return whether *node* reads its name; None where it is no name of its own, False where it may bind one."""
    parent = node.parent
    if parent is None:
        return False
    is_type = node.type == "type_identifier"
    if parent.type in _TAGS and (node.text or b"")[:1].islower():
        return None  # an element of the page, as `<html>`
    if parent.type == "type" and _is_parameter(parent):  # Python's `class Box[T]`
        return False
    reads = roles.get(f"{parent.type}.{_field(parent, node)}", roles.get(parent.type, is_type))
    if parent.type == "scoped_type_identifier" and parent.child(0) == node:
        reads = True  # Java's `Outer.Inner`
    around = next((kind for kind in _AROUND if kind in roles and _is_inside(node, kind)), None)
    return roles[around] if around and reads is not False else reads


def _is_parameter(node: Node) -> bool:
    above = node.parent
    around = above.parent if above is not None and above.type == "type_parameter" else None
    return around is not None and around.type != "generic_type"


def _is_inside(node: Node, kind: str) -> bool:
    above: Node | None = node
    for _ in range(_ABOVE):
        if above is None or above.type == kind:
            break
        above = above.parent
    return above is not None


def _field(parent: Node, node: Node) -> str:
    """Return the field of *parent* that *node* is in, "" for none; it may have a million children."""
    cursor = parent.walk()
    is_one = cursor.goto_first_child_for_byte(node.start_byte) is not None
    while is_one and cursor.node != node:
        is_one = cursor.goto_next_sibling()
    return (is_one and cursor.field_name) or ""


def _table(reads: str, *, neutral: str = "", binds: str = "") -> dict[str, bool | None]:
    """By the node around a name, or that and the field that it is in; types are read where nothing is said."""
    said = ((True, reads), (None, neutral), (False, binds))
    return {word: what for what, words in said for word in words.split()}


_AROUND = ("mod_item", "use_declaration")  # what holds for all that stands in it

_TAGS = ("jsx_opening_element", "jsx_closing_element", "jsx_self_closing_element")

_NAMES = frozenset({
    "identifier", "type_identifier", "package_identifier", "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
})  # fmt: skip

_PYTHON = _table(
    "attribute.object keyword_argument.value assignment.right assignment.type augmented_assignment.right "
    "named_expression.value default_parameter.value typed_default_parameter.value for_statement.right "
    "for_in_clause.right lambda.body call argument_list generic_type union_type subscript slice decorator type "
    "binary_operator unary_operator boolean_operator not_operator comparison_operator return_statement "
    "raise_statement await yield assert_statement parenthesized_expression pair list set tuple list_splat "
    "dictionary_splat conditional_expression if_clause except_clause interpolation expression_statement with_item "
    "if_statement elif_clause while_statement list_comprehension set_comprehension dictionary_comprehension "
    "generator_expression as_pattern expression_list",
    neutral="attribute keyword_argument.name",
)
_ECMASCRIPT = _table(
    "call_expression new_expression arguments member_expression.object subscript_expression binary_expression "
    "unary_expression ternary_expression template_substitution return_statement await_expression "
    "yield_expression spread_element parenthesized_expression array object pair.value variable_declarator.value "
    "assignment_expression.right assignment_pattern.right arrow_function.body expression_statement class_heritage "
    "extends_clause jsx_opening_element.name jsx_self_closing_element.name jsx_expression as_expression "
    "satisfies_expression non_null_expression decorator type_query public_field_definition.value "
    "field_definition.value for_in_statement.right required_parameter.value optional_parameter.value "
    "nested_type_identifier.module nested_identifier.object sequence_expression throw_statement",
    neutral="member_expression pair.key jsx_closing_element nested_type_identifier nested_identifier jsx_attribute",
    binds="class_declaration.name abstract_class_declaration.name interface_declaration.name infer_type "
    "type_alias_declaration.name type_parameter.name mapped_type_clause.name class.name enum_declaration.name",
)
_GO = _table(
    "selector_expression.operand qualified_type.package",
    binds="type_spec.name type_alias.name type_parameter_declaration.name qualified_type.name",
)
_RUST = _table(
    "scoped_identifier.path scoped_type_identifier.path call_expression.function arguments binary_expression "
    "let_declaration.value range_expression array_expression reference_expression field_expression.value "
    "generic_function.function",
    neutral="scoped_identifier scoped_type_identifier token_tree macro_invocation.macro field_initializer.field "
    "mod_item attribute type_binding.name",
    binds="struct_item.name enum_item.name union_item.name trait_item.name type_item.name type_parameter.name "
    "associated_type.name type_parameters use_declaration",
)
_JAVA = _table(
    "method_invocation.object field_access.object marker_annotation.name annotation.name",
    neutral="method_invocation.name field_access.field scoped_type_identifier element_value_pair.key "
    "method_reference",
    binds="type_parameter",
)
_ROLES = {
    "python": _PYTHON,
    "javascript": _ECMASCRIPT,
    "javascriptreact": _ECMASCRIPT,
    "typescript": _ECMASCRIPT,
    "typescriptreact": _ECMASCRIPT,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
}

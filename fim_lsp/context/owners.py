"""
The names of classes, and of what a method belongs to. Pure.
"""

from __future__ import annotations

import re

from tree_sitter import Node

NAME_BYTES = 200  # of what is called, or of a method's receiver


def name_of(owner: Node) -> str:
    """Return the name of a class, or of what a method belongs to."""
    if receiver := split_words(owner.child_by_field_name("receiver")):  # Go: `(c *Command)`
        return (receiver[1:2] or receiver)[0]
    declarator = owner.child_by_field_name("declarator")
    if owner.type == "function_definition" and declarator is not None:  # C++: `A::f`
        named = re.match(rb"[\s*&]*(?:\w+::)*(\w+)::~?\w", (declarator.text or b"")[:NAME_BYTES])
        return named[1].decode("utf-8", "replace") if named else ""
    name = owner.child_by_field_name("name") or owner.child_by_field_name("type")
    if name is None and owner.type.endswith("_specifier") and owner.parent:
        name = owner.parent.child_by_field_name("declarator")
    names = split_words(name)
    if name is not None and name.type.endswith("index_expression"):  # Lua: `function M:name`
        return names[-2] if len(names) > 1 else ""
    return names[0] if names else ""


def split_words(node: Node | None) -> list[str]:
    """Return the words of a short node."""
    if node is None or node.end_byte - node.start_byte > NAME_BYTES or node.text is None:
        return []
    return re.findall(r"\w+", node.text.decode("utf-8", "replace"))

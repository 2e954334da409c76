"""
The arguments of a command in a shell that are names of variables; any other is a word. Pure.
"""

from __future__ import annotations

import re

from tree_sitter import Node

# Their arguments are variables, but for what stands behind these options.
_LINES = re.compile(rb"-\w*[CcdnOsu]")
_READERS = {b"read": re.compile(rb"-\w*[dinNptu]"), b"mapfile": _LINES, b"readarray": _LINES}
_NAMING = {b"printf": b"-v", b"test": b"-v", b"-v": b"-v", b"wait": b"-p"}  # `[[ -v a ]]`


def names_variable(command: Node, word: Node) -> bool:
    """
    Return whether *word*, an argument of *command*, names a variable: `read a`, `printf -v a`.
    """
    before = word.prev_sibling
    name = _text(command.child(0))
    option = _text(before)
    if name == b"getopts":
        return before is not None and before.prev_sibling == command.child(0)
    if name in _READERS:
        return not _READERS[name].fullmatch(option)
    return _NAMING.get(name) == option


def _text(node: Node | None) -> bytes:
    return (node.text or b"") if node else b""

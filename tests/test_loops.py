"""
Each `while` loop of the product waits in it, or changes what it asks for, or is in a table with the
reason why it ends.

A loop without an end has stopped the server three times. What stands here by reason needs a bound
that a test sees; the table may only become shorter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.test_tidy import PATHS, name_of, parsed

# By module and function: why the loop ends.
ENDS = {
    "server_bridge.machine.locks._lock": "sleeps a millisecond each time, for `waits_s`",
    "server_bridge.machine.sockets._query_kernel": "the kernel ends its list, or a timeout",
    "server_bridge.process.embedded_child._end_unused": "sleeps between two looks",
    "server_bridge.weights.model_files._append_all": "takes one of `WAITS_S`, or enough bytes",
    "fim_lsp.regular_files._read_at_rest": "sleeps between two looks, for `MOST_REST_S`",
    "fim_lsp.context.memory.note_close": "`_forget` drops the file that was closed first",
}

# Methods that take something out of what they are called on, or read on in it.
SHRINK = {
    "pop", "popleft", "popitem", "remove", "discard", "clear", "get", "read", "readline",
    "goto_first_child", "goto_first_child_for_byte", "goto_next_sibling", "goto_parent", "next_event",
}  # fmt: skip

Loop = tuple[str, ast.While]


def loops() -> Iterator[Loop]:
    """Yield each loop behind the name of its module and function."""
    for path in PATHS:
        for function in ast.walk(parsed(path)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = (node for node in ast.walk(function) if isinstance(node, ast.While))
                yield from ((f"{name_of(path)}.{function.name}", loop) for loop in inner)


def waits(loop: ast.While) -> bool:
    """
    Return whether the loop gives way: other work runs at each round, or its caller asks for the
    next.
    """
    gives_way = (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Yield, ast.YieldFrom)
    return any(isinstance(node, gives_way) for node in ast.walk(loop))


def names(node: ast.AST) -> set[str]:
    """Return the variables and attributes that *node* reads, written as in the source."""
    found = (ast.Name, ast.Attribute)
    return {ast.unparse(inner) for inner in ast.walk(node) if isinstance(inner, found)}


def changes(loop: ast.While) -> set[str]:
    """Return what a round assigns, deletes, or takes something out of."""
    changed = set[str]()
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                changed |= {ast.unparse(inner) for target in targets for inner in _targets(target)}
            case ast.AugAssign(target=target) | ast.NamedExpr(target=target):
                changed.add(ast.unparse(target))
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in SHRINK:
                changed.add(ast.unparse(owner))
            case ast.Call(func=ast.Attribute(attr="heappop"), args=[first]):
                changed.add(ast.unparse(first))
    return changed


def _targets(target: ast.AST) -> Iterator[ast.AST]:
    if isinstance(target, ast.Tuple | ast.List):
        for inner in target.elts:
            yield from _targets(inner)
    else:
        yield target.value if isinstance(target, ast.Subscript) else target


def test_each_loop_has_its_end() -> None:
    """It waits, or changes something that it names; else the table says why it ends."""
    without = {
        name for name, loop in loops() if not waits(loop) and not names(loop.test) & changes(loop)
    }
    assert sorted(without) == sorted(ENDS)


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("while True: part = step(part)", True),
        ("while part.n < whole.n: look(part)", True),
        ("while todo: look(todo)", True),
        ("while todo: todo.pop()", False),
        ("while at < end: at += 1", False),
        ("while self.rest: self.rest, done = cut(self.rest)", False),
        ("while len(kept) > MOST: del kept[0]", False),
    ],
)
def test_a_loop_without_an_end_is_found(code: str, *, is_found: bool) -> None:
    """By its form: it neither waits nor changes what it asks for."""
    loop = ast.parse(code).body[0]
    assert isinstance(loop, ast.While)
    assert (not waits(loop) and not names(loop.test) & changes(loop)) == is_found

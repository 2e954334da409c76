"""`Newest`, and who writes: older work cannot write over newer, nor a module into another's state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fim_lsp.tasks import Newest

ROOT = Path(__file__).parent.parent.parent / "fim_lsp"
# Where the classes of state are.
STATE = [
    *(ROOT / "session" / "state").glob("*.py"),
    *(ROOT / "session" / "answering").glob("*.py"),
    *(ROOT / f"session/{name}.py" for name in ("stats", "quietness", "connection")),
    ROOT / "context/memory.py", ROOT / "http_server/client_documents.py", ROOT / "http_server/page.py",
]  # fmt: skip
OF_OTHERS = {"messages.py: progress.tokens"}  # of pygls
CHANGES = {
    "append", "appendleft", "extend", "insert", "pop", "popitem", "popleft", "remove", "discard",
    "add", "clear", "update", "setdefault", "move_to_end",
}  # fmt: skip
# A field that says which work is the newest, made by hand: an identity, or a number that counts.
BY_HAND = re.compile(r"_?(newest|latest|writing|n_texts|number)$")


def test_older_work_is_told_and_cannot_release_newer() -> None:
    """Claims of one key end each other, in any order of their ends; those of other keys do not."""
    newest = Newest[str]()
    ended = list[int]()
    older = newest.claim("a", lambda: ended.append(1))
    other = newest.claim("b", lambda: ended.append(2))
    newer = newest.claim("a", lambda: ended.append(3))
    assert (ended, older.is_newest, newer.is_newest, other.is_newest) == ([1], False, True, True)
    older.release()
    assert newer.is_newest
    newer.release()
    assert not older.is_newest
    assert not newer.is_newest
    newest.drop("b")
    assert (ended, other.is_newest) == ([1, 2], False)


@cache
def fields_of(file: Path) -> set[str]:
    """Return the fields of all classes in a module: annotated, or set on `self`."""
    names = set[str]()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef):
            annotated = (each for each in node.body if isinstance(each, ast.AnnAssign))
            names |= {ast.unparse(each.target) for each in annotated}
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= {node.attr} if ast.unparse(node.value) == "self" else set()
    return names


def list_written(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield what is assigned to, deleted, and what a method that changes it is called of."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                for target in targets:
                    yield from target.elts if isinstance(target, ast.Tuple) else [target]
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                yield target
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in CHANGES:
                yield value


def find_outside_writes(file: Path) -> Iterator[str]:
    """Yield each change, in *file*, of a field of an object whose class stands in another module of state."""
    foreign = set[str]().union(*(fields_of(other) for other in STATE if other != file))
    for written in list_written(ast.parse(file.read_text("utf-8"))):
        whole = written
        while isinstance(whole, ast.Subscript):
            whole = whole.value
        is_other = isinstance(whole, ast.Attribute) and ast.unparse(whole.value) != "self"
        if is_other and ast.unparse(whole).rpartition(".")[2] in foreign - fields_of(file):
            yield f"{file.name}: {ast.unparse(written)}"


def test_only_their_own_methods_write_the_state() -> None:
    """No module changes a field, a dict or a list of what the session keeps from outside of its class."""
    outside = [write for file in sorted(ROOT.rglob("*.py")) for write in find_outside_writes(file)]
    assert {*outside} <= OF_OTHERS


@pytest.mark.parametrize(
    "line",
    [
        "self._stats.generations += 1",
        "doc.view.saved = None",
        "doc.workspace.saved.documents.pop(uri)",
        "doc.yanks.extend(before)",
        "stats.outcomes[key] += 1",
        "del self._open.by_uri[uri]",
        "doc.cursor, doc.deleted = None, None",
    ],
)
def test_a_write_from_outside_is_found(line: str, tmp_path: Path) -> None:
    """Of a field, of a part of it, and by a method that changes it."""
    file = tmp_path / "module.py"
    file.write_text(line, "utf-8")
    assert [*find_outside_writes(file)] != []


@pytest.mark.parametrize("folder", ["session", "lsp"])
def test_no_newest_is_made_by_hand(folder: str) -> None:
    """A field of that name is a `Newest`."""
    found = []
    for file in (ROOT / folder).rglob("*.py"):
        for line in file.read_text("utf-8").splitlines():
            field = re.match(r"\s+(?:self\.)?(\w+)(?:: [^=]+)? = ", line)
            if field and line.lstrip().startswith(("self.", "_")) and BY_HAND.match(field[1]):
                found += [line] * ("Newest" not in line)
    assert not found

"""`Newest`, and who writes: older work cannot write over newer, nor a module into another's state."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fim_lsp.session.answering.completion import Completion
from fim_lsp.session.answering.generation import Generation
from fim_lsp.session.answering.texts import KnownText
from fim_lsp.session.state.frame_ladder import FrameLadder
from fim_lsp.session.state.model_view import ModelView
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.tasks import Newest

ROOT = Path(__file__).parent.parent.parent / "fim_lsp"
STATE = (OpenDocument, ModelView, FrameLadder, KnownText, Generation, Completion)
WORKSPACE = {"saved", "loading", "edits", "files", "memory", "evaluated"}
# A field that says which work is the newest, made by hand: an identity, or a number that counts.
BY_HAND = re.compile(r"_?(newest|latest|writing|n_texts|number)$")


def test_older_work_is_told_and_cannot_release_newer() -> None:
    """Claims of one key end each other, in any order of their ends; those of other keys do not."""
    newest, ended = Newest[str](), list[int]()
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


def list_writes() -> Iterator[tuple[str, str, str]]:
    """Yield module, object and attribute of each assignment to an attribute but those of `self`."""
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            targets = list[ast.expr]()
            if isinstance(node, ast.Assign):
                targets = [*node.targets]
            elif isinstance(node, ast.AugAssign | ast.AnnAssign):
                targets = [node.target]
            for target in [
                e for t in targets for e in ([*t.elts] if isinstance(t, ast.Tuple) else [t])
            ]:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) != "self":
                    yield file.name, ast.unparse(target.value), target.attr


def test_only_their_own_methods_write_the_state() -> None:
    """No module writes a field of a document, its view, frames, texts or workspace from outside."""
    fields = {f.name for each in STATE for f in dataclasses.fields(each)} | WORKSPACE
    outside = [
        write
        for write in list_writes()
        if write[2] in fields and re.search(r"doc|view|ladder|known|generation|workspace", write[1])
    ]
    assert not outside


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

"""What is remembered of an open document, by its verdicts."""

from __future__ import annotations

import pytest

from fim_lsp.session.quietness import Quietness
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.session.stats import Stats
from tests.typist import ROOT

pytestmark = pytest.mark.security

FIRST = "def area(width, height):\n    size = width * height\n    return size"
SECOND = "for order in orders:\n    ship(order)\n    print(order.name)"


@pytest.fixture
def doc() -> OpenDocument:
    opened = OpenDocuments(Workspaces(), Stats(), Quietness(lambda: 0.0))
    return opened.open(f"{ROOT}/a.py", "python", 1, f"{FIRST}\n\n{SECOND}\n")


def yanked(doc: OpenDocument) -> list[str]:
    return [piece.text for piece in doc.workspace.memory._yanks]


def test_a_copy_before_the_verdict_counts_once(doc: OpenDocument) -> None:
    """Another verdict makes it no newer than what was copied since."""
    doc.yank(FIRST)
    doc.allow()
    doc.yank(SECOND)
    doc.suspend()
    doc.allow()
    assert yanked(doc) == [FIRST, SECOND]


def test_nothing_is_remembered_of_what_is_private(doc: OpenDocument) -> None:
    """Neither its text nor copies of it, not even until it is public again."""
    doc.allow()
    assert doc.workspace.memory.knows(doc.uri)
    doc.refuse("it matches .gitignore")
    assert not doc.workspace.memory.knows(doc.uri)
    doc.yank(FIRST)
    doc.suspend()
    doc.yank(SECOND)
    doc.refuse("it matches .gitignore")
    doc.suspend()
    doc.allow()
    assert yanked(doc) == []

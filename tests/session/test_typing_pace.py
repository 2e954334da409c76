"""How fast the user of an editor types."""

from __future__ import annotations

import pytest

from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.pace import USUAL_MS

START = Position(0, 0)


@pytest.mark.parametrize("is_a_key", [True, False])
def test_only_keys_of_the_editor_tell_it(is_a_key: bool) -> None:
    """Edits that another program's request shows come when it asks."""
    documents = OpenDocuments(Workspaces(), Stats(), Quietness(lambda: 0.0))
    doc = documents.open("untitled:a", "python", 1, "")
    for version in range(2, 20):
        edits = (Edit(START, START, "x"),)
        documents.change(doc, events.Changed(doc.uri, version, edits, is_a_key))
    assert (documents.pace.interval_ms == USUAL_MS) is not is_a_key

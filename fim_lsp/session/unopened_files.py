"""
Files that are not open, into the next edit in one of them. No state: they are judged, read and looked at.

Only what the index of their workspace knows is read, and only while it is not private; all of it in a
worker thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from fim_lsp.next_edit.engine import needles, propose_unopened
from fim_lsp.next_edit.places import text_of
from fim_lsp.session.edit_history import NextEdit, Question
from fim_lsp.session.workspace import Workspace
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths


async def propose_elsewhere(
    workspace: Workspace, question: Question, near: str, opened: Collection[str], config: Config
) -> NextEdit | None:
    """
    Return the proposal of the edits for a file of *workspace* that is not among *opened*.

    *near* and *opened* are paths; those in the folder of *near* are looked into first.
    """

    def find() -> NextEdit | None:
        others = workspace.files.find_holding(needles(question.edits), near, opened, config)
        texts, unopened = map(text_of, question.documents), map(text_of, others)
        found = propose_unopened(question.edits, [*texts], [*unopened], question.refused)
        if found is None:
            return None
        document = next(each for each in others if each.uri == found.uri)
        return NextEdit(document, found, paths.locate(found.uri, (workspace.root,)).path)

    return await asyncio.to_thread(find)


async def is_unchanged(workspace: Workspace, edit: NextEdit, config: Config) -> bool:
    """Return whether the file of *edit* still says so, and may be read."""
    return await asyncio.to_thread(workspace.files.read, edit.path, config) == edit.document

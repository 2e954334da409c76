"""
Files that are not open, into the next edit in one of them. No state: they are judged, read and looked at.

Only what the index of their workspace knows is read, and only while it is not private; all of it in a
worker thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from fim_lsp.context.index import Index
from fim_lsp.documents import Document
from fim_lsp.next_edit.edits import FinishedEdit
from fim_lsp.next_edit.engine import Proposal, needles, propose_unopened
from fim_lsp.next_edit.places import text_of
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths
from fim_lsp.workspace.workspaces import Workspace


class UnopenedFile(NamedTuple):
    """Its path in *workspace*, and what it says, as a document."""

    path: str
    document: Document
    workspace: Workspace


def known(opened: OpenDocuments, uri: str, config: Config) -> Index | None:
    """What is known of the files around the open document *uri*, while it is brought up to date."""
    if not config.next_edit.files:
        return None
    state = opened.states[uri]
    workspace = opened.workspace(state)
    workspace.explore(state.file.path, config)
    return workspace.index


async def proposed(
    opened: OpenDocuments,
    edits: Sequence[FinishedEdit],
    documents: Sequence[Document],
    refused: Collection[object],
    config: Config,
) -> tuple[Proposal, UnopenedFile] | None:
    """What *edits* propose in such a file, beside the *documents* that are open."""
    state = opened.states.get(edits[-1].uri)
    if state is None:
        return None  # closed meanwhile
    workspace, near = opened.workspace(state), state.file.path
    open_paths = {*_open_paths(opened, workspace)}

    def find() -> tuple[Proposal, UnopenedFile] | None:
        others = workspace.holding(needles(edits), near, open_paths, config)
        texts, unopened = map(text_of, documents), map(text_of, others)
        found = propose_unopened(edits, [*texts], [*unopened], refused)
        if found is None:
            return None
        document = next(each for each in others if each.uri == found.uri)
        path = paths.locate(found.uri, (workspace.root,)).path
        return found, UnopenedFile(path, document, workspace)

    return await asyncio.to_thread(find)


async def is_as_it_was(opened: OpenDocuments, file: UnopenedFile, config: Config) -> bool:
    """Whether it still says so, may be read, and is not open."""
    now = await asyncio.to_thread(file.workspace.on_disk, file.path, config)
    is_open = file.document.uri in opened.states
    return (
        now == file.document
        and not is_open
        and file.path not in _open_paths(opened, file.workspace)
    )


def _open_paths(opened: OpenDocuments, workspace: Workspace) -> Iterator[str]:
    """Also of files that are private."""
    for state in opened.states.values():
        if opened.workspace(state) is workspace:
            yield state.file.path

"""
Finished edits into the import of a name that they use: files are read, and `imports.missing` decides. No state.

Only what the index of the workspace knows is read, and only while it is not private; all of it in a worker thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from functools import cached_property

from fim_lsp.context.free_names import FreeName
from fim_lsp.documents import Document, body
from fim_lsp.imports.missing import (
    Known,
    Origin,
    find_candidates,
    find_typed_word,
    language_row,
    missing_import,
)
from fim_lsp.imports.statement import File
from fim_lsp.next_edit.engine import Proposal, breaks
from fim_lsp.next_edit.places import text_of
from fim_lsp.session.edit_history import NextEdit, Question
from fim_lsp.session.workspace import Workspace
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths


async def propose_import(
    workspace: Workspace, question: Question, opened: Collection[str], config: Config
) -> NextEdit | None:
    """Return the first missing import in a document that was edited; *opened* are the paths of all open ones, private or not."""
    if question.known is None or not question.known.entries:
        return None
    return await asyncio.to_thread(
        lambda: next(_Search(workspace, question, opened, config).offers(), None)
    )


class _Search:
    """One search, with the texts that it may read."""

    def __init__(
        self, workspace: Workspace, question: Question, opened: Collection[str], config: Config
    ) -> None:
        self._workspace = workspace
        self._question = question
        self._opened = opened
        self._config = config

    @cached_property
    def _usable(self) -> dict[str, File]:
        """The open documents that may be read, by path: made once a name may be missing."""
        return {each.path: each for each in map(self._file, self._question.documents)}

    def offers(self) -> Iterator[NextEdit]:
        """Yield what may be offered, in the document of the last edit first."""
        for document in self._question.documents:
            origins = [*self._origins(document)]
            words = [each.word for each in origins]
            found = self._workspace.free_names(document, words) if words else ()
            free = {each.name: each for each in found}
            for origin in origins:
                if origin.word in free:
                    yield from self._offer(document, origin, free[origin.word])

    def _origins(self, document: Document) -> Iterator[Origin]:
        """Yield what may be missing of the names that came into a document, and is not typed on."""
        edits = [each for each in self._question.edits if each.uri == document.uri]
        came = [line for each in reversed(edits) for line in each.after]
        gone = [line for each in edits for line in each.before]
        assert self._question.known
        here = self._path(document)
        last = self._question.edits[-1]
        typed = find_typed_word(last.before, last.after) if last.uri == document.uri else ""
        for origin in find_candidates(self._question.known, here, document.language, came, gone):
            if origin not in self._question.refused and typed not in origin.name.split("."):
                yield origin

    def _offer(self, document: Document, origin: Origin, free: FreeName) -> Iterator[NextEdit]:
        here, home = self._file(document), self._read(origin.home)
        row, known = language_row(document.language), self._question.known
        if home is None or row is None or known is None:
            return
        more = map(self._read, dict.fromkeys(row.needs(origin.home, here.path)))
        others = [*self._usable.values(), *self._read_unopened(origin, here.path)]
        everything = {*known.entries, *self._usable}
        texts = Known(home, others, {each.path: each for each in more if each}, everything)
        found = missing_import(document.language, here, origin, free, texts)
        if found is not None:
            proposal = Proposal(document.uri, *found, confidence=1.0, origin=origin)
            refused = proposal.is_refused(self._question.refused)
            if not refused and not breaks(proposal, [text_of(document)]):
                yield NextEdit(document, proposal)

    def _read_unopened(self, origin: Origin, near: str) -> Iterator[File]:
        """Return files that are not open, and may import it."""
        name = origin.name.rpartition(".")[2]
        found = self._workspace.files.find_holding([name], near, self._opened, self._config)
        return map(self._file, found)

    def _read(self, path: str) -> File | None:
        """Return a file as it is, in the editor or on disk; none that is private, as documents are that are not here."""
        if path in self._usable or path in self._opened:
            return self._usable.get(path)
        document = self._workspace.files.read(path, self._config)
        return self._file(document) if document else None

    def _path(self, document: Document) -> str:
        return paths.locate(document.uri, (self._workspace.root,)).path

    def _file(self, document: Document) -> File:
        return File(self._path(document), tuple(map(body, document.lines)))

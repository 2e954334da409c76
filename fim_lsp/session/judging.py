"""
Finds out which open documents are private, before anything of them is used. State: the tasks.

Until a document is judged it counts as private (`UNJUDGED`). A change of the rules also has the
remembered files that are not open judged again, and requests wait for that: what is private now is
in no prompt that is made later, what was saved of it is deleted, and the embedded engine is ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fim_lsp.session.connection import Connection
from fim_lsp.session.lane import Withdrawn
from fim_lsp.session.persistence import Persistence
from fim_lsp.session.state.open_document import UNJUDGED, OpenDocument, Verdict
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.tasks import Tasks
from fim_lsp.suggest.reasons import reason

log = logging.getLogger(__name__)


class Judged(NamedTuple):
    """
    *reason* is why nothing of the document may be used, "" when it may. *left*: some remembered
    files of its workspace were deleted or became private.
    """

    doc: OpenDocument
    reason: str
    left: bool = False


@dataclass(eq=False, repr=False)
class Judging:
    """The judges of open documents, and of remembered files when a rule changes."""

    _connection: Connection
    _open: OpenDocuments
    _persistence: Persistence
    _tasks: Tasks = field(default_factory=Tasks)

    def begin(self, documents: Collection[OpenDocument]) -> None:
        """
        Judge *documents*, all of them before any is used; what is too large is not used at all.
        """
        documents = [doc for doc in documents if doc.verdict is Verdict.UNJUDGED]
        reasons = [self._open.workspaces.quick_verdict(doc.uri) for doc in documents]
        if all(reason is not None for reason in reasons):
            self._decide([*map(Judged, documents, map(str, reasons))])
        else:
            self._tasks.start(self._judge(documents), "judge")

    async def wait_judged(self) -> None:
        """Wait until every verdict is there."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def admit(self, uri: str) -> OpenDocument:
        """
        Return the document, once every verdict is there. Raises Withdrawn where nothing of it may
        be used.
        """
        await self.wait_judged()
        if (doc := self._open.by_uri.get(uri)) is None:
            raise Withdrawn("the document is not open")
        if doc.refusal:
            raise Withdrawn(reason(doc.refusal))
        return doc

    async def _judge(self, documents: Iterable[OpenDocument]) -> None:
        self._decide(await asyncio.gather(*map(self._verdict, documents)))

    async def _verdict(self, doc: OpenDocument) -> Judged:
        left = False
        config, workspace = self._connection.config, doc.workspace
        try:
            await self._persistence.restore_ring(workspace, config)
            why = self._open.workspaces.quick_verdict(doc.uri)
            if why is None:
                why = await self._open.workspaces.verdict(doc.uri, doc.file, config)
            left = await workspace.reverify(config.privacy.exclude)
        except Exception:
            log.exception("%s is not judged: it counts as private", doc.file.path)
            why = UNJUDGED
        return Judged(doc, why, left)

    def _decide(self, verdicts: list[Judged]) -> None:
        """
        Act on *verdicts*: first forget what is private, on disk and in the engine as well, then use
        the rest.
        """
        now = [judged for judged in verdicts if not judged.doc.is_retired]
        refused = [judged for judged in now if judged.reason]
        if any(judged.left for judged in verdicts) or any(map(_was_used, refused)):
            self._connection.forget()
            self._tasks.start(self._persistence.forget(), "judge")
        for doc, why, _ in refused:
            doc.refuse(why)
        for doc, why, _ in now:
            if not why:
                doc.allow()
                self._persistence.begin_restore(doc)


def _was_used(judged: Judged) -> bool:
    """Return whether text of it may be in the engine, in the ring, or on disk."""
    workspace, uri = judged.doc.workspace, judged.doc.uri
    is_saved = workspace.saved is not None and uri in workspace.saved.documents
    return workspace.memory.knows(uri) or is_saved

"""
Finds out which open documents are private, before anything of them is used. State: the tasks.

Until a document is judged it counts as private (`UNJUDGED`). A change of the rules also has the
remembered files that are not open judged again, and requests wait for that: what is private now is
in no prompt that is made later, what was saved of it is deleted, and an engine of our own is ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any, NamedTuple

from fim_lsp.session.connection import Connection
from fim_lsp.session.document_state import UNJUDGED, DocumentState
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.session.persistence import Persistence
from fim_lsp.session.workspaces import Workspaces

log = logging.getLogger(__name__)


class Verdict(NamedTuple):
    """
    *reason* is why nothing of the document may be used, "" when it may. *left*: of other files of its
    workspace that were remembered, some are gone or private now.
    """

    doc_state: DocumentState
    reason: str
    left: bool = False


class Judging:
    """See the module."""

    def __init__(
        self,
        connection: Connection,
        workspaces: Workspaces,
        open_documents: OpenDocuments,
        persistence: Persistence,
    ) -> None:
        self._connection = connection
        self._workspaces = workspaces
        self._open_documents = open_documents
        self._persistence = persistence
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, uris: Iterable[str]) -> None:
        """Judge the documents *uris*, all of them before any is used."""
        states = [self._open_documents.states[uri] for uri in uris]
        known = {state.uri: self._workspaces.known_verdict(state.uri) for state in states}
        if all(reason is not None for reason in known.values()):
            self._decide([Verdict(state, known[state.uri] or "") for state in states])
        else:
            self._begin(self._judge(states))

    def why_private(self, uri: str) -> str:
        """Why nothing of *uri* may be used, "" when it may."""
        state = self._open_documents.states.get(uri)
        return state.private if state else UNJUDGED

    async def wait_judged(self) -> None:
        """Until every verdict is there."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _judge(self, states: list[DocumentState]) -> None:
        self._decide(await asyncio.gather(*map(self._verdict, states)))

    async def _verdict(self, doc_state: DocumentState) -> Verdict:
        left = False
        config, workspace = self._connection.config, self._open_documents.workspace(doc_state)
        try:
            await self._persistence.restore_ring(workspace, config)
            reason = self._workspaces.known_verdict(doc_state.uri)
            if reason is None:
                reason = await self._workspaces.verdict(doc_state.uri, doc_state.file, config)
            left = await workspace.recheck(config.privacy.exclude)
        except Exception:
            log.exception("%s is not judged: it counts as private", doc_state.file.path)
            reason = UNJUDGED
        return Verdict(doc_state, reason, left)

    def _decide(self, verdicts: list[Verdict]) -> None:
        """Act on *verdicts*: first forget what is private, on disk and in the engine as well, then use the rest."""
        now = [each for each in verdicts if self._is_open(each.doc_state)]
        refused = [each for each in now if each.reason]
        if any(each.left for each in verdicts) or any(map(self._was_used, refused)):
            self._connection.forget()
            self._begin(self._persistence.forget())
        for doc_state, reason, _ in refused:
            self._open_documents.refuse(doc_state, reason)
        for doc_state, reason, _ in now:
            if not reason:
                self._open_documents.allow(doc_state)
                self._persistence.opened(doc_state, self._open_documents.workspace(doc_state))

    def _was_used(self, verdict: Verdict) -> bool:
        uri = verdict.doc_state.uri
        return self._open_documents.memory(uri).knows(uri)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="judge")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _is_open(self, doc_state: DocumentState) -> bool:
        return self._open_documents.states.get(doc_state.uri) is doc_state

"""
The next edit in a session: documents' changes into the edit logs, and a proposal when one is asked for.

State: an edit log and the user's answers per workspace root, and the proposal that was offered last.
Only documents that may be used are in it; the engine runs in a worker thread, on a snapshot. Where it
finds nothing in what is open, files that are not open come next (`unopened_files`).
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from fim_lsp.context.index import Index
from fim_lsp.documents import Document
from fim_lsp.events import Changed
from fim_lsp.next_edit.answers import Answers, followed
from fim_lsp.next_edit.edits import FinishedEdit
from fim_lsp.next_edit.engine import Proposal, propose
from fim_lsp.next_edit.log import EditLog
from fim_lsp.next_edit.places import text_of
from fim_lsp.next_edit.why import why
from fim_lsp.session import unopened_files
from fim_lsp.session.document_state import UNJUDGED, DocumentState
from fim_lsp.session.model_edits import ModelEdits
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.session.stats import Stats
from fim_lsp.session.unopened_files import UnopenedFile
from fim_lsp.settings.config import Config


class NextEdit(NamedTuple):
    """
    A proposal, the version of the document that it is for, its number, and why it is proposed.

    *path* is "" where the document is open; else the file's in its workspace, and *document* is what
    stood there.
    """

    document: Document
    proposal: Proposal
    id: str
    why: str
    path: str = ""


class _Asked(NamedTuple):
    edits: tuple[FinishedEdit, ...]
    documents: tuple[Document, ...]  # that of the last edit first
    refused: frozenset[object]
    known: Index | None  # of files that are not open; None where those are not wanted


class _Found(NamedTuple):
    proposal: Proposal
    document: Document
    file: UnopenedFile | None = None  # that the document was read from


class _Offered(NamedTuple):
    edit: NextEdit
    found: _Found
    at: float


@dataclass(slots=True)
class _Workspace:
    log: EditLog = field(default_factory=EditLog)
    answers: Answers = field(default_factory=Answers)
    asked: _Asked | None = None  # editors ask whenever the cursor moves: what was looked for last …
    finding: asyncio.Task[_Found | None] | None = None  # … and what is found
    offered: _Offered | None = None
    shown: str = ""  # the proposal that the editor drew last, by its number

    def stop(self) -> None:
        """Look for nothing any more; a request that waits for it is cancelled."""
        if self.finding is not None:
            self.finding.cancel()


class NextEdits:
    """See the module."""

    def __init__(
        self,
        open_documents: OpenDocuments,
        stats: Stats,
        clock: Callable[[], float],
        model: ModelEdits,
        config: Callable[[], Config],
    ) -> None:
        self._open = open_documents
        self._stats = stats
        self._clock = clock
        self._model = model
        self._config = config
        self._numbers = itertools.count(1)
        self._workspaces: defaultdict[str, _Workspace] = defaultdict(_Workspace)

    def changed(self, before: Document, event: Changed) -> None:
        """
        *event* was just taken in; *before* is the document that it changed.

        The first keys may come before the document is judged; if it is private they are forgotten then.
        """
        state, after = self._open.states[event.uri], self._open.documents[event.uri]
        if state.private in ("", UNJUDGED):
            log = self._workspaces[_key(state)].log
            log.changed(before, after, event.edits, self._clock())

    def unsettled(self, uri: str) -> float:
        """How many seconds the newest edit in the workspace of *uri* needs to be finished, if none follows."""
        workspace = self._of(uri)
        return workspace.log.unsettled(self._clock()) if workspace else 0.0

    async def proposal(self, uri: str, *, unopened: bool = True) -> NextEdit | None:
        """
        What to edit next in the workspace of *uri*; None where nothing is sure enough.

        *unopened* says whether it may be in a file that is not open.
        """
        state = self._open.states.get(uri)
        if state is None or state.private:
            return None
        workspace, usable = self._workspaces[_key(state)], self._usable(_key(state))
        self._forget_private(workspace.log)
        finished = workspace.log.finished(self._clock())
        edits = tuple(each for each in finished if each.uri in usable)
        if not edits:
            return None
        self._judge(workspace, edits)
        order = tuple(usable[each] for each in dict.fromkeys((edits[-1].uri, uri, *usable)))
        index = unopened_files.known(self._open, uri, self._config()) if unopened else None
        asked = _Asked(edits, order, workspace.answers.refused, index)
        if asked != workspace.asked or workspace.finding is None:
            workspace.stop()
            workspace.asked = asked
            workspace.finding = asyncio.create_task(
                self._found(_key(state), asked), name="next edit"
            )
        found = await asyncio.shield(workspace.finding)
        if found is None:
            return None
        if not await self._is_as_it_was(found):
            workspace.asked = None  # to be looked for again
            return None
        if workspace.answers.undone(found.proposal, found.document.lines):
            workspace.answers.dismissed(found.proposal)
            return await self.proposal(uri, unopened=unopened)
        return self._offered(workspace, found)

    async def checked(self, number: str) -> NextEdit | None:
        """
        The proposal *number*, which is in a file that is not open, to be applied now.

        None if it is not the last one, or the file was changed, opened or made private since.
        """
        workspace = self._offering(number)
        offered = workspace.offered if workspace else None
        if offered and offered.found.file and await self._is_as_it_was(offered.found):
            return offered.edit
        return None

    def close(self) -> None:
        """Look for nothing any more."""
        for workspace in self._workspaces.values():
            workspace.stop()

    async def _found(self, key: str, asked: _Asked) -> _Found | None:
        """What earlier edits propose, else the model, where there is one."""
        documents = {document.uri: document for document in asked.documents}
        found = await asyncio.to_thread(_repeated, asked)
        if found is not None:
            return _Found(found, documents[found.uri])
        if asked.known is not None:
            edits, opened, refused, _ = asked
            away = await unopened_files.proposed(self._open, edits, opened, refused, self._config())
            if away is not None:
                return _Found(away[0], away[1].document, away[1])
        names = {uri: state.file.path for uri, state in self._open.states.items()}
        found = await self._model.proposal(key, asked.edits, asked.documents[0], names)
        if found is None or found.is_refused(asked.refused):
            return None
        return _Found(found, documents[found.uri])

    async def _is_as_it_was(self, found: _Found) -> bool:
        """Whether a proposal is still for what the document says, and that may still be used."""
        if found.file is not None:
            return await unopened_files.is_as_it_was(self._open, found.file, self._config())
        uri = found.document.uri
        is_same = self._open.documents.get(uri) is found.document
        return is_same and not self._open.states[uri].private

    def _why(self, found: _Found) -> str:
        """Why it is proposed: by the file of the earlier edit, or by the model."""
        example = found.proposal.example
        if example is None:
            return why(found.proposal, self._model.name)
        state = self._open.states.get(example.uri)
        name = state.file.path if state else "a file that was closed"
        return why(found.proposal, name, found.file.path if found.file else "")

    def shown(self, number: str) -> None:
        """The editor drew a proposal."""
        workspace = self._offering(number)
        if workspace is not None and workspace.shown != number:
            workspace.shown = number
            self._stats.next_edits["shown"] += 1

    def taken(self, number: str) -> None:
        """A proposal was applied."""
        workspace = self._offering(number)
        if workspace is not None and workspace.offered is not None:
            edit = workspace.offered.edit
            workspace.answers.taken(edit.proposal, edit.document.lines)
            workspace.offered = None
            workspace.log.settle(self._clock())
            self._stats.next_edits["taken"] += 1

    def dismissed(self, uri: str) -> None:
        """The proposal that was offered last in the workspace of *uri* was sent away."""
        workspace = self._of(uri)
        if workspace and workspace.offered:
            workspace.answers.dismissed(workspace.offered.edit.proposal)
            workspace.offered = None
            self._stats.next_edits["dismissed"] += 1

    def _judge(self, workspace: _Workspace, edits: tuple[FinishedEdit, ...]) -> None:
        """See what the user made of the proposal that was offered last."""
        if workspace.offered is not None:
            edit, _, since = workspace.offered
            workspace.answers.edited(edit.proposal, edits, since)
            if workspace.shown == edit.id and followed(edit.proposal, edits, since):
                self.taken(edit.id)

    def _offered(self, workspace: _Workspace, found: _Found) -> NextEdit:
        """What goes out, with its number; the same one as long as it is the same."""
        last = workspace.offered
        if last is not None and found.proposal[:4] == last.edit.proposal[:4]:
            number, at = last.edit.id, last.at
        else:
            number, at = str(next(self._numbers)), self._clock()
            self._stats.next_edits["offered"] += 1
        path = found.file.path if found.file else ""
        edit = NextEdit(found.document, found.proposal, number, self._why(found), path)
        workspace.offered = _Offered(edit, found, at)
        return edit

    def _offering(self, number: str) -> _Workspace | None:
        """The workspace in which a proposal was offered last."""
        for workspace in self._workspaces.values():
            if workspace.offered and workspace.offered.edit.id == number:
                return workspace
        return None

    def _of(self, uri: str) -> _Workspace | None:
        """The workspace of an open document."""
        state = self._open.states.get(uri)
        return self._workspaces.get(_key(state)) if state else None

    def _forget_private(self, log: EditLog) -> None:
        for uri, state in self._open.states.items():
            if state.private:
                log.forget(uri)

    def _usable(self, key: str) -> dict[str, Document]:
        """The open documents of a workspace that are not private, the one opened last first."""
        states = self._open.states
        return {
            uri: document
            for uri, document in reversed(self._open.documents.items())
            if _key(states[uri]) == key and not states[uri].private
        }


def _key(state: DocumentState) -> str:
    """Which workspace a document belongs to; files outside of all by their folder."""
    return state.file.root or f"outside: {state.file.folder or state.file.repo}"


def _repeated(asked: _Asked) -> Proposal | None:
    """What earlier edits propose."""
    return propose(asked.edits, [text_of(each) for each in asked.documents], asked.refused)

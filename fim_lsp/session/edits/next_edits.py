"""
The next edit in a session: documents' changes into the edit logs, and a proposal when one is asked
for.

Sources are tried in order: the same edit again in what is open, the same edit in files that are not
open, then a model, if there is one. Only documents that may be used take part; the engine runs in a
worker thread, on a snapshot. The history belongs to the workspace (`edit_history`).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from fim_lsp.documents import Document, Position
from fim_lsp.events import Changed, NextEditDismissed, NextEditTaken, OfNextEdit
from fim_lsp.next_edit.answers import why
from fim_lsp.next_edit.edits import text_of
from fim_lsp.next_edit.engine import Proposal, needles, propose, propose_unopened
from fim_lsp.session.edits.model_edits import ModelEdits
from fim_lsp.session.state.edit_history import EditHistory, NextEdit, Question
from fim_lsp.session.state.model_view import Verdict
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.workspaces import Workspace
from fim_lsp.session.stats import Stats
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths
from server_bridge.machine.disks import in_disk_thread


@dataclass(eq=False, repr=False)
class NextEdits:
    """
    The next edit of each workspace: found when it is asked for. *_asked* is the document of the
    last question.
    """

    _open: OpenDocuments
    _stats: Stats
    _clock: Callable[[], float]
    _model: ModelEdits
    _config: Callable[[], Config]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _asked: str = ""

    def note_question(self, uri: str) -> str:
        """Note a question in *uri*, "" for the document of the one before; return which it is."""
        self._asked = uri or self._asked
        return self._asked

    def follow(self, doc: OpenDocument, before: Document, event: Changed) -> None:
        """
        Record *event*, which changed *doc*; *before* is what it said.

        Keys may come before the document is judged; while it is private they are forgotten at the
        next question.
        """
        if doc.view.verdict is not Verdict.TOO_LARGE:
            doc.workspace.edits.log.note_change(before, doc.document, event.edits, self._clock())

    def reopen(self, doc: OpenDocument) -> None:
        """
        Note that *doc* was opened: it may have been closed without saving, or changed since.
        """
        doc.workspace.edits.log.reopen(doc.document)

    def seconds_unsettled(self, uri: str, cursor: Position | None = None) -> float:
        """
        Return how many seconds the newest edit in the workspace of *uri* needs to be finished, if
        none follows, with the *cursor* there.
        """
        doc = self._open.by_uri.get(uri)
        log = doc.workspace.edits.log if doc else None
        return log.seconds_unsettled(self._clock(), uri, cursor) if log else 0.0

    async def propose(self, uri: str, *, unopened: bool = True) -> NextEdit | None:
        """
        Return the next edit in the workspace of *uri*; None where nothing is sure enough.

        *unopened* says whether it may be in a file that is not open.
        """
        while (doc := self._open.by_uri.get(uri)) is not None and doc.current is not None:
            workspace = doc.workspace
            question = self._question(doc)
            if question is None:
                return None
            edits = workspace.edits
            edits.stop_older(question.documents)
            edit = await self._search(workspace, question, unopened=unopened)
            if edit is None:
                return None
            if not await self._is_unchanged(workspace, edit):
                edits.forget_results()
                return None
            if not edits.answers.is_undone(edit.proposal, edit.document.lines):
                return self._offer(edits, edit)
            edits.answers.note_dismissal(edit.proposal)
        return None

    def is_covered(self, edit: NextEdit) -> bool:
        """
        Return whether ghost text is on a line that *edit* changes, or below which it inserts
        lines.
        """
        doc = self._open.by_uri.get(edit.document.uri)
        proposal = edit.proposal
        line = doc.acceptance.line if doc else None
        start = proposal.line - (not proposal.before)
        end = proposal.line + max(1, len(proposal.before))
        return line is not None and start <= line < end

    async def check(self, number: str) -> NextEdit | None:
        """
        Return the proposal *number*, which is in a file that is not open, to be applied now.

        None if it is not the last one, or the file was changed, opened or made private since.
        """
        for workspace in self._open.workspaces:
            offered = workspace.edits.offered
            if offered and offered.id == number and offered.path:
                return offered if await self._is_unchanged(workspace, offered) else None
        return None

    def mark(self, event: OfNextEdit) -> None:
        """
        Note that the editor drew a proposal, that it was applied, or that the user wants none
        like the last one.
        """
        if isinstance(event, NextEditDismissed):
            doc = self._open.by_uri.get(event.uri or self._asked)
            if doc and (offered := doc.workspace.edits.offered):
                doc.workspace.edits.dismiss(offered)
                self._stats.count_next_edit("dismissed")
            return
        edits = self._offering(event.id)
        if edits is None or edits.offered is None:
            return
        if isinstance(event, NextEditTaken):
            edits.accept(edits.offered, self._clock())
            self._stats.count_next_edit("taken")
        elif edits.mark_shown(event.id):
            self._stats.count_next_edit("shown")

    def _question(self, doc: OpenDocument) -> Question | None:
        """
        Return the question in the workspace of *doc* now; None where nothing was edited that may be
        used.
        """
        workspace = doc.workspace
        edits = doc.workspace.edits
        usable = {d.uri: d.document for d in self._open.of(workspace) if d.current is not None}
        for other in self._open:
            if other.view.verdict not in (Verdict.USABLE, Verdict.UNJUDGED):
                edits.log.forget(other.uri)
        mine = tuple(edit for edit in edits.log.list_finished(self._clock()) if edit.uri in usable)
        if not mine:
            return None
        if edits.offered is not None and edits.is_followed(edits.offered, mine):
            self.mark(NextEditTaken(edits.offered.id))
        order = dict.fromkeys((mine[-1].uri, doc.uri, *usable))
        index = None
        config = workspace.settings(self._config())
        if config.ring.files:
            workspace.files.explore(doc.file.path, config)
            index = workspace.files.index
        return Question(mine, tuple(usable[uri] for uri in order), edits.answers.refused, index)

    async def _search(
        self, workspace: Workspace, question: Question, *, unopened: bool
    ) -> NextEdit | None:
        """
        Return the first proposal that a source has; None once a newer text is asked about.

        Several requests may search at once: each source looks once for all of them.
        """
        texts = question._replace(files=None)
        sources = (
            ("open documents", texts, self._repeat),
            ("unopened files", question if unopened else texts, self._repeat_elsewhere),
            # The model is shown the document of the last edit only.
            ("the model", texts._replace(documents=question.documents[:1]), self._ask_model),
        )
        for name, part, search in sources:
            edit = await workspace.edits.answer(name, part, partial(search, workspace, part))
            if edit is not None or workspace.edits.is_outdated(question):
                return edit
        return None

    async def _repeat(self, workspace: Workspace, question: Question) -> NextEdit | None:
        """Repeat an earlier edit in an open document."""
        edits, documents, refused = question[:3]
        syntax = workspace.reader.find_uses, workspace.reader.count_errors

        def search() -> Proposal | None:
            return propose(edits, [*map(text_of, documents)], refused, *syntax)

        return _edit_of(documents, await asyncio.to_thread(search))

    async def _repeat_elsewhere(self, workspace: Workspace, question: Question) -> NextEdit | None:
        """
        Repeat an earlier edit in a file that is not open, and that is read now unless it is
        private.
        """
        doc = self._open.by_uri.get(question.edits[-1].uri)
        if question.files is None or doc is None:
            return None
        near = doc.file.path
        opened = self._open_paths(workspace)
        config = self._config()

        def find() -> NextEdit | None:
            others = workspace.files.find_holding(needles(question.edits), near, opened, config)
            texts = [*map(text_of, question.documents)]
            unopened = [*map(text_of, others)]
            syntax = workspace.reader.find_uses, workspace.reader.count_errors
            proposal = propose_unopened(question.edits, texts, unopened, question.refused, *syntax)
            edit = _edit_of(others, proposal)
            path = edit and paths.locate(edit.document.uri, (workspace.root,)).path
            return edit and edit._replace(path=path or "")

        return await in_disk_thread(find)

    async def _ask_model(self, workspace: Workspace, question: Question) -> NextEdit | None:
        """Ask the model, where there is one."""
        names = {doc.uri: doc.file.path for doc in self._open}
        proposal = await self._model.propose(workspace.edits, question, names)
        return _edit_of(question.documents, proposal)

    async def _is_unchanged(self, workspace: Workspace, edit: NextEdit) -> bool:
        """
        Return whether an edit is still for what the document says, and that may still be used.
        """
        uri = edit.document.uri
        if edit.path:
            document = await in_disk_thread(workspace.files.read_file, edit.path, self._config())
            is_open = uri in self._open.by_uri or edit.path in self._open_paths(workspace)
            return document == edit.document and not is_open
        doc = self._open.by_uri.get(uri)
        return doc is not None and doc.current is edit.document

    def _offer(self, edits: EditHistory, edit: NextEdit) -> NextEdit:
        """Return *edit* as it goes out, with its number; the same one as long as it is the same."""
        last = edits.offered
        if last is not None and edit.proposal.place == last.proposal.place:
            number = last.id
            at = last.at
        else:
            number = str(next(self._numbers))
            at = self._clock()
            self._stats.count_next_edit("offered")
        return edits.offer(edit._replace(id=number, why=self._why(edit), at=at))

    def _why(self, edit: NextEdit) -> str:
        """Return why it is proposed: the file of the earlier edit, or the model."""
        example = edit.proposal.example
        if example is None:
            return why(edit.proposal, self._model.name)
        doc = self._open.by_uri.get(example.uri)
        return why(edit.proposal, doc.file.path if doc else "a file that was closed", edit.path)

    def _offering(self, number: str) -> EditHistory | None:
        """Return the history in which a proposal was offered last."""
        histories = [workspace.edits for workspace in self._open.workspaces]
        return next((e for e in histories if e.offered and e.offered.id == number), None)

    def _open_paths(self, workspace: Workspace) -> set[str]:
        """Return the paths of all open files, also of those that are private."""
        return {doc.file.path for doc in self._open.of(workspace)}


def _edit_of(documents: Sequence[Document], proposal: Proposal | None) -> NextEdit | None:
    """Return *proposal* with the one of *documents* that it is for."""
    if proposal is None:
        return None
    return NextEdit(next(d for d in documents if d.uri == proposal.uri), proposal)

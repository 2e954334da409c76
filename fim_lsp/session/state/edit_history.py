"""
The next edit in one workspace: what was edited, answered and offered there, and the searches under
way.

Only the methods of `EditHistory` write its fields. `NextEdit` is the one record of an edit, from
the source that finds it to the editor that draws it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import NamedTuple

from fim_lsp.context.index import Index
from fim_lsp.documents import Document
from fim_lsp.next_edit.answers import Answers, is_followed
from fim_lsp.next_edit.edits import FinishedEdit
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.log import EditLog
from fim_lsp.next_edit.window import ShownPart

SEARCHES = 9  # that are remembered: three questions, each to three sources

log = logging.getLogger(__name__)


class NextEdit(NamedTuple):
    """
    A proposal and the document that it is for; *path* is "" where that is open, else the file's in
    its workspace.

    Once it goes out it has an *id*, the words *why* it is proposed, and the time *at* which it was
    offered first.
    """

    document: Document
    proposal: Proposal
    path: str = ""
    id: str = ""
    why: str = ""
    at: float = 0.0


class Question(NamedTuple):
    """The inputs of a next edit. Editors ask whenever the cursor moves, and mostly the same."""

    edits: tuple[FinishedEdit, ...]
    documents: tuple[Document, ...]  # that of the last edit first
    refused: frozenset[object]
    files: Index | None  # of the workspace's files; None where those are not wanted


class Search(NamedTuple):
    """The search of one source for the answer to a question."""

    source: str
    question: Question
    answer: asyncio.Task[NextEdit | None]


class EditHistory:
    """
    The edits in one workspace, and the edit that was *offered* there last; *start* starts a search,
    which ends with the workspace.

    *prompt* is what the model's prompts begin with. The searches are those in the texts as they are
    now, finished ones, too.
    """

    def __init__(self, start: Callable[..., asyncio.Task[NextEdit | None]]) -> None:
        self._start = start
        self.log = EditLog()
        self.answers = Answers()
        self.offered: NextEdit | None = None
        self.prompt: ShownPart | None = None
        self._shown = ""  # the id of the edit that the editor drew last
        self._searches: list[Search] = []
        self._texts: dict[int, Document] = {}  # those of the newest question, by `id`: kept for it

    async def answer(
        self,
        source: str,
        question: Question,
        search: Callable[[], Coroutine[None, None, NextEdit | None]],
    ) -> NextEdit | None:
        """
        Return the answer of *source* to *question*; concurrent callers share one *search*.

        None, too, where the search failed, and where it was stopped because the text changed: a
        request that waits for the search is not cancelled.
        """
        same = (s for s in self._searches if (s.source, s.question) == (source, question))
        if (shared := next(same, None)) is None:
            task = self._start(search(), f"next edit from {source}")
            task.add_done_callback(self._drop_failed)
            shared = Search(source, question, task)
            self._searches = [*self._searches[1 - SEARCHES :], shared]
        answer = shared.answer
        await asyncio.wait([answer])
        return None if answer.cancelled() or answer.exception() else answer.result()

    def is_outdated(self, question: Question) -> bool:
        """Return whether a newer question is about other texts."""
        return not self._texts.keys() >= {*map(id, question.documents)}

    def stop_older(self, documents: Iterable[Document]) -> None:
        """
        End the searches in other texts than *documents*; callers that wait for them get no edit.
        """
        self._texts = {id(document): document for document in documents}
        for search in self._searches:
            if self.is_outdated(search.question):
                search.answer.cancel()
        self._searches = [s for s in self._searches if not self.is_outdated(s.question)]

    def stop(self) -> None:
        """End all searches under way."""
        self.stop_older(())

    def forget_results(self) -> None:
        """Let everything be looked for again: a file that is not open has changed."""
        self._searches = [search for search in self._searches if not search.answer.done()]

    def _drop_failed(self, task: asyncio.Task[NextEdit | None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("no %s", task.get_name(), exc_info=error)
            self._searches = [search for search in self._searches if search.answer is not task]

    def mark_shown(self, number: str) -> bool:
        """Note that the editor drew a proposal; whether that is new."""
        before = self._shown
        self._shown = number
        return before != number

    def offer(self, edit: NextEdit) -> NextEdit:
        """Note that *edit* is offered now, and return it."""
        self.offered = edit
        return edit

    def keep_prompt(self, question: Question, begin: ShownPart) -> None:
        """Begin later prompts with *begin*, unless a newer *question* was asked since."""
        if not self.is_outdated(question):
            self.prompt = begin

    def accept(self, edit: NextEdit, now: float) -> None:
        """Note that *edit*, which was offered, was applied: it is finished."""
        self.answers.note_acceptance(edit.proposal, edit.document.lines)
        self.offered = None
        self.log.settle(now)

    def dismiss(self, edit: NextEdit) -> None:
        """Note that the user dismissed *edit*, which was offered."""
        self.answers.note_dismissal(edit.proposal)
        self.offered = None

    def is_followed(self, edit: NextEdit, finished: Sequence[FinishedEdit]) -> bool:
        """
        Return whether *edit* was drawn, and then made by hand; and remember what contradicts it.
        """
        self.answers.note_edits(edit.proposal, finished, edit.at)
        return self._shown == edit.id and is_followed(edit.proposal, finished, edit.at)

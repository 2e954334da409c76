"""
The next edit in one workspace: what was edited, answered and offered there. State, without decisions.

`NextEdit` is the one record of an edit, from the source that finds it to the editor that draws it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fim_lsp.context.index import Index
from fim_lsp.documents import Document
from fim_lsp.next_edit.answers import Answers
from fim_lsp.next_edit.edits import FinishedEdit
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.log import EditLog
from fim_lsp.next_edit.window import Shown

SEARCHES = 12  # that are remembered: three questions, each to four sources


class NextEdit(NamedTuple):
    """
    A proposal and the document that it is for; *path* is "" where that is open, else the file's in its workspace.

    Once it goes out it has an *id*, the words *why* it is proposed, and the time *at* which it was offered first.
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
    known: Index | None  # of the workspace's files; None where those are not wanted


class Search(NamedTuple):
    """What one source looks for, to answer a question."""

    source: str
    question: Question
    answer: asyncio.Task[NextEdit | None]


@dataclass(slots=True)
class EditHistory:
    """
    *shown* is the id of the edit that the editor drew last, *prompt* what the model's prompts begin with.

    *searches* are those in the texts as they are now, finished ones, too.
    """

    log: EditLog = field(default_factory=EditLog)
    answers: Answers = field(default_factory=Answers)
    searches: list[Search] = field(default_factory=list)
    offered: NextEdit | None = None
    shown: str = ""
    prompt: Shown | None = None

    def answer(
        self,
        source: str,
        question: Question,
        search: Callable[[], Coroutine[None, None, NextEdit | None]],
    ) -> asyncio.Task[NextEdit | None]:
        """Return the answer of a source to *question*: one *search* for all who ask the same."""
        for each in self.searches:
            if each.source == source and each.question == question:
                return each.answer
        answer = asyncio.create_task(search(), name="next edit")
        self.searches = [*self.searches[1 - SEARCHES :], Search(source, question, answer)]
        return answer

    def stop_older(self, documents: Iterable[Document]) -> None:
        """End the searches in other texts than *documents*; the requests that wait for them are cancelled."""
        now = {*map(id, documents)}
        searches, self.searches = self.searches, []
        for each in searches:
            if now.issuperset(map(id, each.question.documents)):
                self.searches.append(each)
            else:
                each.answer.cancel()

    def stop(self) -> None:
        """End all searches under way."""
        self.stop_older(())

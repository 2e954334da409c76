"""
The next edit in one workspace: what was edited, answered and offered there. State, without decisions.

`NextEdit` is the one record of an edit, from the source that finds it to the editor that draws it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from fim_lsp.context.index import Index
from fim_lsp.documents import Document
from fim_lsp.next_edit.answers import Answers
from fim_lsp.next_edit.edits import FinishedEdit
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.log import EditLog
from fim_lsp.next_edit.window import Shown


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
    unopened: bool = True  # whether the edit may be in a file that is not open


@dataclass(slots=True)
class EditHistory:
    """*shown* is the id of the edit that the editor drew last, *prompt* what the model's prompts begin with."""

    log: EditLog = field(default_factory=EditLog)
    answers: Answers = field(default_factory=Answers)
    question: Question | None = None
    answer: asyncio.Task[NextEdit | None] | None = None  # to the question
    offered: NextEdit | None = None
    shown: str = ""
    prompt: Shown | None = None

    def stop(self) -> None:
        """End the search under way; a request that waits for it is cancelled."""
        if self.answer is not None:
            self.answer.cancel()

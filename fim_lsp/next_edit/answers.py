"""
What the user answered to proposals: which patterns stay quiet. Pure.

A "no" is a proposal that was dismissed, or that the user's own edit at its place contradicted.
"""

from __future__ import annotations

from collections.abc import Sequence

from fim_lsp.next_edit.edits import FinishedEdit
from fim_lsp.next_edit.engine import Proposal

REFUSED = 200
"""Patterns remembered; a session has some tens."""


class Answers:
    """The patterns that stay quiet in one workspace; `refused` goes to `engine.propose`."""

    def __init__(self) -> None:
        self._refused: dict[object, None] = {}

    @property
    def refused(self) -> frozenset[object]:
        """The patterns that got a "no"."""
        return frozenset(self._refused)

    def dismissed(self, proposal: Proposal) -> None:
        """The user sent it away."""
        self._refused.pop(proposal.pattern, None)
        self._refused[proposal.pattern] = None
        while len(self._refused) > REFUSED:
            del self._refused[next(iter(self._refused))]

    def edited(self, proposal: Proposal, edits: Sequence[FinishedEdit], since: float) -> None:
        """These are the edits now; *proposal* was shown at the time *since*."""
        if any(edit.at > since and _contradicts(edit, proposal) for edit in edits):
            self.dismissed(proposal)


def followed(proposal: Proposal, edits: Sequence[FinishedEdit], since: float) -> bool:
    """Whether one of *edits* is *proposal*, made after the time *since*: not all clients tell."""
    wanted = (proposal.uri, proposal.before, proposal.after)
    return any(edit.at > since and (edit.uri, edit.before, edit.after) == wanted for edit in edits)


def _contradicts(edit: FinishedEdit, proposal: Proposal) -> bool:
    """Whether something else was made of the lines that the proposal was for."""
    return (
        edit.uri == proposal.uri
        and edit.before == proposal.before
        and edit.after != proposal.after
        and edit.line == proposal.line
    )

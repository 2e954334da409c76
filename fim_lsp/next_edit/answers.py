"""
The question that a proposal puts to the user, and the answer: which patterns are not proposed
again. Pure.

A "no" is a proposal that was dismissed, that the user's own edit at its place contradicted, or that
was applied and undone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from fim_lsp.display import sanitize
from fim_lsp.next_edit.edits import FinishedEdit, Lines
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.rule import is_word, token_changes

REFUSED = 400
"""Remembered patterns, two for each "no"; a session has some tens."""

TAKEN = 20
"""Applied proposals that are remembered, should they be undone."""

LINE_CHARS = 60  # of a line that is quoted; it is read in a message


class Answers:
    """The patterns that stay quiet in one workspace; `refused` goes to `engine.propose`."""

    def __init__(self) -> None:
        self._refused: deque[object] = deque(maxlen=REFUSED)
        self._taken: deque[object] = deque(maxlen=TAKEN)

    @property
    def refused(self) -> frozenset[object]:
        """The patterns and changes that got a "no"."""
        return frozenset(self._refused)

    def note_dismissal(self, proposal: Proposal) -> None:
        """Note that the user dismissed *proposal*."""
        self._refused += proposal.pattern, proposal.change

    def note_acceptance(self, proposal: Proposal, lines: Lines) -> None:
        """Note that the user applied *proposal* to the text *lines*."""
        self._taken.append((proposal.place, hash(lines)))

    def is_undone(self, proposal: Proposal, lines: Lines) -> bool:
        """
        Return whether *proposal* was applied to the very text that it is for: it was undone since.
        """
        return (proposal.place, hash(lines)) in self._taken

    def note_edits(self, proposal: Proposal, edits: Sequence[FinishedEdit], since: float) -> None:
        """Record the *edits* now, *proposal* having been shown at the time *since*."""
        asked = proposal.uri, proposal.line, proposal.before
        made = [e.after for e in edits if e.at > since and (e.uri, e.line, e.before) == asked]
        if any(after != proposal.after for after in made):  # something else
            self.note_dismissal(proposal)


def is_followed(proposal: Proposal, edits: Sequence[FinishedEdit], since: float) -> bool:
    """
    Return whether one of *edits* is *proposal*, made after the time *since*: not all clients tell.
    """
    wanted = (proposal.uri, proposal.before, proposal.after)
    return any(edit.at > since and (edit.uri, edit.before, edit.after) == wanted for edit in edits)


def why(proposal: Proposal, name: str, unopened: str = "") -> str:
    """
    Describe why; *name* is what the user calls the file of the earlier edit, or the model that made
    the proposal.

    *unopened* is the file that it is in, where that is not open.
    """
    example = proposal.example
    n_more = proposal.n_examples - 1
    if example is None:
        return f"The model {sanitize(name)} proposes it, after your last edits."
    more = f", as {n_more} earlier edit{'s'[: n_more > 1]} did" if n_more else ""
    where = f" {sanitize(unopened)} is not open, and has the same text." if unopened else ""
    return (
        f"It repeats your edit in {sanitize(name)}, line {example.line + 1}: "
        f"{_change(example.before, example.after)}{more}.{where}"
    )


def _change(before: Lines, after: Lines) -> str:
    """Return what became of what: a name, where the lines differ in that one alone."""
    match [
        *{(made.old, made.new) for changes in map(token_changes, before, after) for made in changes}
    ]:
        case [((old,), (new,))] if len(before) == len(after) and is_word(old) and is_word(new):
            return f"{_quote((old,))} became {_quote((new,))}"
    if not after:
        return f"{_quote(before)} went"
    return f"{_quote(before)} became {_quote(after)}" if before else f"{_quote(after)} came"


def _quote(lines: Lines) -> str:
    """Return the first line that says something, marked where there are more."""
    first = next((line for line in lines if line.strip()), "")
    quoted = f"`{sanitize(first.strip(), LINE_CHARS)}`"
    return f"{quoted} …" if len(lines) > 1 else quoted

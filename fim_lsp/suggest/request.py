"""
One completion request: what was asked, and what the editor is to insert. Pure.

A request carries its snapshot (document, settings, the backend's state), so that nothing is read
again after a wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from fim_lsp.documents import Document, Edit, Position, TextPlace, after, apply_edits
from fim_lsp.settings.config import ONE_LINE, Config
from fim_lsp.suggest.cursor import Candidate, Cursor, cursor_at
from server_bridge.protocol import State


class Suggestion(NamedTuple):
    """Replace the text from *start* to *end* by *text* (with `\\n` line ends)."""

    id: str
    start: Position
    end: Position
    text: str


class Requester(NamedTuple):
    """
    The client of a request. *offers*: the user is shown the suggestions now, the client does not
    only want to know them. *config* are the settings that it follows, None for the user's.
    *on_progress* gets the suggestion line by line, as it becomes known. *cancels*: it cancels a
    request that a newer one replaces, so none comes too late. *waits_ms*: what it waits after a key
    before it asks. *word_limit_s*: what it waits for an answer inside a word, with its own list.
    *gives_up_s*: what it waits for any.
    """

    offers: bool = True
    config: Config | None = None
    on_progress: Callable[[Suggestion], None] | None = None
    cancels: bool = True
    waits_ms: float = 0.0
    word_limit_s: float = math.inf
    gives_up_s: float = math.inf


BY_HAND = 10  # times the deadline of an automatic suggestion: a user who asked waits longer
EDITOR = Requester()
MENU = Requester(cancels=False)  # opens with the answers of all sources: it may wait for ours


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """
    One request: where, what stands around, and whether the user *invoked* it by hand.

    *selected* is the edit that the selected entry of the editor's menu would make: *document* and
    *position* are as if it had been accepted. *path* is the document's within its workspace;
    *config* and *state* are those of the moment it came.
    """

    document: Document
    position: Position
    cursor: Cursor
    path: str
    config: Config
    state: State
    invoked: bool = False
    selected: Edit | None = None
    client: Requester = EDITOR

    @property
    def place(self) -> TextPlace:
        """Where, and in which text."""
        return TextPlace(self.document, self.position)

    @property
    def n_wanted(self) -> int:
        """Return how many candidates it is to get at most: a user who asked chooses of some."""
        return self.config.completion.candidates if self.invoked else 1

    @property
    def limit_s(self) -> float:
        """
        The time after which an answer is no use, an empty one either; infinity for none.

        A client that does not cancel gets its answer by the deadline. A text begun for a
        request whose time is up goes on for the next key.
        """
        if self.invoked:
            return math.inf
        limit_s = self.client.word_limit_s if self.cursor.is_in_word else math.inf
        return limit_s if self.client.cancels else min(limit_s, self.deadline_s)

    @property
    def deadline_s(self) -> float:
        """The time to wait for a line or a model that starts; a user who asked waits longer."""
        deadline_s = self.config.completion.deadline_ms / 1000 * (BY_HAND if self.invoked else 1)
        return min(deadline_s, self.client.gives_up_s)

    @property
    def sure(self) -> float:
        """
        The probability that a suggestion must have to interrupt the user; a user who asked wants to
        see all of it.
        """
        return 0.0 if self.invoked else self.config.sure


def request_at(  # noqa: PLR0913 (a value of that many parts)
    document: Document,
    position: Position,
    path: str,
    config: Config,
    state: State,
    *,
    invoked: bool = False,
    selected: Edit | None = None,
    client: Requester = EDITOR,
) -> CompletionRequest:
    """Return the request for *position*, with the menu's selected entry in place."""
    if selected is not None:
        document = apply_edits(document, [selected], document.version)
        position = after(selected.start, selected.text)
    one_line = config.suggestions == ONE_LINE and not invoked
    cursor = cursor_at(document, position, path, by_hand=invoked, one_line=one_line)
    return CompletionRequest(
        document, position, cursor, path, config, state, invoked, selected, client
    )


def accept(request: CompletionRequest, suggestion: Suggestion) -> CompletionRequest:
    """Return the request that would follow if *suggestion* was accepted."""
    edit = Edit(suggestion.start, suggestion.end, suggestion.text)
    where = (request.document, request.position, request.path, request.config, request.state)
    return replace(request_at(*where, selected=edit, client=request.client), selected=None)


def suggestion(request: CompletionRequest, candidate: Candidate, id: str) -> Suggestion | None:
    """Return the suggestion for a filtered *candidate*, None for an empty one."""
    if not candidate.text:
        return None
    selected = request.selected or Edit(request.position, request.position, "")
    end = selected.end._replace(column=selected.end.column + candidate.replaces)
    return Suggestion(id, selected.start, end, selected.text + candidate.text)

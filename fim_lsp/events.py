"""
The closed set of events from the editor; `Session.handle` is their one reader. Pure data.

Positions count code points (`documents.Position`), paths are URIs as the client spells them.
"""

from __future__ import annotations

from typing import NamedTuple

from fim_lsp.documents import Edit, Position


class Opened(NamedTuple):
    """`textDocument/didOpen`. *lines* are those of *text* where it is split already."""

    uri: str
    language: str
    version: int
    text: str
    lines: tuple[str, ...] | None = None


class Changed(NamedTuple):
    """
    `textDocument/didChange`; each edit counts on the text the one before left.

    *is_a_key*: it comes when the user types it in this editor, and so tells how fast that is.
    """

    uri: str
    version: int
    edits: tuple[Edit, ...]
    is_a_key: bool = True


class Saved(NamedTuple):
    """`textDocument/didSave`."""

    uri: str


class Closed(NamedTuple):
    """`textDocument/didClose`."""

    uri: str


class Focused(NamedTuple):
    """`textDocument/didFocus`: this document has the focus now; "" for none that is open here."""

    uri: str


class Yanked(NamedTuple):
    """`fim/didYank`: the user copied *text* in *uri*."""

    uri: str
    text: str


class Dismissed(NamedTuple):
    """`fim.didDismissCompletion`: the user hid the suggestion in *uri*."""

    uri: str


class NextEditDismissed(NamedTuple):
    """
    `fim.dismissNextEdit`: the user does not want the next edit that was offered last, for *uri*.
    """

    uri: str


class CursorMoved(NamedTuple):
    """The cursor is known to be here, from a request or the editor."""

    uri: str
    position: Position


class FilesChanged(NamedTuple):
    """`workspace/didChangeWatchedFiles`, create, rename and delete, by URI."""

    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


class FoldersChanged(NamedTuple):
    """The workspace's root folders now, by URI."""

    roots: tuple[str, ...]


class Shown(NamedTuple):
    """`textDocument/didShowCompletion`: this suggestion is on screen."""

    id: str


class Accepted(NamedTuple):
    """`fim.didAcceptCompletionItem`: all of it was accepted."""

    id: str


class PartlyAccepted(NamedTuple):
    """`textDocument/didPartiallyAcceptCompletion`: the first *length* characters in all were."""

    id: str
    length: int


class NextEditShown(NamedTuple):
    """`textDocument/didShowInlineEdit`: this next edit is on screen."""

    id: str


class NextEditTaken(NamedTuple):
    """`fim.didApplyNextEdit`: this next edit was applied."""

    id: str


class Snoozed(NamedTuple):
    """`fim.snooze`: the user wants no automatic suggestions for so long; 0 ends it."""

    minutes: float = 10.0


class RulesChanged(NamedTuple):
    """
    The rules of what is private changed, or may have: everything is judged again before it is used.
    """


InDocument = Changed | Saved | Closed | Focused | Yanked | CursorMoved
OfSuggestion = Shown | Accepted | PartlyAccepted | Dismissed
OfNextEdit = NextEditShown | NextEditTaken | NextEditDismissed
Event = (
    Opened | InDocument | OfSuggestion | OfNextEdit
    | FilesChanged | FoldersChanged | RulesChanged | Snoozed
)  # fmt: skip

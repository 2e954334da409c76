"""
One completion request: what was asked, why it may get nothing, what the editor is to insert. Pure.

A request carries its snapshot (document, settings, the backend's state), so that nothing is read
again after a wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from fim_lsp.context.ignore_rules import below, compile_rules, scope, why_ignored
from fim_lsp.documents import DOCUMENT_CHARS, Document, Edit, Position, after, apply_edits
from fim_lsp.settings.config import Config
from fim_lsp.suggest import boundary
from fim_lsp.suggest.cursor import Candidate, Cursor, cursor_at
from server_bridge.protocol import State
from server_bridge.weights.table import is_bundled

# -- switches ----------------------------------------------------------------------------------
# A document into the reason why it gets no automatic suggestions: the user's list, and prompts by
# their nature. Pure.
#
# An entry of the list (`fim.completion.disabledFor`) is a language, or a pattern of file names as
# in a `.gitignore`; what begins with `!` takes back what an entry before it said.


LANGUAGE = re.compile(r"[A-Za-z][\w+#-]*")

# A question or a message is typed there, not code. Schemes of VS Code: the commit message, the
# inputs of chats, of the debug console and of comments. Languages: VS Code's, and file types of
# Neovim plugins with such buffers.
PROMPT_SCHEMES = frozenset({
    "vscode-scm", "chatsessioninput", "vscode-chat-input", "vscode-chat-session",
    "vscode-interactive-input", "comment",
    "debug",
})  # fmt: skip
PROMPT_LANGUAGES = frozenset({
    "scminput", "chatinput", "TelescopePrompt", "snacks_picker_input", "snacks_input",
    "dap-repl", "codecompanion", "AvanteInput", "copilot-chat", "sidekick_terminal",
})  # fmt: skip
IN_A_PROMPT = "in a prompt"


@lru_cache(maxsize=256)  # asked at each key; a project's list may have thousands of entries
def why_disabled(entries: tuple[str, ...], uri: str, language: str, path: str) -> str:
    """
    Return the reason why a document gets no automatic suggestions, "" for none; *path* is within
    its workspace.
    """
    scheme = uri.partition(":")[0].lower()
    if scheme in PROMPT_SCHEMES or language in PROMPT_LANGUAGES:
        return IN_A_PROMPT
    last = ""
    for entry in entries:
        if _names(entry.removeprefix("!"), language, path):
            last = "" if entry.startswith("!") else entry
    return f"fim.completion.disabledFor names {last}" if last else ""


def _names(entry: str, language: str, path: str) -> bool:
    """Return whether *entry* names this language or file."""
    if LANGUAGE.fullmatch(entry):
        return entry == language
    *folders, name = path.encode("utf-8", "surrogatepass").split(b"/")
    here = scope([compile_rules(entry.encode("utf-8", "surrogatepass"), entry)])
    for folder in folders:
        here = below(here, folder)
    return bool(why_ignored(here, name))


# -- outcome -----------------------------------------------------------------------------------
# The outcome of a request, as `fim/stats` counts it, into words: the source of a suggestion, or why
# there is none. Pure.


TOO_LARGE = "too large"
TOY = "the bundled model, a toy for Python: `fim-lsp setup` gets a real one"
ENDS = {
    "automatic suggestions are off": "fim.completion.auto is false",
    "not sure": "the model was too unsure of its answer (fim.completion.minConfidence)",
    "in a comment": "there are no automatic suggestions in comments (fim.completion.quietIn)",
    "in a string": "there are no automatic suggestions in strings (fim.completion.quietIn)",
    "inside a word": "the cursor is inside a word; suggestions come at its end",
    "before other code": "there is code right of the cursor; suggestions come at the end of a "
    "line, or before closing brackets",
    "before the body of a block": "the block already has its body",
    "in a prompt": "there are no automatic suggestions in a prompt or a chat",
    "not now": "you snoozed suggestions (fim.snooze; fim.resume ends it)",
    "rarely taken": "you rarely accepted such suggestions lately (fim.completion.learn)",
    "in an empty text": "the file is empty",
    "after a deletion": "suggestions come after you type, not after you delete",
    "model": "the model wrote nothing here",
    "local": "no line in sight begins like this one, and the model could not be asked",
    "no commit message": "the model writes only the first line of a commit message, from what is "
    "staged",
    "not open": "the file is not open",
    TOO_LARGE: f"files of more than {DOCUMENT_CHARS:,} characters get no suggestions",
    "superseded": "the next key came before the answer",
    "too late": "the model did not answer in time (fim.completion.deadlineMs)",
}
# What a filter found where it left nothing of the model's answer.
FILTERED = {
    "special_tokens": "the model's answer began with a control token",
    "other_text": "the model began another file, a patch or a chat",
    "reindented": "the model's answer was only white space",
    "typed_again": "the model only repeated the text before the cursor",
    "stuttering": "the model repeated the same words",
    "looping_lines": "the model repeated the line above",
    "extent": "the statement is complete already",
    "lines_below": "the model repeated the text below the cursor",
    "closed_below": "the model closed a bracket that the next line closes",
    "opened_here": "the model closed a bracket around the lines below",
    "unfinished": "the model's answer broke off within its first word",
    "broken_character": "the model's answer broke off within a character",
    "right_text": "the model repeated the text right of the cursor",
    "parses": "the model's answer broke off inside a string or a bracket",
    "trailing_space": "the model's answer was only white space",
    "too_short": "the model's answer is too short to be worth a key",
}
# Ends of a request while typing that one by hand may not come to.
BY_HAND = frozenset({
    "automatic suggestions are off", "not sure", "in a comment", "in a string", "inside a word",
    "in a prompt", "not now", "rarely taken", "before other code", "after a deletion", "parses",
    "too late", "local",
})  # fmt: skip


def report(text: str, outcome: str, why: str, *, by_hand: bool) -> str:
    """
    Return what a request got, and *why* (`source`); or *why* it got nothing (`reason`), and whether
    to ask by hand.
    """
    if text:
        return f"{text!r}, by {why}"
    hint = "; ask by hand" if outcome in BY_HAND and not by_hand else ""
    return f"nothing: {why}{hint}"


def reason(outcome: str, backend: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return why a request with this outcome got nothing."""
    if outcome.startswith("private: "):
        return f"the file is private, nothing of it is used ({outcome.removeprefix('private: ')})"
    if outcome.startswith("Backend"):
        return backend.get("message") or "the model server could not answer"
    if outcome == "model" and backend.get("state") != "ready":
        return ENDS["local"]
    return FILTERED.get(outcome) or ENDS.get(outcome, outcome)


def source(outcome: str, backend: Mapping[str, Any]) -> str:
    """Return the source of a suggestion with this outcome."""
    if outcome == "local":
        return "a line in sight that begins as this one does"
    is_inside = backend.get("kind") == "embedded"  # its address says nothing to a user
    where = "inside this package" if is_inside else backend.get("url")
    return f"{backend.get('model') or 'the model'} ({where})"


def notice(backend: Mapping[str, Any]) -> str:
    """Return a note about the model, "" for none."""
    if backend.get("state") == "loading":
        return "the model is still loading"
    if backend.get("state") != "ready":
        return str(backend.get("message") or f"the model server is {backend.get('state')}")
    return TOY if is_bundled(str(backend.get("model"))) else ""


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
    before it asks.
    """

    offers: bool = True
    config: Config | None = None
    on_progress: Callable[[Suggestion], None] | None = None
    cancels: bool = True
    waits_ms: float = 0.0


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
    def sure(self) -> float:
        """
        The probability that a suggestion must have to interrupt the user; a user who asked wants to
        see all of it.
        """
        return 0.0 if self.invoked else self.config.completion.min_confidence


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
    cursor = cursor_at(document, position, path, by_hand=invoked)
    return CompletionRequest(
        document, position, cursor, path, config, state, invoked, selected, client
    )


def why_off(request: CompletionRequest) -> str:
    """Return the reason to do nothing at all for this request, "" for none."""
    if boundary.too_long(request.cursor):
        return "the line is too long"
    if request.invoked:
        return ""
    if not request.config.completion.auto:
        return "automatic suggestions are off"
    document, config = request.document, request.config
    return why_disabled(
        config.completion.disabled_for, document.uri, document.language, request.path
    )


def why_not(request: CompletionRequest, *, deleted: bool) -> str:
    """
    Return the reason to suggest nothing at this place now, "" for none; *deleted*: see
    `boundary.quiet`.
    """
    if request.invoked:
        return ""
    scope, excluded = boundary.scope(request.cursor), request.config.completion.quiet_in
    return boundary.quiet(request.cursor, deleted=deleted, scope=scope, excluded=excluded)


def accept(request: CompletionRequest, suggestion: Suggestion) -> CompletionRequest:
    """Return the request that would follow if *suggestion* was accepted."""
    edit = Edit(suggestion.start, suggestion.end, suggestion.text)
    document = apply_edits(request.document, [edit], request.document.version)
    position = after(suggestion.start, suggestion.text)
    cursor = cursor_at(document, position, request.path)
    return replace(
        request, document=document, position=position, cursor=cursor, invoked=False, selected=None
    )


def suggestion(request: CompletionRequest, candidate: Candidate, id: str) -> Suggestion | None:
    """Return the suggestion for a filtered *candidate*, None for an empty one."""
    if not candidate.text:
        return None
    start, end = request.position, _right_of(request.position, candidate.replaces)
    if request.selected is None:
        return Suggestion(id, start, end, candidate.text)
    selected = request.selected
    end = _right_of(selected.end, candidate.replaces)
    return Suggestion(id, selected.start, end, selected.text + candidate.text)


def _right_of(position: Position, n_characters: int) -> Position:
    return position._replace(column=position.column + n_characters)

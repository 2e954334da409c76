"""
The outcome of a request, as `fim/stats` counts it, into words: the source of a suggestion, or why
there is none. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fim_lsp.documents import DOCUMENT_CHARS
from server_bridge.protocol import is_bundled

SLOW = "slow"
TOO_LARGE, FAILED, NO_MODEL = "too large", "failed", "model failed"
TOY = "the bundled model, a toy for Python: `fim-lsp setup` gets a real one"
ENDS = {
    "automatic suggestions are off": "fim.completion.auto is false",
    "not sure": "the model was too unsure of its answer (fim.suggestions)",
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
    FAILED: "fim-lsp failed, which is a bug: its log has more",
    SLOW: "the model was not done when the editor's list was due; the next key may show its text",
    "too late": "the model did not answer in time (fim.completion.deadlineMs)",
}
# What a filter found where it left nothing of the model's answer.
FILTERED = {
    "invisible": "the model's answer has only characters that are not shown",
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
    "too late", "local", "too_short", SLOW,
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
    if outcome == NO_MODEL:
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
    return str(backend.get("message") or (is_bundled(str(backend.get("model"))) and TOY) or "")

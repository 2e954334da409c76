"""
How a request ended, as `fim/stats` counts it, into words: where a suggestion comes from, or why there is none. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server_bridge.weights.table import is_bundled

TOY = "the bundled model, a toy for Python: `fim-lsp setup` gets a real one"
ENDS = {
    "automatic suggestions are off": "fim.completion.auto is false",
    "not sure": "the model was too unsure of it (fim.completion.minConfidence)",
    "in a comment": "in comments none come by themselves (fim.completion.quietIn)",
    "in a string": "in strings none come by themselves (fim.completion.quietIn)",
    "inside a word": "the cursor is inside a word; they come at its end",
    "before other code": "code stands right of the cursor; they come at the end of a line, or before what closes it",
    "before the body of a block": "the block has its body already",
    "in a prompt": "this is a prompt or a chat; there none come by themselves",
    "not now": "you asked for quiet for a while (fim.snooze; fim.resume ends it)",
    "rarely taken": "you rarely took such ones lately (fim.completion.learn)",
    "in an empty text": "there is nothing in the file to go by",
    "after a deletion": "they come after something was typed, not after a deletion",
    "model": "the model says nothing here",
    "local": "no line in sight begins like this one, and the model could not be asked",
    "no commit message": "the model writes the first line of a commit message only, and there from what is staged",
    "not open": "the file is not open",
    "superseded": "the next key came before the answer",
    "too late": "the model did not answer in time (fim.completion.deadlineMs)",
}
# What a filter found where it left nothing of the model's answer.
FILTERED = {
    "special_tokens": "the model's answer began with a control token",
    "other_text": "the model began another file, a patch or a chat",
    "reindented": "the model's answer was only white space",
    "typed_again": "the model only said again what stands before the cursor",
    "stuttering": "the model said the same words again and again",
    "looping_lines": "the model said the line above once more",
    "extent": "the statement is whole as it stands",
    "lines_below": "the model said what stands below the cursor already",
    "closed_below": "the model closed a bracket that the next line closes",
    "opened_here": "the model closed a bracket around the lines below",
    "unfinished": "the model's answer broke off before its first word was whole",
    "broken_character": "the model's answer had half a character in it",
    "right_text": "the model said what stands right of the cursor already",
    "parses": "the model's answer broke off inside a string or a bracket",
    "empty_comment": "the model began a comment that says nothing",
    "trailing_space": "the model's answer was only white space",
    "too_short": "the model's answer is shorter than the key that accepts it",
}
# Ends of a request while typing that one by hand may not come to.
BY_HAND = frozenset({
    "automatic suggestions are off", "not sure", "in a comment", "in a string", "inside a word",
    "in a prompt", "not now", "rarely taken", "before other code", "after a deletion", "parses", "too late", "local",
})  # fmt: skip


def report(text: str, outcome: str, why: str, *, by_hand: bool) -> str:
    """What a request got, and *why* (`source`); or *why* it got nothing (`reason`), and whether to ask by hand."""
    if text:
        return f"{text!r}, by {why}"
    hint = "; ask by hand" if outcome in BY_HAND and not by_hand else ""
    return f"nothing: {why}{hint}"


def reason(outcome: str, backend: Mapping[str, Any]) -> str:
    """Why a request that ended so got nothing."""
    if outcome.startswith("private: "):
        return f"the file is private, nothing of it is used ({outcome.removeprefix('private: ')})"
    if outcome.startswith("Backend"):
        return backend.get("message") or "the model server could not answer"
    if outcome == "model" and backend.get("state") != "ready":
        return ENDS["local"]
    return FILTERED.get(outcome) or ENDS.get(outcome, outcome)


def source(outcome: str, backend: Mapping[str, Any]) -> str:
    """What made a suggestion of a request that ended so."""
    if outcome == "local":
        return "a line in sight that begins as this one does"
    where = "inside this package" if backend.get("kind") == "embedded" else backend.get("url")
    return f"{backend.get('model') or 'the model'} ({where})"


def notice(backend: Mapping[str, Any]) -> str:
    """What else is to be known of the model, "" for nothing."""
    if backend.get("state") == "loading":
        return "the model is still loading"
    if backend.get("state") != "ready":
        return str(backend.get("message") or f"the model server is {backend.get('state')}")
    return TOY if is_bundled(str(backend.get("model"))) else ""

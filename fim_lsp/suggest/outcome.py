"""
How a request ended, as `fim/stats` counts it, into words: where a suggestion comes from, or why there is none. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fim_lsp.suggest.filters import FILTERS

ENDS = {
    "automatic suggestions are off": "fim.completion.auto is false",
    "not sure": "the model was too unsure of it (fim.completion.minConfidence)",
    "in a comment": "in comments none come by themselves (fim.completion.quietIn)",
    "in a string": "in strings none come by themselves (fim.completion.quietIn)",
    "inside a word": "the cursor is inside a word; they come at its end",
    "before other code": "code stands right of the cursor; they come at the end of a line, or before what closes it",
    "before the body of a block": "the block has its body already",
    "in an empty text": "there is nothing in the file to go by",
    "after a deletion": "they come after something was typed, not after a deletion",
    "model": "the model says nothing here",
    "local": "no line in sight begins like this one, and the model could not be asked",
    "not open": "the file is not open",
    "superseded": "the next key came before the answer",
}
FILTER_SAYS = {each.__name__: (each.__doc__ or "").strip().partition(".")[0] for each in FILTERS}


def reason(outcome: str, backend: Mapping[str, Any]) -> str:
    """Why a request that ended so got nothing."""
    if outcome.startswith("private: "):
        return f"the file is private, nothing of it is used ({outcome.removeprefix('private: ')})"
    if outcome.startswith("Backend"):
        return backend.get("message") or "the model server could not answer"
    if outcome in FILTER_SAYS:
        return (
            f"filter {outcome} left nothing of what the model said: {FILTER_SAYS[outcome].lower()}"
        )
    if outcome == "model" and backend.get("state") != "ready":
        return ENDS["local"]
    return ENDS.get(outcome, outcome)


def source(outcome: str, backend: Mapping[str, Any]) -> str:
    """What made a suggestion of a request that ended so."""
    if outcome == "local":
        return "a line in sight that begins as this one does"
    where = "inside this package" if backend.get("kind") == "embedded" else backend.get("url")
    return f"{backend.get('model') or 'the model'} ({where})"

"""
`fim-lsp complete --why`: where a suggestion comes from, or which rule says that there is none.

The real server is asked twice, as by an editor while its user types and as by hand; how each request
ended is what it counts in `fim/stats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fim_lsp.cli.client import Answer
from fim_lsp.suggest.filters import FILTERS
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
    "in an empty text": "there is nothing in the file to go by",
    "after a deletion": "they come after something was typed, not after a deletion",
    "model": "the model says nothing here",
    "local": "no line in sight begins like this one, and the model could not be asked",
    "not open": "the file is not open",
}
FILTER_SAYS = {each.__name__: (each.__doc__ or "").strip().partition(".")[0] for each in FILTERS}


class Tried(NamedTuple):
    """One request: what came, and how it ended, as `fim/stats` counts it."""

    answer: Answer
    outcome: str


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


def lines(place: str, all_tried: Sequence[Tried], backend: Mapping[str, Any]) -> list[str]:
    """The report on *place*, where it was tried while typing and then, with a model, by hand."""
    found = [place]
    for title, tried in zip(("while typing", "by hand"), all_tried, strict=False):
        said = tried.answer.suggestions
        if said:
            found.append(f"  {title:<13} {said[0].text!r}, by {source(tried.outcome, backend)}")
        else:
            found.append(f"  {title:<13} nothing: {reason(tried.outcome, backend)}")
    if backend.get("state") != "ready":
        found.append(f"  {'the model':<13} {backend.get('message') or backend.get('state')}")
    elif is_bundled(str(backend.get("model"))):
        found.append(f"  {'the model':<13} {TOY}")
    return found

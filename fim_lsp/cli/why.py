"""
`fim-lsp complete --why`: where a suggestion comes from, or which rule says that there is none.

The real server is asked twice, as by an editor while its user types and as by hand; how each request
ended is what it counts in `fim/stats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fim_lsp.cli.client import Answer
from fim_lsp.suggest.outcome import reason, source
from server_bridge.weights.table import is_bundled

TOY = "the bundled model, a toy for Python: `fim-lsp setup` gets a real one"


class Tried(NamedTuple):
    """One request: what came, and how it ended, as `fim/stats` counts it."""

    answer: Answer
    outcome: str


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

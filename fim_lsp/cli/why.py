"""
`fim-lsp complete --why`: where a suggestion comes from, or which rule says that there is none.

The real server is asked twice, as by an editor while its user types and as by hand; how each request
ended is the `last` of `fim/stats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fim_lsp.cli.client import Answer
from fim_lsp.suggest.outcome import notice, report


class Tried(NamedTuple):
    """One request, *by_hand* or as while typing: what came, how it ended, and why."""

    answer: Answer
    outcome: str
    reason: str
    by_hand: bool


def rows(all_tried: Sequence[Tried], backend: Mapping[str, Any]) -> dict[str, str]:
    """What each request got, by its title, and what else is to be known of the model."""
    found = {}
    for tried in all_tried:
        said = tried.answer.suggestions
        title = "by hand" if tried.by_hand else "while typing"
        text = said[0].text if said else ""
        found[title] = report(text, tried.outcome, tried.reason, by_hand=tried.by_hand)
    if note := notice(backend):
        found["the model"] = note
    return found


def lines(place: str, all_tried: Sequence[Tried], backend: Mapping[str, Any]) -> list[str]:
    """The report on *place*, to read."""
    return [place, *(f"  {title:<13} {said}" for title, said in rows(all_tried, backend).items())]

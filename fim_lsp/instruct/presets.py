"""
Instructions that need not be typed: for a selection, and for what another server says is wrong. Data and words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fim_lsp.display import shown

TITLE_CHARS = 60
MOST_PROBLEMS = 3  # of a place; the first is often the cause of the others
MESSAGE_CHARS = 400


class Preset(NamedTuple):
    """What a menu says, and what the model is told."""

    title: str
    instruction: str


SELECTED = (
    Preset(
        "Document this",
        "Add documentation to this code in the usual form of its language: a docstring or a comment that says "
        "what it does, its parameters and its result. Change nothing else.",
    ),
    Preset(
        "Add types",
        "Add type annotations to the parameters, the results and the variables that need them. Change nothing else.",
    ),
    Preset(
        "Follow the comment above",
        "The first comment in these lines, or right above them, says how to change them. Do that, and remove "
        "the comment.",
    ),
)


class Definition(NamedTuple):
    """Code from elsewhere that a problem is about."""

    path: str
    text: str


def fix(problems: Sequence[str], definitions: Sequence[Definition] = ()) -> Preset:
    """How to have *problems* fixed, each the message of a diagnostic."""
    told = [shown(problem, MESSAGE_CHARS) for problem in problems[:MOST_PROBLEMS]]
    parts = ["Fix this problem, and change nothing else:", *(f"- {each}" for each in told)]
    for path, text in definitions:
        parts.append(f"For this, from {path}, which stays as it is:\n{text}")
    return Preset(f"Fix: {shown(problems[0], TITLE_CHARS)}", "\n".join(parts))

"""
Instructions that need not be typed: for a selection, and for what another server says is wrong.
Data and words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fim_lsp.context.secrets.scan import scrub_text
from fim_lsp.display import sanitize

TITLE_CHARS = 60
MOST_PROBLEMS = 3  # of a place; the first is often the cause of the others
MESSAGE_CHARS = 400
# of a message, for secrets: one that is cut off is not known any more
LOOKED_AT = 4 * MESSAGE_CHARS


class Preset(NamedTuple):
    """The title in a menu, and the instruction for the model."""

    title: str
    instruction: str


SELECTED = (
    Preset(
        "Document this",
        "Add documentation to this code in the usual form of its language: a docstring or a "
        "comment that says "
        "what it does, its parameters and its result. Change nothing else.",
    ),
    Preset(
        "Add types",
        "Add type annotations to the parameters, the results and the variables that need them. "
        "Change nothing else.",
    ),
    Preset(
        "Follow the comment above",
        "The first comment in these lines, or right above them, says how to change them. Do that, "
        "and remove "
        "the comment.",
    ),
)


def fix(problems: Sequence[str]) -> Preset:
    """Return the instruction to fix *problems*, each the message of a diagnostic."""
    clean = (scrub_text(problem[:LOOKED_AT]) for problem in problems[:MOST_PROBLEMS])
    shown = [sanitize(problem, MESSAGE_CHARS) for problem in clean]
    parts = ["Fix this problem, and change nothing else:", *(f"- {message}" for message in shown)]
    return Preset(f"Fix: {sanitize(problems[0], TITLE_CHARS)}", "\n".join(parts))

"""A model for next edits by its name: what it is sent, and its answers into proposals. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from fim_lsp.documents import alike
from fim_lsp.next_edit import sweep, zeta
from fim_lsp.next_edit.edits import Lines, Text, adds_errors
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.window import Ask

ANSWER_TOKENS = 400  # a region has 350 at most, and the marks around it
REPEATED = 3  # times that a line comes, and came less often before: the model loops
REPEATED_CHARS = 8  # without white space; `}` and `else:` repeat in honest code


class Format(NamedTuple):
    """A family of *models*, a pattern of names; *special* in the user's text would be read as its own."""

    models: re.Pattern[str]
    prompt: Callable[[Ask], str]
    answer: Callable[[Ask, str], Lines | None]
    stops: tuple[str, ...]
    special: tuple[str, ...]


_ZETA = zeta.STOPS, zeta.SPECIAL
_ZETA_2_1 = re.compile(r"zeta-?2[._-]?1", re.IGNORECASE)
_ZETA_2 = re.compile(r"zeta-?2", re.IGNORECASE)
_SWEEP = re.compile(r"sweep", re.IGNORECASE)
FORMATS = (
    Format(_ZETA_2_1, zeta.prompt_with_markers, zeta.answer_with_markers, *_ZETA),
    Format(_ZETA_2, zeta.prompt, zeta.answer, *_ZETA),
    Format(_SWEEP, sweep.prompt, sweep.answer, sweep.STOPS, sweep.SPECIAL),
)


def format_of(model: str) -> Format | None:
    """Return the format of a model; None where its name is not known."""
    return next((each for each in FORMATS if each.models.search(model)), None)


def prompt_of(asked: Format, ask: Ask) -> str | None:
    """Return the prompt; None where the user's text holds one of the model's own marks."""
    given = [ask.path, *ask.shown, *ask.then, *ask.now, *ask.above]
    for edit in (*ask.edits, ask.newest):
        given += (edit.path, *edit.before, *edit.after)
    if any(mark in line for line in given for mark in asked.special):
        return None
    return asked.prompt(ask)


def proposal_of(asked: Format, ask: Ask, text: str, document: Text) -> Proposal | None:
    """Return the proposal in the answer *text* for *document*; None where it changes nothing, or is unusable."""
    made = asked.answer(ask, text)
    if made is None or made in (ask.now, ask.then) or _loops(made, ask.now):
        return None
    above, below = alike(ask.now, made)
    line, before = ask.line + above, ask.now[above : len(ask.now) - below]
    after = made[above : len(made) - below]
    if adds_errors(document, line, before, after):
        return None
    return Proposal(document.uri, line, before, after)


def _loops(made: Lines, now: Lines) -> bool:
    counts, before = Counter(map(str.strip, made)), Counter(map(str.strip, now))
    return any(
        n >= REPEATED and n > before[line] and len("".join(line.split())) >= REPEATED_CHARS
        for line, n in counts.items()
    )

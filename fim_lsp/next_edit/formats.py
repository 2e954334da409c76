"""
A model for next edits by its name: what it is sent, and its answers into proposals. Pure.

Sweep: the format of sweep-next-edit (0.5B, 1.5B, v2-7B): prompts for it, and its answers into
lines.

Sources: the model cards of sweepai/sweep-next-edit, and Zed's
crates/edit_prediction/src/sweep_prompt.rs. The model rewrites a window of lines, given its text
before and after the newest edit. The lines above the cursor are given to it as the beginning of its
answer.

Zeta: the formats of zeta-2 and zeta-2.1: prompts for them, and their answers into lines.

Source: Zed's crates/zeta_prompt (`V0211SeedCoder` in seed_coder.rs, `V0318SeedMultiRegions` in
multi_region.rs). The models are Seed-Coder, so the text after the region stands first; it would be
another one for each ask, and with it all else, so none is sent there: the file as it was first
shown stands among the related files, which do not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

from fim_lsp.documents import alike
from fim_lsp.next_edit.edits import EditedText, Lines, adds_errors
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.window import Ask, NamedEdit, with_cursor

SWEEP_STOPS = ("<|file_sep|>", "<|endoftext|>")
SWEEP_SPECIAL = ("<|file_sep|>", "<|endoftext|>", "</s>")
FIRST_ALIKE = 0.25
LAST_ALIKE = 0.75
"""How alike the first and the last line of an answer must be to those of the window; less is text
of another place, or the end was cut off. The numbers are those of cursortab, a client of the
model."""


def sweep_prompt(ask: Ask) -> str:
    """Return the prompt."""
    parts = [_file(ask.path, ask.shown)]
    parts += (
        _file(f"{edit.path}.diff", ("original:", *edit.before, "updated:", *edit.after))
        for edit in ask.edits
    )
    where = f"{ask.path}:{ask.line + 1}:"
    now = with_cursor(ask, "<|cursor|>")
    parts.append(_file(f"original/{where}{ask.line + len(ask.then)}", ask.then))
    parts.append(_file(f"current/{where}{ask.line + len(now)}", now))
    parts.append(_file(f"updated/{where}{ask.line + len(now)}", _begin_answer(ask)))
    return "".join(parts)


def sweep_answer(ask: Ask, text: str) -> Lines | None:
    """Return the window rewritten; None where the answer has no such text."""
    for stop in SWEEP_SPECIAL:
        text = text.partition(stop)[0]
    begun = _begin_answer(ask)
    made = text.removesuffix("\n").split("\n")
    rest = ask.now[len(begun) :]
    if not text.strip() or "<|" in text:
        return None
    if _alike(made[0], rest[0]) < FIRST_ALIKE or _alike(made[-1], rest[-1]) < LAST_ALIKE:
        return None
    return (*begun, *made)


def _begin_answer(ask: Ask) -> Lines:
    """
    Return the beginning of the answer: all above the cursor, or a line where lines came above it.
    """
    came = len(ask.newest.after) > len(ask.newest.before)
    return ask.now[: min(1, ask.row) if came else ask.row]


def _alike(one: str, other: str) -> float:
    return SequenceMatcher(None, one.strip(), other.strip(), autojunk=False).ratio()


def _file(name: str, lines: Iterable[str]) -> str:
    return f"<|file_sep|>{name}\n" + "".join(f"{line}\n" for line in lines)


SUFFIX = "<[fim-suffix]>"
PREFIX = "<[fim-prefix]>"
MIDDLE = "<[fim-middle]>"
FILE = "<filename>"
CURSOR = "<|user_cursor|>"
START = "<<<<<<< CURRENT"
SEPARATOR = "======="
END = ">>>>>>> UPDATED"
END_OF_TEXT = "<[end▁of▁sentence]>"
ZETA_STOPS = (END, END_OF_TEXT, FILE, "<[fim-")
NO_EDITS = "NO_EDITS"
KEEP = "KEEP_PREVIOUS"
MARKER = re.compile(r"<\|marker_(\d+)\|>")
ZETA_SPECIAL = (CURSOR, FILE, "<[fim-", START, END)


def zeta_prompt(ask: Ask) -> str:
    """Return the prompt for zeta-2."""
    return _prompt(ask, f"{START}\n{_region(ask)}{SEPARATOR}\n")


def prompt_with_markers(ask: Ask) -> str:
    """Return the prompt for zeta-2.1: so short a region is one block."""
    return _prompt(ask, f"<|marker_1|>{_region(ask)}<|marker_2|>\n")


def zeta_answer(ask: Ask, text: str) -> Lines | None:
    """Return the region as zeta-2 rewrote it; None for no edit, and for an unusable answer."""
    text = text.partition(END)[0].replace(CURSOR, "")
    if text.strip() in ("", NO_EDITS, KEEP) or any(mark in text for mark in ZETA_SPECIAL):
        return None
    lines = tuple(text.removesuffix("\n").split("\n"))
    return None if lines == ask.now else lines


def answer_with_markers(ask: Ask, text: str) -> Lines | None:
    """
    Return the same of zeta-2.1: what stands between the two marks; the same mark twice is no edit.
    """
    text = text.partition(END_OF_TEXT)[0]
    marks = [*MARKER.finditer(text)]
    if [mark[1] for mark in marks] != ["1", "2"] or text[: marks[0].start()].strip():
        return None
    return zeta_answer(ask, text[marks[0].end() : marks[1].start()])


def _prompt(ask: Ask, region: str) -> str:
    file = "".join(f"{line}\n" for line in ask.shown)
    events = "".join(map(_event, (*ask.edits, ask.newest)))
    above = "".join(f"{line}\n" for line in ask.above)
    return (
        f"{SUFFIX}\n{PREFIX}{FILE}{ask.path}\n{file}\n"
        f"{FILE}edit_history\n{events}\n"
        f"{FILE}{ask.path}\n{above}{region}{MIDDLE}"
    )


def _region(ask: Ask) -> str:
    return "".join(f"{line}\n" for line in with_cursor(ask, CURSOR))


def _event(edit: NamedEdit) -> str:
    """Return a unified diff without lines around."""
    old = len(edit.before)
    new = len(edit.after)
    lines = (*(f"-{line}" for line in edit.before), *(f"+{line}" for line in edit.after))
    hunk = f"@@ -{edit.line + 1},{old} +{edit.line + 1},{new} @@"
    return "\n".join((f"--- a/{edit.path}", f"+++ b/{edit.path}", hunk, *lines, ""))


ANSWER_TOKENS = 400  # a region has 350 at most, and the marks around it
REPEATED = 3  # times that a line comes, and came less often before: the model loops
REPEATED_CHARS = 8  # without white space; `}` and `else:` repeat in honest code


class Format(NamedTuple):
    """
    A family of *models*, a pattern of names; *special* in the user's text would be read as its own.
    """

    models: re.Pattern[str]
    prompt: Callable[[Ask], str]
    answer: Callable[[Ask, str], Lines | None]
    stops: tuple[str, ...]
    special: tuple[str, ...]


_ZETA = ZETA_STOPS, ZETA_SPECIAL
_ZETA_2_1 = re.compile(r"zeta-?2[._-]?1", re.IGNORECASE)
_ZETA_2 = re.compile(r"zeta-?2", re.IGNORECASE)
_SWEEP = re.compile(r"sweep", re.IGNORECASE)
FORMATS = (
    Format(_ZETA_2_1, prompt_with_markers, answer_with_markers, *_ZETA),
    Format(_ZETA_2, zeta_prompt, zeta_answer, *_ZETA),
    Format(_SWEEP, sweep_prompt, sweep_answer, SWEEP_STOPS, SWEEP_SPECIAL),
)


def format_of(model: str) -> Format | None:
    """Return the format of a model; None where its name is not known."""
    return next((row for row in FORMATS if row.models.search(model)), None)


def prompt_of(family: Format, ask: Ask) -> str | None:
    """Return the prompt; None where the user's text holds one of the model's own marks."""
    lines = [ask.path, *ask.shown, *ask.then, *ask.now, *ask.above]
    for edit in (*ask.edits, ask.newest):
        lines += (edit.path, *edit.before, *edit.after)
    if any(mark in line for line in lines for mark in family.special):
        return None
    return family.prompt(ask)


def proposal_of(family: Format, ask: Ask, text: str, document: EditedText) -> Proposal | None:
    """
    Return the proposal in the answer *text* for *document*; None where it changes nothing, or is
    unusable.
    """
    made = family.answer(ask, text)
    if made is None or made in (ask.now, ask.then) or _loops(made, ask.now):
        return None
    above, below = alike(ask.now, made)
    line = ask.line + above
    before = ask.now[above : len(ask.now) - below]
    after = made[above : len(made) - below]
    if adds_errors(document, line, before, after):
        return None
    return Proposal(document.uri, line, before, after)


def _loops(made: Lines, now: Lines) -> bool:
    counts = Counter(map(str.strip, made))
    before = Counter(map(str.strip, now))
    return any(
        n >= REPEATED and n > before[line] and len("".join(line.split())) >= REPEATED_CHARS
        for line, n in counts.items()
    )

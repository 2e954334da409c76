"""
The format of sweep-next-edit (0.5B, 1.5B, v2-7B): prompts for it, and its answers into lines. Pure.

Sources: the model cards of sweepai/sweep-next-edit, and Zed's crates/edit_prediction/src/sweep_prompt.rs.
The model rewrites a window of lines, given its text before and after the newest edit. The lines above
the cursor are given to it as the beginning of its answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from fim_lsp.next_edit.edits import Lines
from fim_lsp.next_edit.window import Ask, with_cursor

STOPS = ("<|file_sep|>", "<|endoftext|>")
SPECIAL = ("<|file_sep|>", "<|endoftext|>", "</s>")
FIRST_ALIKE, LAST_ALIKE = 0.25, 0.75
"""How alike the first and the last line of an answer must be to those of the window; less is text of
another place, or the end was cut off. The numbers are those of cursortab, a client of the model."""


def prompt(ask: Ask) -> str:
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


def answer(ask: Ask, text: str) -> Lines | None:
    """Return the window rewritten; None where the answer is none."""
    for stop in SPECIAL:
        text = text.partition(stop)[0]
    given, made = _begin_answer(ask), text.removesuffix("\n").split("\n")
    rest = ask.now[len(given) :]
    if not text.strip() or "<|" in text:
        return None
    if _alike(made[0], rest[0]) < FIRST_ALIKE or _alike(made[-1], rest[-1]) < LAST_ALIKE:
        return None
    return (*given, *made)


def _begin_answer(ask: Ask) -> Lines:
    """Return the beginning of the answer: all above the cursor, or a line where lines came above it."""
    came = len(ask.newest.after) > len(ask.newest.before)
    return ask.now[: min(1, ask.row) if came else ask.row]


def _alike(one: str, other: str) -> float:
    return SequenceMatcher(None, one.strip(), other.strip(), autojunk=False).ratio()


def _file(name: str, lines: Iterable[str]) -> str:
    return f"<|file_sep|>{name}\n" + "".join(f"{line}\n" for line in lines)

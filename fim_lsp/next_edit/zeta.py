"""
The formats of zeta-2 and zeta-2.1: prompts for them, and their answers into lines. Pure.

Source: Zed's crates/zeta_prompt (`V0211SeedCoder` in seed_coder.rs, `V0318SeedMultiRegions` in
multi_region.rs). The models are Seed-Coder, so the text after the region stands first; it would be
another one for each ask, and with it all else, so none is sent there: the file as it was first shown
stands among the related files, which do not change.
"""

from __future__ import annotations

import re

from fim_lsp.next_edit.edits import Lines
from fim_lsp.next_edit.window import Ask, Edit, with_cursor

SUFFIX, PREFIX, MIDDLE = "<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>"
FILE, CURSOR = "<filename>", "<|user_cursor|>"
START, SEPARATOR, END = "<<<<<<< CURRENT", "=======", ">>>>>>> UPDATED"
END_OF_TEXT = "<[end▁of▁sentence]>"
STOPS = (END, END_OF_TEXT, FILE, "<[fim-")
NO_EDITS, KEEP = "NO_EDITS", "KEEP_PREVIOUS"
MARKER = re.compile(r"<\|marker_(\d+)\|>")
SPECIAL = (CURSOR, FILE, "<[fim-", START, END)


def prompt(ask: Ask) -> str:
    """Return the prompt for zeta-2."""
    return _prompt(ask, f"{START}\n{_region(ask)}{SEPARATOR}\n")


def prompt_with_markers(ask: Ask) -> str:
    """Return the prompt for zeta-2.1: so short a region is one block."""
    return _prompt(ask, f"<|marker_1|>{_region(ask)}<|marker_2|>\n")


def answer(ask: Ask, text: str) -> Lines | None:
    """Return the region as zeta-2 rewrote it; None for no edit, and for an unusable answer."""
    text = text.partition(END)[0].replace(CURSOR, "")
    if text.strip() in ("", NO_EDITS, KEEP) or any(mark in text for mark in SPECIAL):
        return None
    lines = tuple(text.removesuffix("\n").split("\n"))
    return None if lines == ask.now else lines


def answer_with_markers(ask: Ask, text: str) -> Lines | None:
    """Return the same of zeta-2.1: what stands between the two marks; the same mark twice is no edit."""
    text = text.partition(END_OF_TEXT)[0]
    marks = [*MARKER.finditer(text)]
    if [mark[1] for mark in marks] != ["1", "2"] or text[: marks[0].start()].strip():
        return None
    return answer(ask, text[marks[0].end() : marks[1].start()])


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


def _event(edit: Edit) -> str:
    """Return a unified diff without lines around."""
    old, new = len(edit.before), len(edit.after)
    lines = (*(f"-{line}" for line in edit.before), *(f"+{line}" for line in edit.after))
    hunk = f"@@ -{edit.line + 1},{old} +{edit.line + 1},{new} @@"
    return "\n".join((f"--- a/{edit.path}", f"+++ b/{edit.path}", hunk, *lines, ""))

"""
Zed's zeta2 prompts: where the cursor is in them, and an insertion as the answer that Zed expects. Pure.

Such a prompt asks to write a region of a file again; a completion is the region with the text put in at the cursor.
The last edits stand in it as diffs. These are not read: each of them was a request of its own, whose text shows it.

    <[fim-suffix]>text below the region<[fim-prefix]><filename>edit_history …<filename>path
    text above the region
    <<<<<<< CURRENT
    the region, with <|user_cursor|> in it
    =======
    <[fim-middle]>

Source: Zed, crates/zeta_prompt/src/seed_coder.rs (format V0211SeedCoder).
"""

from __future__ import annotations

from typing import NamedTuple

from fim_lsp.http_server.excerpt import Excerpt
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.formats import CURSOR, END, FILE, NO_EDITS, PREFIX, SEPARATOR, START, SUFFIX


class Region(NamedTuple):
    """The region that may be written again, on both sides of the cursor."""

    before: str
    after: str


def read(prompt: str) -> tuple[Excerpt, Region] | None:
    """Return the text around the cursor of a zeta2 prompt, and the region; None where it is no such prompt."""
    head, start, rest = prompt.rpartition(f"{START}\n")
    region, separator, _ = rest.rpartition(f"{SEPARATOR}\n")
    before, cursor, after = region.partition(CURSOR)
    below, prefix, files = head.partition(PREFIX)
    if not (start and separator and cursor and prefix and below.startswith(SUFFIX)):
        return None
    path, _, above = files.rpartition(FILE)[2].partition("\n")
    below = below.removeprefix(SUFFIX)
    if below == "\n":  # Zed writes it where there is nothing
        below = ""
    excerpt = Excerpt(above + before, after + below, path)
    return excerpt, Region(before, after)


def rewrite(region: Region, first: int, edit: Proposal) -> str:
    """
    Return the region, which begins at line *first*, with the next *edit* in it; "" where that is elsewhere.
    """
    lines = (region.before + region.after).removesuffix("\n").split("\n")
    at, n_lines = edit.line - first, len(edit.before)
    if at < 0 or tuple(lines[at : at + n_lines]) != edit.before:
        return ""
    lines[at : at + n_lines] = edit.after
    return "".join(f"{line}\n" for line in lines) + f"{END}\n"


def answer(region: Region, text: str) -> str:
    """Return the region with *text* at the cursor, and the cursor behind it."""
    if not text:
        return f"{NO_EDITS}\n{END}\n"
    after = region.after if region.after.endswith("\n") else region.after + "\n"
    return region.before + text + f"{CURSOR}{after}{END}\n"

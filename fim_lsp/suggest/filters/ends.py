"""
Filters for where a suggestion ends: where its statement or block is whole, where the model is not
sure any more, and where a budget broke it off.
"""

from __future__ import annotations

import re
from dataclasses import replace

from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import likely
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.seam import right_text
from fim_lsp.suggest.lines import WORD, find_unclosed, open_quote, opens_block

# More must follow: `x = a +`, `import os as`.
OPERATOR = re.compile(r"\s(?:[-+*/%=<>&|^!?:]{1,3}|and|or|in|is|as|instanceof|extends)$")
MOST_ENDS = 12  # that are taken away one after the other; of a text that has more nothing is left


def extent(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut where the line, the statement or the block is whole."""
    end = boundary.end(candidate.text, cursor)
    if end is None or (end >= len(candidate.text.rstrip()) and candidate.whole):
        return candidate
    return candidate.cut(end, f"end of the {boundary.extent(cursor).value}")


def not_sure(candidate: Candidate, cursor: Cursor, sure: float) -> Candidate:
    """
    Cut where the model is not *sure* any more (`likely`): behind a line, in the first line behind a
    word.
    """
    left = likely(candidate, sure)
    if left is candidate:
        return candidate
    newline = left.text.rfind("\n")
    if left.text[:newline].strip() and newline > 0 and candidate.text[len(left.text)] != "\n":
        left = replace(left, text=left.text[:newline])
    text = standing(left.text, cursor).rstrip()
    left = right_text(replace(left, text=text, replaces=0), cursor)
    return replace(left, whole=True, why="what follows is not sure")


def unfinished(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Drop the line, or in a single line the word, in which a budget ended the text."""
    text = candidate.text.rstrip("\ufffd")  # half a character
    if candidate.whole or not text:
        return candidate
    newline = text.rfind("\n")
    if text[:newline].strip() and newline > 0:
        text = standing(text[:newline], cursor)
        return candidate.cut(len(text), "the last line is not finished")
    word = WORD.match(text[::-1])
    text = standing(text[: len(text) - (word.end() if word else 0)], cursor)
    return candidate.cut(len(text), "the last word is not finished")


def standing(text: str, cursor: Cursor) -> str:
    """
    Return *text* up to where its last line stands: it ends behind no operator, and within no
    bracket or quote that it opens, but for those that hold the lines below them.
    """
    language = cursor.language
    n_before = len(cursor.before)
    for _ in range(MOST_ENDS):
        so_far = (cursor.before + text).rstrip()
        end = len(so_far)
        for at, _ in reversed(find_unclosed(so_far, language)):
            inside, _, below = so_far[at + 1 :].partition("\n")
            holds_lines = below or opens_block(so_far[: at + 1], language)
            if at < n_before or (holds_lines and not inside.strip()):
                break
            end = at
        kept = so_far[:end].rstrip()
        kept = OPERATOR.sub("", kept.removesuffix(open_quote(kept, language)))
        if kept == so_far or not text.strip():
            return text
        kept = kept[n_before:]
        above = kept.rpartition("\n")[0]
        text = above if above.strip() else kept
    return ""

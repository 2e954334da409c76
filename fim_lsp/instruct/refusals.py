"""Why an answer is not applied: an edit does what was asked, or nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fim_lsp.context.secrets.scan import BLOT
from fim_lsp.display import sanitize
from fim_lsp.documents import LINE_CHARS, Document, body
from fim_lsp.instruct.blocks import MARKUP, NO_BLOCK, TOO_LARGE, Found, is_left_open, longest_fence
from fim_lsp.instruct.dialogue import Dialogue, Selection
from fim_lsp.instruct.placeholders import find_placeholder
from fim_lsp.next_edit.edits import CountErrors, adds_errors, text_of
from fim_lsp.suggest.lines import is_closed_triple, mark, scanner

REDACTED = "the lines hold what looks like a secret, and the answer would have changed it"
UNCHANGED = "the model changed nothing"
EMPTY = "the model's answer is empty, and the instruction asks for no deletion"
ERROR = "the model's answer would add a syntax error"
OPEN_FENCE = "the model's answer ends inside a fenced block"
OPEN_TEXT = "the model's answer ends inside a string or a comment"
CONTROL = "the model's answer has control characters"

LINE_GROWTH = 10  # times the longest line that was shown, from `LINE_CHARS` on
SHOWN_CHARS = 60  # of a placeholder

_CONTROL = re.compile(r"[\0-\x08\x0e-\x1f\x7f]")
_DELETES = re.compile(
    r"delet|remov|\bdrop|\bclear|\beras|\bstrip\b|\bcut\b|discard|\bget rid|\bempty|\bwipe|eliminat"
    r"|throw|unused|(?:never|not) used|unreachable|redundant|duplicate|superfluous|unnecessary"
    r"|dead code|l[öo]e?sch|entfern|supprim|effac|enl[eè]v|borra|elimina|quita|apag|cancell|rimuov"
    r"|usu[nń]|verwijder|удал|删|移除|去掉|削除|消|삭제|제거",
    re.IGNORECASE,
)
# Marks that begin and end a text of several lines, besides three quotes.
_LONG = {"lua": ("--[[", "]]"), "ruby": ("=begin", "=end"), "haskell": ("{-", "-}")}
_MARKED = ("<!--", "-->")
_UNQUOTED = frozenset(("plaintext", "restructuredtext", "git-commit", "latex", "tex"))


class Refusal(NamedTuple):
    """Why an answer is not applied; *again*: the model may do better if it is asked once more."""

    why: str
    again: bool = False


def find_refusal(
    found: Found,
    lines: tuple[str, ...],
    dialogue: Dialogue,
    document: Document,
    replaced: Selection,
    count: CountErrors | None = None,
) -> Refusal | None:
    """
    Return why *lines*, made of the block *found* in the answer to a *dialogue*, are not to take the
    place of those *replaced* in *document*; None where they are. *count*: see `adds_errors`.
    """
    if found.why:
        return Refusal(found.why, again=found.why not in (NO_BLOCK, TOO_LARGE))
    is_empty = not any(map(str.strip, lines))
    is_meant = not is_empty or _DELETES.search(dialogue.instruction)
    why = _why_odd(found.lines, replaced) if is_meant else EMPTY
    placeholder = "" if why else find_placeholder(lines, replaced.clean, document.language)
    if placeholder:
        left_out = sanitize(placeholder, SHOWN_CHARS)
        return Refusal(f"the model left lines out, and wrote: {left_out}", again=True)
    if not why and loses_secret(dialogue.selection, lines):
        why = REDACTED
    if not why and lines == replaced.lines:
        why = UNCHANGED
    why = why or _why_open(lines, document, replaced)
    if not why and adds_errors(text_of(document), replaced.first, replaced.lines, lines, count):
        why = ERROR
    return Refusal(why) if why else None


def loses_secret(selection: Selection, lines: Sequence[str]) -> bool:
    """
    Return whether *lines* have a blot where the selection has a secret, or the instruction had one.
    """
    n_own = sum(line.count(BLOT) for line in selection.lines)
    return sum(line.count(BLOT) for line in lines) > n_own


def _why_odd(lines: Sequence[str], replaced: Selection) -> str:
    """Return why *lines* are no text that a user would write."""
    longest = max(map(len, replaced.clean), default=0)
    most = max(LINE_CHARS, longest) * LINE_GROWTH
    if any(len(line) > most for line in lines):
        return TOO_LARGE
    own = {*_CONTROL.findall("".join(replaced.lines))}
    is_odd = any(sign not in own for line in lines for sign in _CONTROL.findall(line))
    return CONTROL if is_odd else ""


def _why_open(lines: Sequence[str], document: Document, replaced: Selection) -> str:
    """Return what the selection closes and *lines* leave open, so that it would go on below."""
    if document.language in MARKUP or longest_fence(replaced.clean):
        above = [body(line) for line in document.lines[: replaced.first]]
        if is_left_open([*above, *lines]) and not is_left_open([*above, *replaced.lines]):
            return OPEN_FENCE
    left_open = _find_open(lines, document.language)
    return OPEN_TEXT if left_open and not _find_open(replaced.lines, document.language) else ""


def _find_open(lines: Sequence[str], language: str) -> bool:
    """Return whether *lines* end within a string or a comment of several lines."""
    if language in _UNQUOTED:
        return False
    text = "\n".join(lines)
    begin, end = _LONG.get(language, _MARKED)
    is_open = text.rfind(begin) > text.rfind(end) and (language in _LONG or mark(language) == "")
    if language in MARKUP:
        return is_open
    last = None
    for match in scanner(language).finditer(text):
        last = match["skip"] if match.end() == len(text) else None
    if last is not None and last.startswith(('"""', "'''")):
        return not is_closed_triple(last)
    if last is not None and last.startswith("/*"):
        return not last.endswith("*/") or len(last) < len("/**/")
    return is_open

"""Filters against what is no code of this file: control tokens, other files, what is not shown."""

from __future__ import annotations

import re

from fim_lsp.display import drop_invisible
from fim_lsp.suggest.cursor import Candidate, Cursor
from server_bridge.fim.tokens import MARK

STRUCK = re.compile(r"</?s>")  # struck text in HTML, or CodeLlama's end
QUOTES = "\"'`"

# The model begins another file, a patch or an answer to a chat.
OTHER_TEXT = re.compile(r"^(?:diff --git |@@ -\d|<{7} |>{7} |```|\+{5} \S)", re.MULTILINE)
PATH_LINE = re.compile(
    r"^[ \t]{0,40}(?:#|//|--|;|%|/\*){1,80}[ \t]{0,8}(?:(?:path|file|filename):[ \t]{0,8})?"
    r"(?P<path>[\w.-]{0,100}(?:[\\/][\w.-]{1,100}){1,20}\.\w{1,5}|[\w-]{1,100}\.\w{1,5})[ "
    r"\t]{0,8}(?:\*/)?$",
    re.MULTILINE | re.IGNORECASE,
)


def invisible(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Drop characters that the user would not see, unless the text around has them; line separators
    become line ends.
    """
    last = cursor.before[-1:]
    meant = around(cursor)  # a joiner joins what stands before it
    text = drop_invisible(last + candidate.text, meant).removeprefix(last)
    for separator in "\u2028\u2029":
        text = text if separator in meant else text.replace(separator, "\n")
    return candidate.change(text, "has characters that are not shown")


def special_tokens(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Cut at a control token of any family, unless the text around is about them, or it is a whole
    string.
    """
    text = candidate.text
    others = around(cursor)
    for match in MARK.finditer(text):
        start, end = match.span()
        before = (cursor.before + text[:start])[-1:]
        is_string = before in QUOTES and text[end : end + 1] == before != ""
        if not (is_string or match[0] in others or _is_pair(text, match, others)):
            return candidate.cut(start, f"has {match[0]}")
    return candidate


def _is_pair(text: str, mark: re.Match[str], others: str) -> bool:
    """Return whether *mark* of *text* is struck text in HTML: it begins and ends."""
    if not STRUCK.fullmatch(mark[0]):
        return False
    if mark[0] == "<s>":
        return "</s>" in text[mark.end() :] + others
    return "<s>" in others + text[: mark.start()]


def other_text(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut where another file, a patch or a chat answer begins."""
    matches = [] if cursor.language == "markdown" else [*OTHER_TEXT.finditer(candidate.text)]
    for match in PATH_LINE.finditer(candidate.text):
        named = match["path"].replace("\\", "/")
        if "/" in named or named == cursor.path.rpartition("/")[2]:
            matches.append(match)
    start = min((match.start() for match in matches), default=-1)
    return candidate if start < 0 else candidate.cut(max(0, start - 1), "goes on with another text")


def around(cursor: Cursor) -> str:
    """Return the text around *cursor*."""
    return "\n".join((*cursor.above, cursor.before, cursor.after, *cursor.below))


def broken_character(candidate: Candidate, _: Cursor) -> Candidate:
    """
    Drop all of a text with bytes that are no character: what stands around them is as doubtful.
    """
    text = candidate.text if candidate.whole else candidate.text.rstrip("\ufffd")
    return candidate.cut(0, "has bytes that are no character") if "\ufffd" in text else candidate

"""Filters against what is no code of this file: control tokens, other files, what is not shown."""

from __future__ import annotations

import re

from fim_lsp.display import drop_invisible
from fim_lsp.suggest.cursor import Candidate, Cursor

# Control tokens of the FIM models we know that are printed when a server's stop list misses them,
# or its vocabulary marks them as text (codegemma's `<|file_separator|>`: llama.vim issue 90).
SPECIAL = re.compile(
    r"<\|(?:fim_\w+|endoftext|end_of_text|im_(?:start|end)|file_sep(?:arator)?|repo_name|"
    r"code_\w+)\|>"
    r"|<(?:fim_\w+|file_sep|repo_name|filename|reponame|\|endoftext\|)>|<[ ]?/?(?:PRE|SUF|MID|EOT|"
    r"END)>"
    r"|<｜[^｜\n]{1,40}｜>|<\[(?:fim-\w+|end▁of▁sentence)\]>|\[(?:SUFFIX|PREFIX|MIDDLE)\]|</?think>"
)

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
    last, meant = cursor.before[-1:], around(cursor)  # a joiner joins what stands before it
    text = drop_invisible(last + candidate.text, meant).removeprefix(last)
    for separator in "\u2028\u2029":
        text = text if separator in meant else text.replace(separator, "\n")
    return candidate.change(text, "has characters that are not shown")


def special_tokens(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut at a control token, unless the text around is about them."""
    for match in SPECIAL.finditer(candidate.text):
        if match[0] not in around(cursor):
            return candidate.cut(match.start(), f"has {match[0]}")
    return candidate


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

r"""
Private keys: whole blocks, those without an end, and lines of one whose first is out of sight. Pure.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from fim_lsp.context.secrets.span import Span

_MARK = re.compile(  # it begins with four literal signs: `re` finds those ten times faster than a repeat
    r"-----? ?(?:BEGIN [A-Z0-9 ]{0,40}PRIVATE |(?P<end>END) [A-Z0-9 ]{0,40})KEY(?: BLOCK)? ?-----?"
)
_LONGEST = 20_000  # characters of a block; that of an RSA key of 16,384 bits has 12,500

# What follows the first mark of a block that is not closed: base64, also behind escaped line ends, and
# lines of it with what quotes and joins them in programs, and headers.
_REST_OF_LINE = re.compile(r"(?:\\{1,2}[nr]|[A-Za-z0-9+/=])*")
_LINE_END = re.compile(r"[ \t\"'`+,;\\]{0,20}(?:\r?\n|\Z)")
_LINE = re.compile(
    r"(?:[ \t]{0,40}\r?\n){0,2}[ \t\"'+>#*|]{0,40}"
    r"(?:[A-Za-z0-9+/=]{16,80}|[A-Z][\w-]{2,20}: [^\n]{1,200})"
    r"(?:\\{1,2}[nr]){0,2}[ \t\"'+,;\\]{0,20}(?:\r?\n|\Z)"
)

# The rest of a block whose first line is out of sight.
_KEY_LINE = r"[ \t]{0,40}[A-Za-z0-9+/]{60,76}={0,2}[ \t]{0,8}\r?"
_PUTTY = re.compile(r"Private-Lines: \d{1,4}((?:\r?\n[A-Za-z0-9+/=]{16,80}){1,300})")
_MATERIAL = re.compile(rf"\n{_KEY_LINE}(?:\n{_KEY_LINE}){{2,}}(?=\n|\Z)")


def key_blocks(text: str) -> Iterator[Span]:
    """Every private key block or part of one in *text*."""
    if "PRIVATE KEY" in text:
        yield from _blocks(text)
    for match in _PUTTY.finditer(text):
        yield Span(*match.span(1), "private key")
    for match in _MATERIAL.finditer("\n" + text):
        yield Span(match.start(), match.end() - 1, "key material")


def _blocks(text: str) -> Iterator[Span]:
    """Each first line with what follows up to the end mark, or as long as it looks like a key."""
    marks = list(_MARK.finditer(text))
    for mark, following in itertools.zip_longest(marks, marks[1:]):
        if mark["end"]:
            continue
        closed = following and following["end"] and following.end() - mark.start() <= _LONGEST
        end = following.end() if following and closed else _end_of_lines(text, mark.end())
        yield Span(mark.start(), end, "private key")


def _end_of_lines(text: str, at: int) -> int:
    """Where the lines end that look like those of a key, none longer than a block."""
    rest = _REST_OF_LINE.match(text, at, at + _LONGEST)
    end = rest.end() if rest else at
    line = _LINE_END.match(text, end)
    while line and end - at <= _LONGEST:
        end = line.end()
        line = _LINE.match(text, end)
    return end - (text[end - 1 : end] == "\n")

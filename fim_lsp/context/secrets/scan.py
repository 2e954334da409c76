"""Every secret in a text, also in base64. Pure."""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterator

from fim_lsp.context.secrets.credentials import credentials
from fim_lsp.context.secrets.fields import fields
from fim_lsp.context.secrets.span import Span
from fim_lsp.context.secrets.tokens import tokens

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
    """Yield every private key block or part of one in *text*."""
    if "PRIVATE KEY" in text:
        yield from _blocks(text)
    for match in _PUTTY.finditer(text):
        yield Span(*match.span(1), "private key")
    for match in _MATERIAL.finditer("\n" + text):
        yield Span(match.start(), match.end() - 1, "key material")


def _blocks(text: str) -> Iterator[Span]:
    """Yield each first line with what follows up to the end mark, or as long as it looks like a key."""
    marks = list(_MARK.finditer(text))
    for mark, following in itertools.zip_longest(marks, marks[1:]):
        if mark["end"]:
            continue
        closed = following and following["end"] and following.end() - mark.start() <= _LONGEST
        end = following.end() if following and closed else _end_of_lines(text, mark.end())
        yield Span(mark.start(), end, "private key")


def _end_of_lines(text: str, at: int) -> int:
    """Return the end of the lines that look like those of a key, none longer than a block."""
    rest = _REST_OF_LINE.match(text, at, at + _LONGEST)
    end = rest.end() if rest else at
    line = _LINE_END.match(text, end)
    while line and end - at <= _LONGEST:
        end = line.end()
        line = _LINE.match(text, end)
    return end - (text[end - 1 : end] == "\n")


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

# Base64 of ASCII that begins with four times three printable characters: the first of four characters
# says that the first byte is one or ends a line, the second and the third that the others are below 128. One in
# 9,000 random texts begins so.
_THREE = "[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]"
_ENCODED = re.compile(
    rf"[\n\"'`=:,<>(][ \t]{{0,40}}({_THREE}{_THREE}{_THREE}{_THREE}[A-Za-z0-9+/]{{0,8000}})"
)


def secrets(text: str) -> list[Span]:
    """Return every span that looks like a secret, by start; they may overlap. Linear in the text's length."""
    return sorted([*_plain(text), *_find_encoded(text)])


def _plain(text: str) -> Iterator[Span]:
    lower = lower_case(text)
    yield from tokens(text)
    yield from fields(text, lower)
    yield from credentials(text, lower)
    yield from key_blocks(text)


def _find_encoded(text: str) -> Iterator[Span]:
    """Yield the base64 strings that hold a secret, as in Kubernetes' `data`."""
    for match in _ENCODED.finditer("\n" + text):
        decoded = base64.b64decode(match[1] + "AAA"[: -len(match[1]) % 4]).rstrip(b"\0")
        if decoded.isascii() and any(_plain(decoded.decode("ascii"))):
            yield Span(match.start(1) - 1, match.end(1) - 1, "secret in base64")


def looks_secret(text: str) -> bool:
    """Return whether there is any secret in it."""
    return bool(secrets(text))


def lower_case(text: str) -> str:
    """Return *text* in small letters, as long as it was: some letters have a small form of two."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)

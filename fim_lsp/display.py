"""
Text of others (settings of a repository, names of files, answers of servers) made fit to be shown
or logged. Pure.

Such text may be of any length and hold anything: new lines that look like lines of ours, control
characters that a terminal obeys, marks that turn the direction of text, links that run a command
when clicked (VS Code reads Markdown links in messages), passwords in addresses.
"""

from __future__ import annotations

import re
from collections.abc import Container

# The user part of an address, up to the last @ before its path.
_PASSWORD = re.compile(r"(?<=://)[^/\s]*@")
# Controls, and what no editor shows: spaces without width, marks that turn the direction of text or
# join words, fillers, tags but for those behind a flag; and joiners (U+200C, U+200D) where they
# join nothing, as they do in emoji and in Persian.
_UNSEEN = (
    "\0-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
)
_TAGS = "\U000e0000-\U000e007f"
_INVISIBLE = re.compile(
    f"[{_UNSEEN}]|(?<![\U0001f3f4{_TAGS}])[{_TAGS}]+"
    "|(?<![^\0-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[\0-\x7f])"
)
# Spaces that no compiler reads as one; the wide one of Chinese and Japanese text is none of these.
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f]")
_BLANK = re.compile(rf"[\s{_UNSEEN}]+")
_LINK = re.compile(r"\](?=[(\[])")  # where a Markdown link's text ends and its target begins


def redact(text: str) -> str:
    """Return *text* without the user names and passwords of the addresses in it."""
    return _PASSWORD.sub("…@", text) if "@" in text else text


def printable(text: str, keep: str = "") -> str:
    r"""
    Return *text* with what cannot be printed as Python writes it, like `\n` and `\x1b`, but for
    characters in *keep*.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _escape(char) for char in text)


def escape(text: str) -> str:
    """Return *text* on one line, without passwords."""
    return printable(redact(text))


def drop_invisible(text: str, keep: Container[str] = "") -> str:
    """
    Return what a model wrote without characters that are not shown, or are shown elsewhere than
    they stand, but for blanks, and with plain spaces for others; characters in *keep* stay.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _SPACES.sub(lambda match: match[0] if match[0] in keep else " ", text)
    return _INVISIBLE.sub(lambda match: match[0] if match[0][0] in keep else "", text)


def visible_in(text: str) -> str:
    """Return the characters of *text* that are seen."""
    return _BLANK.sub("", text)


def sanitize(text: str, most: int = 80) -> str:
    """Return *text* for a message: one line of at most *most* characters, without links."""
    text = redact(text)
    line = "".join(char if char.isprintable() else " " for char in text[:most])
    line = _LINK.sub("] ", line)
    return line if max(len(text), len(line)) <= most else line[: most - 1] + "…"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")

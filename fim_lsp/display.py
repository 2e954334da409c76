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
_CONTROL = re.compile("[\0-\x08\x0b\x0e-\x1f\x7f-\x9f]")
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


def drop_controls(text: str, keep: Container[str] = "") -> str:
    """
    Return what a model wrote without control characters, but for blanks, line ends and those in
    *keep*.
    """
    return _CONTROL.sub(lambda control: control[0] if control[0] in keep else "", text)


def sanitize(text: str, most: int = 80) -> str:
    """Return *text* for a message: one line of at most *most* characters, without links."""
    text = redact(text)
    line = "".join(char if char.isprintable() else " " for char in text[:most])
    line = _LINK.sub("] ", line)
    return line if max(len(text), len(line)) <= most else line[: most - 1] + "…"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")

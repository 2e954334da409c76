"""
Text of others (settings of a repository, names of files, answers of servers) made fit to be shown or logged. Pure.

Such text may be of any length and hold anything: new lines that look like lines of ours, control
characters that a terminal obeys, marks that turn the direction of text, links that run a command when
clicked (VS Code reads Markdown links in messages), passwords in addresses.
"""

from __future__ import annotations

import re

# The user part of an address, up to the last @ before its path.
_PASSWORD = re.compile(r"(?<=://)[^/\s]*@")
_LINK = re.compile(r"\](?=[(\[])")  # where a Markdown link's text ends and its target begins


def redact(text: str) -> str:
    """Return *text* without the user names and passwords of the addresses in it."""
    return _PASSWORD.sub("…@", text) if "@" in text else text


def escape(text: str) -> str:
    r"""Return *text* on one line: what cannot be printed as Python writes it, like `\n` and `\x1b`."""
    text = redact(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def sanitize(text: str, most: int = 80) -> str:
    """Return *text* for a message: one line of at most *most* characters, without links."""
    text = redact(text)
    line = "".join(char if char.isprintable() else " " for char in text[:most])
    line = _LINK.sub("] ", line)
    return line if max(len(text), len(line)) <= most else line[: most - 1] + "…"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")

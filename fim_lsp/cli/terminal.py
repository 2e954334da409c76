"""
Plain text into what a terminal shows: colour only where it is wanted, never wider than the screen.

Escape sequences are used in this module only.
"""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from fim_lsp.display import printable

# SGR codes by role. Ghost text is dim *and* italic, so that it stays readable where a
# theme has no dim.
CODES = {"ghost": "2;3", "faint": "2", "title": "1;36", "good": "32", "warn": "33", "bad": "31"}
# Without a terminal lines may be long, but a log that wraps is hard to read.
WIDTH_OF_A_PIPE = 100
WIDEST = 120  # in wider rows code and numbers are too far apart
NARROWEST = 20  # of text in lines: in narrower rows words stand one by one
ERASE_LINE = "\r\x1b[2K"
_OURS = re.compile(f"(\x1b\\[(?:0|{'|'.join(CODES.values())})m)")
LAYOUT = "\n\t"


@dataclass(frozen=True, slots=True)
class Screen:
    """A stream to print to, its width, and whether it is a terminal."""

    stream: TextIO
    width: int
    colour: bool
    live: bool

    def paint(self, text: str, role: str) -> str:
        """Return the text in the colours of *role*, or as it is."""
        return f"\x1b[{CODES[role]}m{text}\x1b[0m" if self.colour and text else text

    def line(self, text: str = "") -> None:
        """Print a line and show it at once; of escape sequences only those of `paint` work."""
        parts = enumerate(_OURS.split(text))
        shown = "".join(part if number % 2 else printable(part, LAYOUT) for number, part in parts)
        print(shown, file=self.stream, flush=True)

    def text(self, text: str) -> None:
        """Print the text of a model: on a terminal without what that would obey, else as it is."""
        print(printable(text, LAYOUT) if self.live else text, file=self.stream, flush=True)

    def say(self, text: str) -> None:
        """Print sentences: on a terminal broken between words, in a pipe a line each."""
        self.line(fit(text, self.width) if self.live else text)

    def status(self, text: str) -> None:
        """Show progress in place; "" removes it. Says nothing where lines cannot be rewritten."""
        if self.live:
            shown = printable(clip(text, self.width - 1))
            print(ERASE_LINE + shown, end="", file=self.stream, flush=True)


def screen_on(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Screen:
    """
    Return the screen behind *stream*.

    Obeys NO_COLOR (no-color.org) and FORCE_COLOR (force-color.org), both only when not empty.
    """
    live = stream.isatty() and environ.get("TERM") != "dumb"
    colour = (live or bool(environ.get("FORCE_COLOR"))) and not environ.get("NO_COLOR")
    columns = shutil.get_terminal_size((WIDTH_OF_A_PIPE, 24)).columns
    return Screen(stream, min(columns, WIDEST), colour, live)


def unbroken(name: str) -> str:
    """Return the name of a file, which may hold line ends, on one line."""
    return printable(name)


def clip(text: str, width: int) -> str:
    """Return the text in at most *width* characters; an ellipsis says that some are missing."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def wrap(text: str, width: int) -> list[str]:
    """
    Return the text in lines of at most *width* characters, broken between words; a longer word
    stays whole.
    """
    return textwrap.wrap(
        text, max(NARROWEST, width), break_long_words=False, break_on_hyphens=False
    )


def fit(text: str, width: int) -> str:
    """
    Return the text with each line broken between words to *width*, its indentation kept; blank at
    the end, too.
    """
    lines = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        parts = [indent + part for part in wrap(line.strip(), width - len(indent))]
        lines.append("\n".join(parts) + line[len(line.rstrip()) :] if parts else "")
    return "\n".join(lines)

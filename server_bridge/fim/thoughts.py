"""
The thoughts that a chat model says before its answer. Pure.

Models mark them with tags, OpenAI's gpt-oss with a channel of its own (its harmony format). Some
templates begin the first thought for the model: then only its end is in the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAMES = ("think", "thinking", "thought", "reasoning")
_NAME = "|".join(_NAMES)
_CHANNEL = "<|channel|>analysis<|message|>"
_BEFORE = re.compile(
    rf"[\s\u200b\u200e\u200f\u2060\ufeff]+|<({_NAME})>.*?</\1>|</(?:{_NAME})>"
    r"|<\|channel\|>analysis<\|message\|>.*?<\|end\|>"
    r"|(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>",
    re.DOTALL | re.IGNORECASE,
)
_BEGINS = (*(f"<{name}>" for name in _NAMES), _CHANNEL)
_BEGIN = re.compile(
    rf"^[ \t]{{0,8}}(?:<(?:{_NAME})>|<\|channel\|>analysis<\|message\|>)",
    re.MULTILINE | re.IGNORECASE,
)
_END = re.compile(rf"</(?:{_NAME})>", re.IGNORECASE)


def skip(text: str, at: int = 0) -> int:
    """Return where the thoughts and blanks end that *text* has from *at* on."""
    while before := _BEFORE.match(text, at):
        at = before.end()
    return at


def is_open(text: str, at: int) -> bool:
    """Return whether a thought begins at *at*: behind `skip`, it is one that has not ended."""
    return text[at : at + len(_CHANNEL)].lower().startswith(_BEGINS)


def find_begin(text: str, at: int, end: int) -> int:
    """Return where the first line from *at* to *end* begins that begins with a thought, or -1."""
    found = _BEGIN.search(text, at, end)
    return found.start() if found else -1


def find_ends(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each tag from *at* on that ends a thought."""
    return (match.span() for match in _END.finditer(text, at))

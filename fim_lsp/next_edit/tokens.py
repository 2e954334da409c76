"""
A changed line into the tokens that changed, with the tokens around them. Pure.

White space between tokens is a token, too, so that a text can be put together again; the
indentation is not looked at.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|\s+|[^\w\s]")

TOKENS = 200
"""Of a line that is looked at: a longer one is data."""

_WEAK = 2  # tokens between two changes that do not keep them apart


class Change(NamedTuple):
    """In a line, the tokens *old* at [start, end) became *new*."""

    start: int
    end: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@lru_cache(maxsize=4096)
def tokens(line: str) -> tuple[str, ...]:
    """Return the tokens of a line without its indentation and its trailing white space."""
    return tuple(TOKEN.findall(line.strip()))


def is_word(token: str) -> bool:
    """Return whether it is a name, a keyword or a number."""
    return token[:1].isalnum() or token[:1] == "_"


@lru_cache(maxsize=1024)
def token_changes(before: str, after: str) -> tuple[Change, ...]:
    """
    Return the changes from one line to the other, from the left; empty where only white space did.

    Changes with nothing but white space or one sign between them are one change.
    """
    old, new = tokens(before), tokens(after)
    if max(len(old), len(new)) > TOKENS:
        return ()
    found: list[Change] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, i, end, j, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        if found and _is_weak(old[found[-1].end : i]):
            last = found.pop()
            start_new = j - (i - last.end) - len(last.new)
            found.append(Change(last.start, end, old[last.start : end], new[start_new:new_end]))
        else:
            found.append(Change(i, end, old[i:end], new[j:new_end]))
    return tuple(found)


def _is_weak(between: tuple[str, ...]) -> bool:
    return len(between) <= _WEAK and not any(is_word(token) for token in between)


def shape(line: str) -> tuple[str, ...]:
    """Return the tokens of a line with every name and number replaced by its kind."""
    return tuple("w" if is_word(token) else token for token in tokens(line) if not token.isspace())

"""Where a text may be cut, so that its beginning is the same tokens. Pure."""

from __future__ import annotations

import re


def last_word(text: str) -> str:
    """
    Return the last word, sign or space of *text*, with the space before a word: about a token.
    """
    reversed_word = re.match(r"\w+\s?|[^\w\s]|\s", text[::-1])  # from the end: linear
    return reversed_word[0][::-1] if reversed_word else ""


def cut(text: str, low: int, high: int) -> str:
    """
    Return a beginning of *text* with more than *low* and at most *high* characters, whole lines if
    it can be.

    Such a beginning is split into the same tokens as the whole, up to there; but for blank lines.
    """
    end = text.rfind("\n", low, high) + 1
    return text[: end if end > low else high]

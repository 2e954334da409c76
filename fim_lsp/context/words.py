"""
A text into the set of its words, four bytes each: which files may hold a line, without their texts. Pure.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from zlib import crc32

Words = array  # of the words' checksums, sorted; two words in four billion have the same

FILE_WORDS = 5000
"""Different words of one file: a usual one has 300, one of 200,000 bytes some 3,000. Of a file with
more nothing is known: it is data, or generated."""

NONE: Words[int] = array("I")

_WORD = re.compile(r"\w\w+")  # one letter is in every file


def words(text: str) -> Words[int]:
    """Return the words of a text; none of one that has too many."""
    found = {*_WORD.findall(text)}
    return array("I", sorted(_checksums(found))) if len(found) <= FILE_WORDS else NONE


def list_required(text: str) -> tuple[int, ...]:
    """Return the words that a text must have to hold this one."""
    return (*_checksums({*_WORD.findall(text)}),)


def holds(known: Words[int], wanted: Iterable[int]) -> bool:
    """Return whether all of *wanted* are among the *known* ones."""
    return all(_has(known, each) for each in wanted)


def _has(known: Words[int], each: int) -> bool:
    at = bisect_left(known, each)
    return at < len(known) and known[at] == each


def _checksums(found: Iterable[str]) -> set[int]:
    return {crc32(word.encode("utf-8", "surrogatepass")) for word in found}

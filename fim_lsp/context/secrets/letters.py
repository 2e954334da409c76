"""
The distance of letters without digits or signs from words. Data. Pure.

The pairs are those that make up less than one in 4,000 of the pairs in the 86,000 different names and
words of the standard library and of packages from npm. Of other such names of 10 to 40 letters 1.3 %
have as many as three; of random letters, 85 % of 10 in one case have them, and 99 % of 20.
"""

from __future__ import annotations

import re

SOME = 3
"""Rare pairs from which letters are random."""

_ROWS = """
aehjoqz bfghkmnpqtvwxz cbgjnqvwxz dghjknqvwxz ehjkz fbghjkmnpqvwxz gbcdfjkpqvwxyz hbcdfghjklnpqvwxyz ihijkquwy
jabcdfghijklmnpqrtuvwxyz kbcdfghjkmnopqrtuvwxyz lfghjknqrwxz mfghjknqrvwxz nbhjqrwxz oehqyz pbfgjkmnqvwxz
qabcdefghijklmnopqrstvwxyz rbhjqwxz sbdfjqrvxz tbgjknqvxz uhjkoquvwxyz vbcdfghjklmnpqrstuvwxyz
wbcdfgjklmpqtuvwxyz xbdfghjklmnoqrsuvwyz yabcdfghijkoqruvwxyz zbcdfghjklmnopqrstuvwxy
"""  # the first letter, and those that rarely follow it
_RARE = {row[0] + second for row in _ROWS.split() for second in row[1:]}
_LETTERS = re.compile(r"[A-Za-z]{8,}")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OFTEN = 7  # letters from one rare pair to the next, at most
_LONG = 12
_SHORTER = 2.4
_SHORT = 3.4  # letters of a word, on the average: names have 5, random ones in two cases have 2.5


def is_random(value: str) -> bool:
    """Return whether *value* is eight or more letters that are no words in a row."""
    if not _LETTERS.fullmatch(value):
        return False
    words = _WORD.findall(value)
    rare = sum(
        word[at : at + 2] in _RARE for word in map(str.lower, words) for at in range(len(word) - 1)
    )
    return rare >= max(SOME, len(value) // _OFTEN) or (
        len(value) >= _LONG and len(value) < (_SHORT if rare else _SHORTER) * len(words)
    )

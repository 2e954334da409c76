"""
Forms of tokens that their issuers published: `issuers.txt` into what `tokens` looks for. Pure.
"""

from __future__ import annotations

import itertools
import pkgutil
import re
from typing import NamedTuple


class Issuer(NamedTuple):
    """A whole token has *length* characters behind its prefix; *doubtful*: names begin so, too."""

    name: str
    length: int
    doubtful: bool


class Form(NamedTuple):
    """
    A token with the literal *mark* in it, and its form from there on; *late*: so many characters stand before.

    *growing* is the form of the beginning of one that ends a text.
    """

    name: str
    mark: str
    pattern: re.Pattern[str]
    growing: re.Pattern[str]
    late: int


class Row(NamedTuple):
    """A line of the file."""

    name: str
    source: str
    after: str
    prefixes: str
    before: str = ""


_ALPHABETS = {
    "d": r"\d", "h": "[0-9a-f]", "A": "[A-Z0-9]", "w": "[A-Za-z0-9]", "u": r"[\w-]", "b": "[A-Za-z0-9+/=]", "c": r"[\w.,:$+/=@~-]",
}  # fmt: skip
_PIECE = re.compile(
    r"(?P<alphabet>[dhAwubc])(?P<least>\d+)(?:-(?P<most>\d+))?(?P<exactly>!?)|(?P<sign>.)"
)
_SIGNS = "_.~-"  # at the end of a prefix: one pass over the signs of a text finds all of those
_TYPED = (
    '!"'  # behind a prefix: alone, or where a value begins with it, it tells a token being typed
)


def _rows() -> list[Row]:
    lines = (pkgutil.get_data(__package__, "issuers.txt") or b"").decode().splitlines()
    return [
        Row(*map(str.strip, line.split("|"))) for line in lines if line and not line.startswith("#")
    ]


def _pattern(form: str, *, fixed: bool = False) -> str:
    """Return the regular expression of a *form*; each part but the last has a *fixed* length."""
    pieces, made = [*_PIECE.finditer(form)], ""
    for piece, following in itertools.zip_longest(pieces, pieces[1:]):
        if piece["sign"]:
            made += re.escape(piece["sign"])
        else:
            most = piece["most"] or (
                piece["least"] if fixed or following or piece["exactly"] else ""
            )
            end = "(?![A-Za-z0-9])" if piece["exactly"] else ""
            made += f"{_ALPHABETS[piece['alphabet']]}{{{piece['least']},{most}}}{end}"
    return made


def _length(form: str) -> int:
    """Return the characters of a *form* at least."""
    return sum(int(piece["least"] or 1) for piece in _PIECE.finditer(form))


def _form(row: Row, mark: str) -> Form:
    """
    Return the form of a row with *mark*, which comes first in the pattern: `re` looks for a literal
    twenty times faster.
    """
    literal = re.escape(mark)
    word = "" if mark[0] == "$" else f"(?<![A-Za-z0-9]{literal})"
    look = f"(?<={_pattern(row.before, fixed=True)}{literal})" if row.before else word
    pattern, growing = (
        literal + look + _pattern(row.after),
        literal + look + r"[\w./+=~@-]{1,500}\Z",
    )
    return Form(row.name, mark, re.compile(pattern), re.compile(growing), _length(row.before))


ROWS = _rows()
"""The lines of the file."""
_PREFIXES = [
    (row, prefix.rstrip(_TYPED) or prefix, prefix)
    for row in ROWS
    for prefix in row.prefixes.split()
]


def _ends_with_sign(row: Row, prefix: str) -> bool:
    """Return whether the sign at its end and the number of characters behind it tell all."""
    return (
        prefix[-1] in _SIGNS
        and not row.before
        and re.fullmatch(r"[a-zA-Z]\d+", row.after) is not None
    )


ISSUERS = {
    prefix: Issuer(f"{row.name.rstrip('?')} token", int(row.after[1:]), row.name.endswith("?"))
    for row, prefix, _ in reversed(_PREFIXES)
    if _ends_with_sign(row, prefix)
}
"""By prefix; of two with one prefix the first counts."""

FORMS = tuple(
    _form(row, prefix) for row, prefix, _ in _PREFIXES if not _ends_with_sign(row, prefix)
)
"""Tokens whose prefix ends with no sign, or that are known by more than a prefix."""

TYPED_FIRST = ("eyJ", *(prefix for _, prefix, marked in _PREFIXES if marked == f"{prefix}!"))
"""Prefixes without a sign at the end that no name begins with: enough to know a token being typed."""

TYPED_QUOTED = frozenset(prefix for _, prefix, marked in _PREFIXES if marked == f'{prefix}"')
"""Likewise for prefixes with a sign at the end, where a string or a value begins with them."""

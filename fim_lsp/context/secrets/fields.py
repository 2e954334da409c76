r"""
Secrets by the name in front of them: assignments, calls, settings, flags, headers, elements. Pure.

Where a keyword stands (`names`), the end of the name is read, then what stands between it and
a value (`forms`), or in the rest of the statement (`statements`), then the value is judged (`values`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fim_lsp.context.secrets.forms import BARE, GROWING, LONGEST, WHOLE, Form, Kind
from fim_lsp.context.secrets.names import NAME_CHARS, WORD, Rank, goes_on, rank
from fim_lsp.context.secrets.span import Span
from fim_lsp.context.secrets.statements import Literal, literals, open_literals
from fim_lsp.context.secrets.values import is_mixed, is_password, is_uuid, is_word, oddities

_LEAST = {
    Rank.PASSWORD: 4,
    Rank.TOKEN: 8,
    Rank.KEY: 16,
}  # characters of a value by the rank of its name
_LINE_ODD = {Rank.PASSWORD: 2, Rank.TOKEN: 3}  # of all that stands on a line
_TOKEN_ODD, _KEY_ODD = 2, 4  # likewise its oddities: 0.7 % and 0.2 % of other strings have as many


class Field(NamedTuple):
    """The value from *start* to *end* of a text, the word at *name* that tells, the *rest* of the name."""

    rank: Rank
    kind: Kind
    name: int
    rest: str
    start: int
    end: int


# The rest of the name, a closing quote, brackets, the size of an array: `_HASH"]`, `[32]`.
_NAME_END = re.compile(
    r"(?P<rest>[\w.-]{0,40})(?:\\{0,2}[\"'`])?(?:[\])]{1,2}|\[\w{0,16}\]|\$)?(?=[\s=:,;({<>|?!+.-])"
)

_MORE = re.compile(f"{BARE}*")
_LINE = 100  # characters of a line in front of a name
_MARKS = " \t>+*;#-"  # of comments, lists and differences


def fields(text: str, lower: str) -> Iterator[Span]:
    """Yield the secret values of named fields; *lower* is *text* in small letters, as long."""
    done = 0
    for field in _find(text, lower, WHOLE, literals):
        if field.end > done and is_secret(field, text[field.start : field.end]):
            done = _whole_end(text, field)
            yield Span(field.start, done, f"value of a {field.rank.name.lower()}")


def _whole_end(text: str, field: Field) -> int:
    """Return the end of the value, also of one that is longer than the forms look."""
    if field.end - field.start < LONGEST:
        return field.end
    more = _MORE.match(text, field.end)
    return more.end() if more else field.end


def growing_fields(text: str, lower: str) -> Iterator[Field]:
    """Return named fields whose value ends with *text*, not yet judged."""
    return _find(text, lower, GROWING, open_literals)


def _find(
    text: str,
    lower: str,
    forms: tuple[Form, ...],
    further: Callable[[str, int, int], Iterator[Literal]],
) -> Iterator[Field]:
    """Yield every value that may be that of a name, each with the forms in which it follows the name."""
    for word in WORD.finditer(lower):
        name = None if goes_on(text, word.end()) else _NAME_END.match(text, word.end())
        named = name and rank(text, word.start(), word.end(), name["rest"])
        if name is None or named is None:
            continue
        for kind, value in _values(lower, name.end(), forms):
            start, stop = value.span(value.lastindex or 0)
            if kind is not Kind.LINE or (named in _LINE_ODD and _is_set(text, word.start())):
                stop -= text[stop - 1] == "\\"
                yield Field(named, kind, word.start(), name["rest"], start, stop)
        for literal in further(lower, name.end(), _LEAST[named]):
            kind = Kind.FALLBACK if literal.fallback else Kind.LOOSE
            yield Field(named, kind, word.start(), name["rest"], literal.start, literal.end)


def _is_set(text: str, at: int) -> bool:
    """Return whether the name at *at* begins its line or follows another setting: `;x=`, `a=b x=`, `export x=`."""
    line = text[max(0, at - _LINE, text.rfind("\n", max(0, at - _LINE), at) + 1) : at]
    head = line.rstrip(NAME_CHARS)
    words = head.lstrip(_MARKS).split()
    if not words or head.endswith((";", "?", "&")):
        return True
    alone = len(words) == 1 and words[0].isalpha()
    return head[-1].isspace() and (alone or "=" in words[-1] or words[-1] == "-e")


def _values(lower: str, at: int, forms: tuple[Form, ...]) -> Iterator[tuple[Kind, re.Match[str]]]:
    """Yield the first form that matches, behind that of a whole line."""
    for form in forms:
        value = form.pattern.match(lower, at)
        if value:
            yield form.kind, value
            if form.kind is not Kind.LINE:
                return


def is_secret(field: Field, value: str) -> bool:
    """Return whether *value* is one for a name of that rank."""
    if field.kind is Kind.LINE:
        return oddities(value) >= _LINE_ODD[field.rank]
    if field.rank is Rank.PASSWORD:
        odd = field.kind is not Kind.LOOSE or oddities(value) > 0
        return (is_password(value) and odd) or (
            field.kind in {Kind.LITERAL, Kind.ELEMENT} and is_word(value)
        )
    if field.rank is Rank.TOKEN:
        mixed = (
            field.kind is Kind.LITERAL
            and len(value) >= _LEAST[Rank.KEY]
            and is_mixed(value, kinds=3)
        )
        return len(value) >= _LEAST[Rank.TOKEN] and oddities(value) + mixed >= _TOKEN_ODD
    return len(value) >= _LEAST[Rank.KEY] and oddities(value) >= _KEY_ODD and not is_uuid(value)

r"""
Secrets by the name in front of them: assignments, calls, settings, flags, headers, elements. Pure.

Where a telling word stands (`names`), the end of the name is read, then what stands between it and
a value in the languages and formats in use, then the value is judged (`values`). Every repeat is
bounded, and none but those that say so cross a line end: each word costs the same at most.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from typing import NamedTuple

from fim_lsp.context.secrets.names import WORD, Rank, goes_on, rank
from fim_lsp.context.secrets.span import Span
from fim_lsp.context.secrets.values import is_mixed, is_password, is_uuid, is_word, oddities

_LONGEST = 300  # characters of a value before it is known to be a secret
_TOKEN_LENGTH, _KEY_LENGTH = 8, 16  # least characters of a value by the rank of its name
_TOKEN_ODD, _KEY_ODD = 2, 4  # likewise its oddities: 0.7 % and 0.2 % of other strings have as many


class Kind(enum.Enum):
    """How sure it is that the value belongs to the name, and that it is a literal."""

    LITERAL = enum.auto()
    BARE = enum.auto()  # unquoted: in a program, it may be a variable
    ELEMENT = enum.auto()  # of XML
    LOOSE = enum.auto()  # another argument, the argument of a call, the next word


class Form(NamedTuple):
    """What may follow a name; the last group is the value."""

    kind: Kind
    pattern: re.Pattern[str]


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
    r"(?P<rest>[\w.-]{0,40})(?:\\{0,2}[\"'`])?(?:[\])]{1,2}|\[\w{0,16}\])?(?=[\s=:,;({<>|?!+.-])"
)

_GAP = r"[ \t]{0,40}"
_NEXT_LINE = rf"(?:\r?\n{_GAP})"
_EQUALS = r"(?:={1,3}>?|!==?|:{1,3}=|[?+.]=|\|\|=?|\?\?=?|\?:|:|<-|->)"
_TYPED = r":[ \t]{0,4}[&*]?(?:'\w{1,16} )?[\w:.\[\]<>| ?]{1,48}?[ \t]{0,4}=|(?:string|str|\[\]byte)[ \t]{0,8}="
_SET = rf"{_GAP}(?:{_TYPED}|{_EQUALS}){_GAP}"
_CALL = r"(?:new )?[\w.:\[\]]{1,24}!?\((?:\|\| ?)?"
_TAG = r"[\w.:-]{1,40}"
_BARE = r"[^\s\"'`,;&<>(){}\[\]|\\]"
_MORE = re.compile(f"{_BARE}*")
_NO_CALL = r"(?![(\[{|])"

# kind, what stands before the value, the value's characters ("" for a quoted one), what ends it
_SYNTAX = (
    (Kind.LITERAL, _SET, "", ""),
    # `name: X, value: y`, over a line end
    (Kind.LITERAL, rf"(?:[,;]|[ \t]?/>)?{_GAP}{_NEXT_LINE}?[\"'<]?[\w:]{{0,12}}value[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?", r"[^\s\"'<>]", ""),
    (Kind.LOOSE, rf"(?:{_SET}{_CALL}|{_GAP}[,({{])[ \t]{{0,8}}", "", ""),
    (Kind.BARE, rf"{_GAP}(?:[:?+]?=|:){_GAP}", _BARE, _NO_CALL),
    # `<x>v</x>`, `<key>x</key><string>v</string>`, over line ends
    (Kind.ELEMENT, rf"(?=[ \t<>])[^<>\n]{{0,60}}(?:</{_TAG}>\s{{0,40}}<{_TAG})?>\s{{0,40}}", r"[^<>\s\"']", r"\s{0,40}<"),
    # Terraform's `variable "x" { … default = "y" }`, over line ends
    (Kind.LITERAL, r"[ \t]?\{[^{}]{0,200}?\bdefault[ \t]{0,12}=[ \t]{0,4}", "", ""),
    # YAML's `|`, over a line end
    (Kind.LITERAL, r":[ \t]{0,4}[|>][+-]?[ \t]{0,4}\r?\n[ \t]{1,40}", r"[^\s\"']", r"(?=\s|\Z)"),
    (Kind.LOOSE, r"[ \t]{1,40}", "", r"(?=[\s;,)}\]]|\Z)"),
    (Kind.LOOSE, r"[ \t]{1,40}", _BARE, r"(?=[\s;,)}\]]|\Z)"),
)  # fmt: skip


def _forms(*, whole: bool) -> tuple[Form, ...]:
    """The forms of *whole* values, or of those that end where the text ends."""
    return tuple(
        Form(kind, re.compile(before + (_value(value, whole=whole) if value else _quoted(whole=whole)) + (end if whole else r"\Z")))
        for kind, before, value, end in _SYNTAX
    )  # fmt: skip


def _value(chars: str, *, whole: bool, group: int = 1) -> str:
    """All *chars* that follow: a look-ahead that is matched again, because `re` never goes back into one."""
    least = 4 if whole else 1
    return rf"(?=({chars}{{{least},{_LONGEST}}}))\{group}"


def _quoted(*, whole: bool) -> str:
    """A string in any language, or one that the line ends before it is closed; prose is none."""
    rows = (('"', '"'), ("'", "'"), ("`", "`"), (r"\[\[", r"\]"), (r"q[qw]?\{", r"\}"))
    strings = "|".join(
        opening
        + _value(rf"[^{closing}\s]", whole=whole, group=n)
        + (rf"(?![ \t]){closing}?" if whole else "")
        for n, (opening, closing) in enumerate(rows, 1)
    )
    return rf"[a-z@$#]{{0,3}}\\{{0,2}}(?:{strings})"


_WHOLE = _forms(whole=True)
_GROWING = _forms(whole=False)


def fields(text: str, lower: str) -> Iterator[Span]:
    """The secret values of named fields; *lower* is *text* in small letters, as long."""
    done = 0
    for field in _found(text, lower, _WHOLE):
        if field.end > done and is_secret(field, text[field.start : field.end]):
            done = _whole_end(text, field)
            yield Span(field.start, done, f"value of a {field.rank.name.lower()}")


def _whole_end(text: str, field: Field) -> int:
    """Where the value ends, also one that is longer than the forms look."""
    if field.end - field.start < _LONGEST:
        return field.end
    more = _MORE.match(text, field.end)
    return more.end() if more else field.end


def growing_fields(text: str, lower: str) -> Iterator[Field]:
    """Named fields whose value ends with *text*, not yet judged."""
    return _found(text, lower, _GROWING)


def _found(text: str, lower: str, forms: tuple[Form, ...]) -> Iterator[Field]:
    for word in WORD.finditer(lower):
        name = None if goes_on(text, word.end()) else _NAME_END.match(text, word.end())
        if name is None:
            continue
        values = ((form.kind, form.pattern.match(lower, name.end())) for form in forms)
        kind, value = next((found for found in values if found[1]), (Kind.LOOSE, None))
        if value and (named := rank(text, word.start(), word.end(), name["rest"])):
            start, stop = value.span(value.lastindex or 0)
            stop -= text[stop - 1] == "\\"
            yield Field(named, kind, word.start(), name["rest"], start, stop)


def is_secret(field: Field, value: str) -> bool:
    """Whether *value* is one for a name of that rank."""
    if field.rank is Rank.PASSWORD:
        odd = field.kind is not Kind.LOOSE or oddities(value) > 0
        return (is_password(value) and odd) or (
            field.kind in {Kind.LITERAL, Kind.ELEMENT} and is_word(value)
        )
    if field.rank is Rank.TOKEN:
        mixed = (
            field.kind is Kind.LITERAL and len(value) >= _KEY_LENGTH and is_mixed(value, kinds=3)
        )
        return len(value) >= _TOKEN_LENGTH and oddities(value) + mixed >= _TOKEN_ODD
    return len(value) >= _KEY_LENGTH and oddities(value) >= _KEY_ODD and not is_uuid(value)

r"""
The syntax between a name and its value, in the languages and formats in use. Data. Pure.

All patterns are for text in small letters. Every repeat is bounded, and none but those that say so
cross a line end: each name costs the same at most.
"""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

LONGEST = 300
"""Characters of a value before it is known to be a secret."""


class Kind(enum.Enum):
    """The certainty that the value belongs to the name, and that it is a literal."""

    LITERAL = enum.auto()
    FALLBACK = enum.auto()  # a literal further on, that the name has if nothing else sets it
    BARE = enum.auto()  # unquoted: in a program, it may be a variable
    LINE = enum.auto()  # likewise, all signs up to the end of the line
    ELEMENT = enum.auto()  # of XML
    LOOSE = enum.auto()  # another argument, the argument of a call, the next word


class Form(NamedTuple):
    """A pattern of what may follow a name; the last group is the value."""

    kind: Kind
    pattern: re.Pattern[str]


BARE = r"[^\s\"'`,;&<>(){}\[\]|\\]"
"""A character of a value without quotes."""

_GAP = r"[ \t]{0,40}"
_NEXT_LINE = rf"(?:\r?\n{_GAP})"
_EQUALS = r"(?:={1,3}>?|!==?|:{1,3}=|[?+.]=|\|\|=?|\?\?=?|\?:|:|<-|->)"
_TYPED = (
    r":[ \t]{0,4}[&*]?(?:'\w{1,16} )?[\w:.\[\]<>| ?]{1,48}?[ \t]{0,4}=|(?:string|str|\[\]byte)[ \t]{0,8}="
    r"|as[ \t]{1,4}[\w.]{1,24}[ \t]{0,4}=|\{[\w; ]{1,40}\}[ \t]{0,4}="
)
_SET = rf"{_GAP}(?:{_TYPED}|{_EQUALS}){_GAP}"
_YAML_TAG = r"(?:[&!][\w!/.:-]{0,40}[ \t]{1,4}){0,2}"
_OPENED = rf"{_YAML_TAG}(?:\\?\r?\n{_GAP}|\(\s{{0,40}})?"
_BLOCK = (  # YAML, heredocs of shells, Terraform, Ruby and PHP, texts of several lines
    r"(?:[|>][\d+-]{0,2}|(?:\$\(\w{1,12} )?<<<?[-~]?[ ]?[\"']?\w{1,20}[\"']?|@[\"']|[\"']{3}\\?)[ \t]{0,4}\r?\n"
    + _GAP
)
_ELSE = r"(?::?[-=?]|:)[\"']?"  # in `${x:-v}`
_TAG = r"[\w.:-]{1,40}"
_NO_CALL = r"(?![(\[{|])"

# kind, what stands before the value, the value's characters ("" for a quoted one), what ends it
_SYNTAX = (
    (Kind.LITERAL, _SET + _OPENED, "", ""),
    (Kind.LITERAL, _SET + _YAML_TAG + _BLOCK, r"[^\s\"']", r"(?=[\"' \t]{0,8}(?:\r?\n|\Z|[\"'#]))"),
    # `name: X, value: y`, over a line end
    (Kind.LITERAL, rf"(?:[,;]|[ \t]?/>)?{_GAP}{_NEXT_LINE}?[\"'<]?[\w:]{{0,12}}value[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?", r"[^\s\"'<>]", ""),
    (Kind.LINE, rf"{_GAP}(?:[:?+]?=|:){_GAP}{_YAML_TAG}(?!\$[{{(])", r"[^\s\"'`;&]", r"(?<!,)(?=[;&\"']|[ \t]{0,8}(?:\r?\n|#|\Z)|[ \t]\w{2,20}=)"),
    (Kind.BARE, rf"{_GAP}(?:[:?+]?=|:){_GAP}{_YAML_TAG}", BARE, _NO_CALL),
    (Kind.BARE, rf"(?:{_SET}[\"']?\$\{{[\w.]{{1,64}})?{_ELSE}", r"[^\s\"'{}]", r"[\"']?\}"),
    (Kind.BARE, rf"{_GAP}={_GAP}\{{", r"[^\s{}\"']", r"\}(?=[;\"'])"),  # of ODBC
    # `<x>v</x>`, `<key>x</key><string>v</string>`, over line ends
    (Kind.ELEMENT, rf"(?=[ \t<>])[^<>\n]{{0,60}}(?:(?:</{_TAG}>\s{{0,40}}<{_TAG}|>\s{{0,40}}<(?:value|string)))?>\s{{0,40}}", r"[^<>\s\"']", r"\s{0,40}<"),
    (Kind.ELEMENT, r">\s{0,40}<!\[cdata\[", r"[^<>\s\"'\]]", r"\]\]>"),
    # Terraform's `variable "x" { … default = "y" }`, over line ends
    (Kind.LITERAL, rf"[ \t]?\{{[^{{}}]{{0,200}}?\b(?:default|value)[ \t]{{0,12}}=[ \t]{{0,4}}(?:{_BLOCK})?", "", ""),
    (Kind.LOOSE, rf"(?:{_GAP}[,({{])?[ \t]{{1,40}}", "", r"(?=[\s;,)}\]]|\Z)"),
    (Kind.LOOSE, r"[ \t]{1,40}", BARE, r"(?=[\s;,)}\]]|\Z)"),
)  # fmt: skip


def _forms(*, whole: bool) -> tuple[Form, ...]:
    """Return the forms of *whole* values, or of those that end where the text ends."""
    return tuple(
        Form(kind, re.compile(before + (_value(value, whole=whole) if value else _string_pattern(whole=whole)) + (end if whole else r"\Z")))
        for kind, before, value, end in _SYNTAX
    )  # fmt: skip


def _value(chars: str, *, whole: bool, group: int = 1) -> str:
    """Return all *chars* that follow: a look-ahead that is matched again, because `re` never goes back into one."""
    least = 4 if whole else 1
    return rf"(?=({chars}{{{least},{LONGEST}}}))\{group}"


def _string_pattern(*, whole: bool) -> str:
    """Return a string in any language, or one that the line ends before it is closed; prose is none."""
    rows = (
        (r"\"(?:\"\")?", '"'), ("'(?:'')?", "'"), ("`", "`"), (r"\[\[", r"\]"), (r"q[qw]?\{", r"\}"),
    )  # fmt: skip
    strings = "|".join(
        opening
        + _value(rf"[^{closing}\s]", whole=whole, group=n)
        + (rf"(?![ \t]){closing}?" if whole else "")
        for n, (opening, closing) in enumerate(rows, 1)
    )
    return rf"[a-z%@$#]{{0,3}}\(?\\{{0,2}}(?:{strings})"


WHOLE = _forms(whole=True)
"""The forms of whole values."""

GROWING = _forms(whole=False)
"""Those of values that end where the text ends."""

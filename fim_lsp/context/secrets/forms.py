r"""
The names that promise a secret, and the syntax between a name and its value. Data. Pure.

A password may be short and typed by a person, a token is long and random, a mere key is a secret
only where its value cannot be anything else: three ranks, with less and less to go by.

All patterns are for text in small letters. Every repeat is bounded, and none but those that say so
cross a line end: each name costs the same at most.
"""

from __future__ import annotations

import enum
import re
import string
from typing import NamedTuple

from fim_lsp.context.secrets.settings import is_setting
from fim_lsp.context.secrets.values import NAMES, PIECES, PLACES, fill


class Rank(enum.IntEnum):
    """The certainty with which a name promises a secret."""

    KEY = 1
    TOKEN = 2
    PASSWORD = 3


_ABROAD = "|".join(NAMES["abroad"])
_ABOUT = frozenset(NAMES["about"])
_WITHIN, _PASS_OWNERS, _KEY_OWNERS, _PUBLIC = (
    tuple(NAMES[name]) for name in ("within", "pass_owners", "key_owners", "public")
)

WORD = re.compile(
    r"p(?:ass(?:phrases?|wo?r[dt]s?|wd)?|s{0,2}wd|sk|w(?![a-z]))"
    r"|s(?:ecrets?|ig(?:nature)?(?==)|alt)|tokens?|cred(?:entials?|s)|auth(?:orization)?|key|pepper"
    r"|kennw(?:o|ö)rter|" + _ABROAD
)
"""Words that tell, in lower-cased text."""

_LAST_WORD = re.compile(r"(?:[A-Z]?[a-z]{1,40}|[A-Z]{1,40})(?=\d{0,2}\Z)")
NAME_CHARS = string.ascii_letters + string.digits + "_.-"
_AROUND = 40  # characters in front of a word that are looked at


# A name with which a value is set, not passed on: `--x=v`, `--x v`, `X=v`, `;x=v`, `?x=v&x=v`,
# `"x=v"`, `X_Y: v`, and `x=v` at the left margin.
SET = re.compile(
    r"(?:(?<![\w-])--?[\w.-]{0,60}[= \t]{1,4}|(?:-D|[;?&\"'\n])[\w.-]{0,60}="
    r"|(?:^|[^\w.-])[A-Z][A-Z0-9_]{0,60}(?:=|[ \t]\?=[ \t])"
    r"|\n[ \t]{0,40}[A-Z][A-Z0-9]{0,20}_[A-Z0-9_]{1,40}:[ \t])[\"']?\Z"
)
_ALONE = re.compile(r"[\"']?[ \t]{0,8}(?:\r?\n|\Z|--?\w|[|&;\\()#]|\w{1,9}://)")
_NEAR = 100  # characters of a line in front of a name


FOREIGN = re.compile(_ABROAD)
_TOKENS = {"key", "token", "tokens", "auth", "authorization", "signature", "sig"}


def rank(text: str, start: int, end: int, rest: str) -> Rank | None:
    """
    Return the rank of the name in which a `WORD` stands from *start* to *end* of *text*; None for
    nothing.

    *rest* is what follows the word in the name.
    """
    word = text[start:end].lower()
    before = text[max(0, start - _AROUND) : start].removesuffix(" ")
    owner = before[len(before.rstrip(NAME_CHARS)) :].lower().rstrip("_.-")
    begins = _begins(text, start)
    is_folder = word == "pwd" and owner in {"dir", "os", "fileutils", "shell"}
    if is_folder or _is_about(rest) or not (begins or _is_joined_word(word, owner)):
        return None
    if word.startswith(("pass", "pwd", "ps", "pw")) or FOREIGN.fullmatch(word):
        return Rank.PASSWORD
    if "public" in owner or owner.endswith(_PUBLIC):
        return None
    return Rank.KEY if word == "key" and not owner.endswith(_KEY_OWNERS) else Rank.TOKEN


def _begins(text: str, at: int) -> bool:
    """Return whether a word of a name begins at *at*: behind a sign, or with a capital."""
    before = text[at - 1 : at]
    return not before.isalpha() or (before.islower() and text[at].isupper())


def goes_on(text: str, end: int) -> bool:
    """Return whether letters go on the word that ends at *end*: `tokenize`, `passed`, `AUTHOR`."""
    last = text[end - 1]
    following = text[end : end + 1]
    return following.isalpha() and following.islower() == last.islower()


def _is_about(rest: str) -> bool:
    last = _LAST_WORD.search(rest)
    return last is not None and last[0].lower() in _ABOUT


def _is_joined_word(word: str, owner: str) -> bool:
    """Return whether *word* tells although letters stand right before it."""
    if word == "key":
        return owner.endswith(_KEY_OWNERS)
    return word.startswith(_WITHIN) or (word in {"pass", "pw"} and owner.endswith(_PASS_OWNERS))


LONGEST = 300
"""Characters of a value before it is known to be a secret."""


class ValueKind(enum.Enum):
    """The certainty that the value belongs to the name, and that it is a literal."""

    LITERAL = enum.auto()
    GIVEN = enum.auto()  # likewise, maybe without quotes
    FALLBACK = enum.auto()  # a literal further on, that the name has if nothing else sets it
    DEFAULT = enum.auto()  # likewise, and the call or the sign in front of it says so
    BARE = enum.auto()  # unquoted: in a program, it may be a variable
    LINE = enum.auto()  # likewise, all signs up to the end of the line
    PASSED = enum.auto()  # a literal that a call, a macro or a statement of SQL has for the name
    ELEMENT = enum.auto()  # of XML
    LOOSE = enum.auto()  # another argument, the argument of a call, the next word


class ValueForm(NamedTuple):
    """A pattern of what may follow a name; the last group is the value."""

    kind: ValueKind
    pattern: re.Pattern[str]


BARE = PIECES["<bare>"]
"""A character of a value without quotes."""


def _forms(*, whole: bool) -> tuple[ValueForm, ...]:
    """Return the forms of *whole* values, or of those that end where the text ends."""
    string = _string_pattern(whole=whole)
    tail = "" if whole else r"\Z"
    return tuple(
        ValueForm(
            ValueKind[kind],
            re.compile(before + (_value(value, whole=whole) if value else string) + (tail or end)),
        )
        for kind, before, value, end in (map(fill, row) for row in PLACES["syntax"])
    )


def _value(chars: str, *, whole: bool, group: int = 1) -> str:
    """
    Return all *chars* that follow: a look-ahead that is matched again, because `re` never goes back
    into one.
    """
    least = 4 if whole else 1
    return rf"(?=({chars}{{{least},{LONGEST}}}))\{group}"


def _string_pattern(*, whole: bool) -> str:
    """
    Return a string in any language, or one without blanks that the line ends before it is closed.
    """
    rows = (
        (r"\"(?:\"\")?", '"', "?"), ("'(?:'')?", "'", "?"), ("`", "`", "?"), (r"\[\[", r"\]", "?"),
        (r"q[qw]?\{", r"\}", "?"), (r"\"(?:\"\")?", '"', ""), ("'(?:'')?", "'", ""), ("`", "`", ""),
    )  # fmt: skip
    patterns = (
        opening
        + _value("[^" + closing + (r"\s]" if maybe else r"\r\n]"), whole=whole, group=n)
        + (f"(?![ \t]){closing}{maybe}" if maybe else closing) * whole
        for n, (opening, closing, maybe) in enumerate(rows, 1)
    )
    return rf"(?:<<)?[a-z%@$#]{{0,3}}\(?\\{{0,2}}(?:{'|'.join(patterns)})"


WHOLE = _forms(whole=True)
"""The forms of whole values."""

GROWING = _forms(whole=False)
"""Those of values that end where the text ends."""


def narrow(
    kind: ValueKind, text: str, word: re.Match[str], rest: str, start: int, end: int
) -> ValueKind:
    """
    Return the kind of a value from *start* to *end* under a name that ends with *word* and *rest*:
    GIVEN where the text sets the name, BARE behind an option, else *kind*.
    """
    if kind not in {ValueKind.BARE, ValueKind.LOOSE}:
        return kind
    head = f"\n{text[max(0, word.start() - _NEAR) : start]}"
    ends = _ALONE.match(text, end) is not None  # it is no word of prose
    is_set = SET.search(head) is not None and (ends or not head[-1].isspace())
    is_set |= text[start - 2 : start] in {":-", ":="} and text[end : end + 1] == "}"
    is_set |= ends and kind is ValueKind.BARE and FOREIGN.fullmatch(word[0]) is not None
    if is_set and not rest.startswith("."):
        return ValueKind.GIVEN
    if word[0] not in _TOKENS and is_setting(text, start, end):
        return ValueKind.GIVEN
    is_option = text[word.start() - 1 : word.start()] == "-"
    return ValueKind.BARE if is_option else kind

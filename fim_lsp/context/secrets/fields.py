r"""
Secrets by the name in front of them: assignments, calls, settings, flags, headers, elements. Pure.

Where a keyword stands, the end of the name is read, then what stands between it and a value
(`forms`), or in the rest of the statement, then the value is judged (`values`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from fim_lsp.context.secrets.chosen import (
    ABROAD,
    is_given,
    is_joined,
    is_phrase,
    is_sentence,
    is_word,
)
from fim_lsp.context.secrets.forms import (
    BARE,
    GROWING,
    LONGEST,
    NAME_CHARS,
    WHOLE,
    WORD,
    Rank,
    ValueForm,
    ValueKind,
    goes_on,
    narrow,
    rank,
)
from fim_lsp.context.secrets.literals import Literal, literals, open_literals
from fim_lsp.context.secrets.values import (
    MARKS,
    PIECES,
    Span,
    is_mixed,
    is_password,
    is_spaced,
    is_strange,
    is_uuid,
    oddities,
)

# characters of a value by the rank of its name
_LEAST = {Rank.PASSWORD: 4, Rank.TOKEN: 8, Rank.KEY: 16}
_LINE_ODD = {Rank.PASSWORD: 2, Rank.TOKEN: 3}  # of all that stands on a line
# Likewise its oddities: 0.7 % and 0.2 % of other strings have as many.
_TOKEN_ODD = 2
_KEY_ODD = 4


class Field(NamedTuple):
    """
    The value from *start* to *end* of a text, the word at *name* that tells, the *rest* of the
    name; *telling*: in capitals, `secret` or `key`, so that two words are enough; *owned*: it says
    of what, `session_secret`.
    """

    rank: Rank
    kind: ValueKind
    name: int
    rest: str
    telling: bool
    owned: bool
    start: int
    end: int


# The rest of the name, a closing quote, brackets, the size of an array: `_HASH"]`, `[32]`.
_NAME_END = re.compile(
    r"(?P<rest>[\w.-]{0,40})(?:\\{0,2}[\"'`])?(?:[\])]{1,2}(?:[\"'`]\))?|\[\w{0,16}\]|\$|\}(?=[ \t]=))?"
    r"(?=[\s=:：,;({<>|?!+.*%-])"
)
# `passwords = ["…", "…"]`, `PASSWORDS = {"app": "…"}`: a literal in front of a colon is a name.
_ITEMS = re.compile(
    r"[ \t]{0,8}(?:(?::[ \t]?[\w\[\], ]{1,40}?=|:?=>?|:)[ \t]{0,8}(?:[\w.]{0,24}[\[({]{1,2}|%w\[)"
    r"(?=\s{0,40}[\"'`])|\{(?=\s{0,40}\w{1,40}\s{0,8}=\s{0,8}\"))"
)
_ITEM = re.compile(PIECES["<item>"])
_PLURALS = ("words", "tokens", "secrets", "phrases", "ñas", "nas", "has", "örter")
_LISTS = re.compile(r"_?(?:list|map|dict|table|by_?\w{1,20})", re.IGNORECASE)
_ITEMS_CHARS = 1_000  # of a list or a map that are looked at

_MORE = re.compile(f"{BARE}*")
_NEAR = 40  # characters in front of the word that tells
_LINE = 100  # characters of a line in front of a name


def fields(text: str, lower: str) -> Iterator[Span]:
    """Yield the secret values of named fields; *lower* is *text* in small letters, as long."""
    done = 0
    for field in _find(text, lower, WHOLE, literals):
        tells = ABROAD.search(lower, field.start, field.end)  # a text that tells of a password
        value = text[field.start : field.end]
        if field.end <= done or tells or _IDEOGRAM.search(value) or _repeats(text, field, value):
            continue
        if is_secret(field, value):
            done = _whole_end(text, field)
            yield Span(field.start, done, f"value of a {field.rank.name.lower()}")


def _repeats(text: str, field: Field, value: str) -> bool:
    """Return whether *value* is the name once more: `passThrough: "passThrough"`."""
    word = text[field.name : field.name + _SHORT_WORD]
    return word in value and value in text[max(0, field.name - _LINE) : field.start - 1]


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
    forms: tuple[ValueForm, ...],
    further: Callable[[str, int, int], Iterator[Literal]],
) -> Iterator[Field]:
    """Yield each value that may be that of a name, in the first of *forms* that follows it."""
    for word in WORD.finditer(lower):
        name = None if goes_on(text, word.end()) else _NAME_END.match(text, word.end())
        named = name and rank(text, word.start(), word.end(), name["rest"])
        if name is None or named is None:
            continue
        telling = text[word.start() : word.end()].isupper() or word[0] in {"secret", "psk", "key"}
        owned = _OWNED.search(lower, max(0, word.start() - _NEAR), name.end("rest")) is not None
        owned |= telling and named is Rank.PASSWORD
        field = partial(
            Field, named, name=word.start(), rest=name["rest"], telling=telling, owned=owned
        )
        is_list = word[0].endswith(_PLURALS)
        for kind, value in _values(lower, name.end(), forms) if not is_list else ():
            start, stop = value.span(value.lastindex or 0)
            if kind is not ValueKind.LINE or (named in _LINE_ODD and _is_set(text, word.start())):
                stop -= text[stop - 1] == "\\"
                given = narrow(kind, text, word, name["rest"], start, stop)
                yield field(given, start=start, end=stop)
        if forms is WHOLE and (is_list or _LISTS.fullmatch(name["rest"])):
            for start, stop in _items(lower, name.end()):
                yield field(ValueKind.FALLBACK, start=start, end=stop)
        for literal in further(lower, name.end(), _LEAST[named]):
            yield field(literal.kind, start=literal.start, end=literal.end)


def _items(lower: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the literals of the list or the map that begins at *at*, but for the names of a map."""
    begun = _ITEMS.match(lower, at)
    if begun is None:
        return
    for item in _ITEM.finditer(lower, begun.end(), begun.end() + _ITEMS_CHARS):
        if item["end"]:
            return
        if item.lastindex:
            yield item.span(item.lastindex)


def _is_set(text: str, at: int) -> bool:
    """
    Return whether the name at *at* begins its line or follows another setting: `;x=`, `a=b x=`,
    `export x=`.
    """
    line = text[max(0, at - _LINE, text.rfind("\n", max(0, at - _LINE), at) + 1) : at]
    head = line.rstrip(NAME_CHARS)
    words = head.lstrip(MARKS).split()
    if not words or head.endswith((";", "?", "&")):
        return True
    alone = len(words) == 1 and words[0].isalpha()
    return head[-1].isspace() and (alone or "=" in words[-1] or words[-1] == "-e")


def _values(
    lower: str, at: int, forms: tuple[ValueForm, ...]
) -> Iterator[tuple[ValueKind, re.Match[str]]]:
    """Yield the first form that matches, behind that of a whole line."""
    for form in forms:
        value = form.pattern.match(lower, at)
        if value:
            yield form.kind, value
            if form.kind is not ValueKind.LINE:
                return


FALLBACKS = {ValueKind.FALLBACK, ValueKind.DEFAULT}
_CHOSEN = {ValueKind.LITERAL, ValueKind.GIVEN, ValueKind.PASSED, *FALLBACKS}
_LABEL = re.compile(r"[a-z]{1,20}(?:-[a-z]{1,20}){1,5}-\d{1,3}")  # of a class of CSS, a thing
_SAME = {"", "_base", "_key", "_key_base", "_value"}  # behind a word that tells as much as without


_SHORT_WORD = 6
_IDEOGRAM = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)  # a text: no password is typed so
_OWNED = re.compile(  # `session_secret`, `SECRET_KEY`
    r"(?:[a-z\d][_.-]?secret|secret[_.-]?key(?:[_.-]?base)?|passphrase|pass[_-]phrase"
    r"|(?:master|signing|cookie|encryption|jwt)[_.-]?key)\Z"
)


def is_clear(field: Field, value: str) -> bool:
    """Return whether a name that tells has a literal that is no name, reference or placeholder."""
    set_here = field.rank is Rank.PASSWORD and field.kind is ValueKind.LITERAL
    least = 2 if set_here or field.rest.lower() in _SAME else 3
    return len(value) >= _LEAST[Rank.TOKEN] - 2 and is_strange(value, least=least)


def is_told(field: Field, value: str) -> bool:
    """Return whether *value* is words that a user chose as a key: `my cat is orange`."""
    set_here = field.kind in {ValueKind.LITERAL, ValueKind.GIVEN}
    return set_here and field.owned and len(value) > _SHORT_WORD and is_sentence(value)


def is_secret(field: Field, value: str) -> bool:
    """Return whether *value* is one for a name of that rank."""
    whole = field.rest.lower() in _SAME
    if field.kind is ValueKind.LINE:
        is_odd = oddities(value) >= _LINE_ODD[field.rank]
        ends_others = whole and field.rank is Rank.PASSWORD and "&" in value
        return is_odd or (ends_others and is_password(value.replace("&", "")))
    chosen = field.kind in _CHOSEN
    named = field.rank is not Rank.KEY
    spaced = len(value.split()) > 1
    quoted = field.kind in {ValueKind.LITERAL, ValueKind.PASSED}
    joined = field.kind is ValueKind.LITERAL and "." not in value and is_joined(value)
    telling = field.telling and named and whole and chosen
    if (telling and (joined or is_phrase(value, short=True) or is_told(field, value))) or (
        quoted and named and not spaced and is_clear(field, value)
    ):
        return True
    if spaced:
        return named and (is_spaced(value) or (whole and is_phrase(value)))
    if field.rank is Rank.PASSWORD:
        loose = field.kind is ValueKind.LOOSE
        loose |= field.kind in FALLBACKS and _LABEL.fullmatch(value) is not None
        odd = not loose or oddities(value) > 0
        words = is_given if field.kind is ValueKind.PASSED else is_word
        set_so = field.kind in {*_CHOSEN, ValueKind.ELEMENT} - {ValueKind.FALLBACK}
        set_so |= field.kind is ValueKind.BARE and "-" in value
        return (is_password(value) and odd) or (set_so and words(value))
    if field.rank is Rank.TOKEN:
        plain = quoted and not field.rest and value.isalnum()
        prose = field.kind is ValueKind.LOOSE and not value.isascii()
        odd = oddities(value) >= _TOKEN_ODD and not prose
        odd |= plain and is_password(value)
        return len(value) >= _LEAST[Rank.TOKEN] and odd
    is_random = is_mixed(value, kinds=3) and is_strange(value, least=5)
    least = _KEY_ODD - 2 if is_random else _KEY_ODD
    return len(value) >= _LEAST[Rank.KEY] and oddities(value) >= least and not is_uuid(value)

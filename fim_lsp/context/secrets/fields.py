r"""
Secrets by the name in front of them: assignments, calls, settings, flags, headers, elements. Pure.

Where a keyword stands, the end of the name is read, then what stands between it and a value
(`forms`), or in the rest of the statement, then the value is judged (`values`).

`SECRET = getenv("X") or "…"`, `option("--password", type=str, default="…")`: the syntax between
the two is any language's, so it is not read. A literal is the name's unless another name sets it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from fim_lsp.context.secrets.chosen import ABROAD, is_given, is_joined, is_phrase, is_word
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

_REACH = 240  # characters behind a name, of four lines at most
_LINES = 4
_SOME = 10  # literals that are looked at
_BEFORE = 60  # characters in front of a literal that say whose it is

# The closing quote is not consumed: if the name stands inside of a literal, it opens the next one.
_BLOCK = r"[\"']{3}\\?|@[\"']|<<<?[-~]?[\"']?\w{1,20}[\"']?|:[ \t]{1,4}[|>][\d+-]{0,2}"
_LITERAL = re.compile(
    r"\"([^\"\s]{4,300})(?=\")|'([^'\s]{4,300})(?=')|`([^`\s]{4,300})(?=`)"
    rf"|(?:{_BLOCK})[ \t]{{0,4}}\r?\n[ \t]{{0,40}}([^\s\"']{{4,300}})(?=[\"']|[ \t]{{0,4}}(?:\r?\n"
    rf"|\Z))"
)
_OPEN_LITERAL = re.compile(r"[\"'`]([^\"'`\s]{1,300})\Z")

# Signs at the end of a line, or at the beginning of the next, that the statement goes on.
_OPEN = re.compile(rf"(?:[(\[{{,=\\|?:+&.]|\bor|\belse|{_BLOCK})[ \t\r]{{0,8}}\Z")
_LINE_END = 30  # characters of a line that may tell
_GOES_ON = re.compile(r"[ \t]{0,40}(?:[|?:.+)\"'`]|or\b|[<\"']?(?:default|value)\b)")
# after a word that is not a field name
_PROSE = re.compile(r"[ \t]{1,40}(?:`|(?!as\b|string\b)\w{1,40}[ \t]{1,8}[\w`])")
_NAME = re.compile(r"[\"'`][ \t]{0,4}(?:=>|:(?!:))")  # behind a literal that is a name
_END = re.compile(r";(?<![gs]et;)(?=\s|\Z)")
_IN_BRACES = re.compile(r"[ \t]{0,4}\{[ \t]{0,4}\r?\n")

_PREFIX = r"[\s(]{0,12}[a-z@$#]{0,3}[\"']{0,2}\Z"  # of a literal, up to its last quote
_OWNER = re.compile(rf"([\w-]{{1,40}})[\"'\])]{{0,2}}\s{{0,8}}(:=|=>?|:){_PREFIX}")
_NEUTRAL = re.compile(
    r"(?:default|fallback|initial|std|string)?_?-?(?:default|fallback|initial|value|val|def|string)"
    r"s?"
)
# `x or "v"`, `x.or_else("v")`, `f("x", "v")`
_FALLBACK = re.compile(PIECES["<fallback>"] + _PREFIX)


_MAY_TELL = re.compile(r"\d|[a-z][!@#%^*?~$&][a-z]")  # a secret that is not letters only


class Literal(NamedTuple):
    """
    The characters from *start* to *end*; *fallback*: what the name has if nothing else sets it.
    """

    start: int
    end: int
    fallback: bool


def literals(lower: str, at: int, least: int) -> Iterator[Literal]:
    """Yield literals of *least* characters or more behind *at*, the end of a name, that are its."""
    near = lower[at : at + _REACH]
    if not any(sign in near for sign in "\"'`\n") or _PROSE.match(lower, at):
        return
    end = _statement_end(lower, at)
    for n, match in enumerate(_LITERAL.finditer(lower, at, end)):
        if n == _SOME:
            return
        start, stop = match.span(match.lastindex or 0)
        if stop - start >= least and (
            _MAY_TELL.search(lower, start, stop) or lower[start:stop].isalpha()
        ):
            yield from _belonging(lower, at, start, stop)


def open_literals(lower: str, at: int, _least: int) -> Iterator[Literal]:
    """Yield the literal that is not closed where the text ends, however short it is so far."""
    match = _OPEN_LITERAL.search(lower, at) if _statement_end(lower, at) == len(lower) else None
    if match:
        yield from _belonging(lower, at, *match.span(1))


def _belonging(lower: str, at: int, start: int, end: int) -> Iterator[Literal]:
    if _NAME.match(lower, end) or "://" in lower[start:end]:
        return
    before = lower[max(0, start - 1 - _BEFORE) : start - 1]
    owner = _OWNER.search(before, max(0, len(before) - (start - 1 - at)))
    chosen = owner and owner[2] == ":" and "?" in before
    if owner is None or chosen or _NEUTRAL.fullmatch(owner[1]):
        yield Literal(start, end, owner is not None or _FALLBACK.search(before) is not None)


def _statement_end(text: str, at: int) -> int:
    """Return the end of the statement, or of the part that is looked at."""
    end = at
    limit = min(len(text), at + _REACH)
    if _IN_BRACES.match(text, at):
        closed = text.find("}", at, limit)
        return limit if closed < 0 else closed
    for _ in range(_LINES):
        line = text.find("\n", end, limit)
        if line < 0:
            end = limit
            break
        opened = _OPEN.search(text[max(at, line - _LINE_END) : line])
        if not (opened or _GOES_ON.match(text, line + 1)):
            end = line
            break
        end = line + 1
    semicolon = _END.search(text, at, end)
    return semicolon.start() if semicolon else end


# characters of a value by the rank of its name
_LEAST = {Rank.PASSWORD: 4, Rank.TOKEN: 8, Rank.KEY: 16}
_LINE_ODD = {Rank.PASSWORD: 2, Rank.TOKEN: 3}  # of all that stands on a line
# Likewise its oddities: 0.7 % and 0.2 % of other strings have as many.
_TOKEN_ODD = 2
_KEY_ODD = 4


class Field(NamedTuple):
    """
    The value from *start* to *end* of a text, the word at *name* that tells, the *rest* of the
    name; *telling*: in capitals, `secret` or `key`, so that two words are enough.
    """

    rank: Rank
    kind: ValueKind
    name: int
    rest: str
    telling: bool
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
_LINE = 100  # characters of a line in front of a name


def fields(text: str, lower: str) -> Iterator[Span]:
    """Yield the secret values of named fields; *lower* is *text* in small letters, as long."""
    done = 0
    for field in _find(text, lower, WHOLE, literals):
        tells = ABROAD.search(lower, field.start, field.end)  # a text that tells of a password
        if field.end > done and not tells and is_secret(field, text[field.start : field.end]):
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
        field = partial(Field, named, name=word.start(), rest=name["rest"], telling=telling)
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
            kind = ValueKind.FALLBACK if literal.fallback else ValueKind.LOOSE
            yield field(kind, start=literal.start, end=literal.end)


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


_CHOSEN = {ValueKind.LITERAL, ValueKind.GIVEN, ValueKind.FALLBACK, ValueKind.PASSED}
_LABEL = re.compile(r"[a-z]{1,20}(?:-[a-z]{1,20}){1,5}-\d{1,3}")  # of a class of CSS, a thing
_SAME = {"", "_base", "_key", "_key_base", "_value"}  # behind a word that tells as much as without


def is_clear(field: Field, value: str) -> bool:
    """Return whether a name that tells has a literal that is no name, reference or placeholder."""
    set_here = field.rank is Rank.PASSWORD and field.kind is ValueKind.LITERAL
    least = 2 if set_here or field.rest.lower() in _SAME else 3
    return len(value) >= _LEAST[Rank.TOKEN] - 2 and is_strange(value, least=least)


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
    if (telling and (joined or is_phrase(value, short=True))) or (
        quoted and named and not spaced and is_clear(field, value)
    ):
        return True
    if spaced:
        return named and (is_spaced(value) or (whole and is_phrase(value)))
    if field.rank is Rank.PASSWORD:
        loose = field.kind is ValueKind.LOOSE
        loose |= field.kind is ValueKind.FALLBACK and _LABEL.fullmatch(value) is not None
        odd = not loose or oddities(value) > 0
        words = is_given if field.kind is ValueKind.PASSED else is_word
        set_so = field.kind in {*_CHOSEN, ValueKind.ELEMENT} - {ValueKind.FALLBACK}
        set_so |= field.kind is ValueKind.BARE and "-" in value
        return (is_password(value) and odd) or (set_so and words(value))
    if field.rank is Rank.TOKEN:
        plain = quoted and not field.rest and value.isalnum()
        odd = oddities(value) >= _TOKEN_ODD or (plain and is_password(value))
        return len(value) >= _LEAST[Rank.TOKEN] and odd
    is_random = is_mixed(value, kinds=3) and is_strange(value, least=5)
    least = _KEY_ODD - 2 if is_random else _KEY_ODD
    return len(value) >= _LEAST[Rank.KEY] and oddities(value) >= least and not is_uuid(value)

r"""
Secrets by where they stand: URLs, headers, command lines, SQL, calls with a user's name. Pure.

Each form begins with one of a few words. The words are looked for in small letters, and the form is
tried only there; every repeat is bounded, so a word costs the same at most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fim_lsp.context.secrets.chosen import is_chosen, is_given, is_sentence
from fim_lsp.context.secrets.settings import is_setting
from fim_lsp.context.secrets.values import (
    MARKS,
    NAMES,
    PIECES,
    PLACES,
    Span,
    fill,
    is_mixed,
    is_random_so_far,
    is_reference,
    is_uuid,
    oddities,
)


class CredentialForm(NamedTuple):
    """Behind one of *words* stands the secret, group 1; *is_given*: what is not random, and one."""

    name: str
    words: tuple[str, ...]
    whole: re.Pattern[str]
    growing: re.Pattern[str]
    is_given: Callable[[str], bool]


_GIVEN = {
    "token": str.isspace, "password": is_given, "word": is_chosen, "phrase": is_sentence,
    "bytes": str.isascii,
}  # fmt: skip
_RANDOM = 2  # oddities of a token that has no name


def _form(kind: str, words: list[str], *parts: str) -> CredentialForm:
    """Return the form of a row of `places.toml`."""
    before, value, count, end = map(fill, parts)
    typed = count if "://" in words else f"1,{count.rpartition(',')[2]}"
    return CredentialForm(
        f"{kind} by its place",
        tuple(words),
        re.compile(f"(?i){before}({value}{{{count}}}){end}"),
        re.compile(rf"(?i){before}({value}{{{typed}}})\Z"),
        _GIVEN[kind],
    )


_FORMS = tuple(_form(*row) for row in PLACES["places"])

# A long and random value is a secret under any name, unless its line says that it is public; a
# hash, letters in one case or a word of a sentence only where the line names what has a secret.
_RUN = re.compile(r"[A-Za-z0-9+/_.~-]{20,}+={0,2}")
_DIGIT = re.compile(r"\d")
_PATH = re.compile(r"(?:[a-z0-9]{2,6}[._])?+(?=[^/]*/)[^._~-]*[._~-]")  # no alphabet has both
_START = r"(?<![^\s\"'`=:,(\[{>|;])"
_LONG = re.compile(
    rf"(?!//)(?:{_START}|(?<=/token/)|(?<=/key/)|(?<=/secret/))"
    r"([A-Za-z0-9+/_.~-]{20,}+={0,2})(?![^\s\"'`,;:)\]}<&])"
)
_OPEN_LONG = re.compile(_START + r"([A-Za-z0-9+/_-]{12,200})\Z")
_AROUND = 120  # characters of a line on both sides that are looked at
_PUBLIC = re.compile("|".join(NAMES["public_lines"]))
_NEAR = re.compile("|".join(NAMES["secret_lines"]))
_ABOVE = 500  # in front of a literal in a line of its own
_ALONE = 4  # oddities of a long value; twice as many where all its letters are of one case
_BARE = 32  # characters of one that stands in no quotes
_HEXADECIMAL = re.compile(r"(?:0x)?(?:[0-9a-f]{32,}|[0-9A-F]{32,})")

# User and password in front of an address: in URLs, and in Go's names of data sources.
_LINE = re.compile("|".join(f"(?:{row})" for row in PLACES["lines"]), re.MULTILINE)
_COMMENT = re.compile(
    "|".join(f"(?:{row})" for row in PLACES["comments"]), re.MULTILINE | re.IGNORECASE
)
_PHRASE = re.compile(PIECES["<phrase>"])
_TELLS = (
    "passw", "passphrase", "pass_phrase", "kennwort", "pw", "login", "log in", "cred", "account",
    *NAMES["abroad_words"],
)  # fmt: skip
_NAMED = ("pass", "secret", "token", "pwd", "key")  # of columns
_NEAR_LINE = 240  # characters on either side of a word
# A table with a name for each column, and its rows.
_TABLE = re.compile(PIECES["<table>"])
_INSERT = re.compile(PIECES["<insert>"])
_VALUE = re.compile(r"(?:'([^'\n]{0,300})'|[^\s,()'][^,()'\n]{0,100})(?=[ \t]{0,4}(?:,|\Z))")
_COPIED = re.compile(r"([^\t\n]{1,300})(?:\t|\Z)")
_CELL = re.compile(r"\"([^\"\n]{0,300})\"(?=[,;\t|]|\Z)|([^,;\t|]{0,300})")
_SECRET_COLUMN = re.compile(PIECES["<secret column>"])
_URL_PASSWORD = re.compile(r"://([^\s:/@\"'<>]{0,64}):([^\s/\"'<>]{2,255})@")
_ADDRESS = re.compile(r"@(?:tcp|udp|unix)\(")
_ROW = 2_000  # characters of a row
_CELLS = 21  # of a row
_SOURCE = 265  # characters of a user and a password
_IN_FRONT = re.compile(r"([\w.+-]{1,64}):([^\s\"'`]{2,200})\Z")
_URL_PASSWORD_GROWING = re.compile(  # a port has no other characters than digits
    r"://[^\s:/@\"'<>]{0,64}:(?![$%*])(?=\d{0,255}[^\d\s/\"'<>{}])([^\s/\"'<>{}]{1,255})\Z"
)
_PLACEHOLDER = re.compile(PIECES["<no password>"])


_LETTERS = re.compile("[a-z]{2,}")
_WORDS = {  # with the letters of each that are looked for first
    word: max(_LETTERS.findall(word), key=len, default="")
    for word in (*_TELLS, *_NAMED, "stdin;", *(word for form in _FORMS for word in form.words))
}


def credentials(text: str, lower: str) -> Iterator[Span]:
    """
    Yield every credential that its surroundings tell; *lower* is *text* in small letters, as long.
    """
    here = _words_in(lower)
    for form in _FORMS:
        for match in _matches(here.intersection(form.words), form.whole, text, lower):
            if oddities(match[1]) >= _RANDOM or form.is_given(match[1]):
                yield Span(*match.span(1), form.name)
    for match in _URL_PASSWORD.finditer(text):
        user, password = match.groups()
        if password != user and not (_PLACEHOLDER.fullmatch(password) or is_reference(password)):
            yield Span(*match.span(2), "password in a URL")
    for line in _LINE.finditer(text):
        if is_given(line[line.lastindex or 0]):
            yield Span(*line.span(line.lastindex or 0), "password in a line of its format")
    lines = [*_find_lines(lower, here.intersection(_TELLS))]
    yield from _comments(text, lines)
    yield from _cells(text, lower, [*lines, *_find_lines(lower, here.intersection(_NAMED))])
    yield from _insert(text, lower) if here & {"values", "stdin;"} else ()
    yield from _long_values(text, lower)
    for address in _ADDRESS.finditer(text):
        source = _IN_FRONT.search(text, max(0, address.start() - _SOURCE), address.start())
        if source and not (_PLACEHOLDER.fullmatch(source[2]) or is_reference(source[2])):
            yield Span(*source.span(2), "password of a data source")


def _find_lines(lower: str, words: set[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines that have one of *words*, of a long one what is near: each once a word."""
    for word in words:
        at = lower.find(word)
        while at >= 0:
            start = max(lower.rfind("\n", 0, at) + 1, at - _NEAR_LINE)
            end = lower.find("\n", at, at + _NEAR_LINE)
            end = at + _NEAR_LINE if end < 0 else end
            yield start, end
            at = lower.find(word, end)


def _comments(text: str, lines: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Yield what comments, prose and settings tell of a password in words."""
    for start, end in {*lines}:
        words = _PHRASE.match(text, start, end)
        if words and is_sentence(words[1]) and is_setting(text, *words.span(1)):
            yield Span(*words.span(1), "passphrase in settings")
        told = _COMMENT.search(text, start, end)
        if told and is_chosen(told[told.lastindex or 0]):
            yield Span(*told.span(told.lastindex or 0), "password in prose")


def _long_values(text: str, lower: str) -> Iterator[Span]:
    """Yield what is long and random."""
    for run in _RUN.finditer(text):
        match = _DIGIT.search(run[0]) and _LONG.search(text, run.start(), run.end() + 1)
        if match and _is_long_secret(match[1], lower, *match.span(1)):
            yield Span(*match.span(1), "long random value")


def _is_long_secret(value: str, lower: str, start: int, end: int) -> bool:
    """Return whether *value* is random, and a secret by what stands around it in its line."""
    odd = oddities(value)
    line_end = lower.find("\n", end, end + _AROUND)
    before = lower[max(lower.rfind("\n", 0, start) + 1, start - _AROUND) : start]
    behind = lower[end : end + _AROUND if line_end < 0 else line_end]
    # Of a literal in a line of its own, the line above may tell.
    alone = before.strip() in {'"', "'", "`"}
    above = lower[max(0, start - _ABOVE) : start] if alone else before
    if odd < _ALONE or is_uuid(value[-36:]) or _PATH.match(value) or _PUBLIC.search(above):
        return False
    near = any(map(_NEAR.search, (above, lower[start:end], behind)))
    long = odd >= 2 * _ALONE or _HEXADECIMAL.search(value) is not None
    quoted = before.endswith(('"', "'", "`", "=")) and "://" not in before
    bare = long and len(value) >= _BARE and "/" not in value and before[-1:] in {"", " ", "\t", ">"}
    # Maybe a line of a certificate, below another one.
    if not (before.strip(MARKS) or behind.strip()):
        above = lower[max(0, start - len(before) - 2) : start - len(before)]
        bare = bare and not (above + lower[end : end + len(behind) + 2]).strip()
    return (near and long) or ((near or quoted or bare) and is_mixed(value, kinds=3))


def _cells(text: str, lower: str, lines: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Yield the passwords and tokens in tables of values that commas or their like divide."""
    done = 0
    for start, _ in sorted({*lines}):
        head = _TABLE.match(lower, start) if start >= done else None
        if head is None:
            continue
        names = re.split(r"[,;\t|]", head[0].strip())
        columns = {
            n for n, name in enumerate(names) if _SECRET_COLUMN.fullmatch(name.strip(" \"'"))
        }
        done = head.end() + 1
        while columns and sum(map(bool, names)) > 1 and done < len(text):
            end = text.find("\n", done)
            end = len(text) if end < 0 else end
            spans = _split(text, done, min(end, done + _ROW)) if end > done else []
            if len(spans) != len(names):
                break
            for n in columns:
                value = text[slice(*spans[n])]
                if is_chosen(value) or oddities(value) >= _RANDOM:
                    yield Span(*spans[n], "column of a table")
            done = end + 1


def _insert(text: str, lower: str) -> Iterator[Span]:
    """Yield the passwords and tokens in rows that SQL inserts, also by `COPY … FROM stdin`."""
    for head in _INSERT.finditer(lower):
        names = [name.strip(' "`[]') for name in head[1].split(",")]
        columns = [n for n, name in enumerate(names) if _SECRET_COLUMN.fullmatch(name)]
        cell, row = (_COPIED, "\n") if head[2] else (_VALUE, ")")
        end = min(len(text), head.end() + _ROW)
        at = head.end()
        while columns and (stop := lower.find(row, at, end)) >= 0 and lower[at:stop].strip(" ,\n;"):
            cells = [*cell.finditer(text, at, stop)]
            for n in columns if len(cells) == len(names) else ():
                if is_chosen(cells[n][1] or ""):
                    yield Span(*cells[n].span(1), "value of a row")
            at = stop + 1


def _split(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the cells of a row begin and end, without their quotes."""
    spans: list[tuple[int, int]] = []
    at = start
    while at <= end and len(spans) <= _CELLS:
        cell = _CELL.match(text, at, end)
        if cell is None:
            break
        first, last = cell.span(cell.lastindex or 0)
        shown = text[first:last]
        spans.append((last - len(shown.lstrip()), first + len(shown.rstrip())))
        at = cell.end() + 1
    return spans


def growing_credentials(text: str, lower: str) -> Iterator[int]:
    """
    Yield the start of each credential that ends with *text* and is incomplete; in a URL, a port is
    none.
    """
    here = _words_in(lower)
    for form in _FORMS:
        for match in _matches(here.intersection(form.words), form.growing, text, lower):
            if is_random_so_far(match[1]):
                yield match.start(1)
    if (value := _OPEN_LONG.search(text)) and _is_long_secret(value[1], lower, *value.span(1)):
        yield value.start(1)
    if growing := _URL_PASSWORD_GROWING.search(text):
        yield growing.start(1)


def _words_in(lower: str) -> set[str]:
    """Return those of all words that *lower* has, and maybe some more: of a text, few are."""
    runs = " ".join({*_LETTERS.findall(lower)})
    return {word for word, run in _WORDS.items() if run in runs}


def _matches(
    words: Iterable[str], pattern: re.Pattern[str], text: str, lower: str
) -> Iterator[re.Match[str]]:
    """Yield the matches of *pattern* behind one of *words*."""
    for word in words:
        at = lower.find(word)
        while at >= 0:
            if match := pattern.match(text, at + len(word)):
                yield match
            at = lower.find(word, at + len(word))

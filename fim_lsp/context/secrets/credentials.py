r"""
Secrets by where they stand: URLs, headers, command lines, SQL, calls with a user's name. Pure.

Each form begins with one of a few words. Those are looked for in small letters, and the form is
tried only there; every repeat is bounded, so a word costs the same at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fim_lsp.context.secrets.values import (
    Span,
    is_given,
    is_password,
    is_random_so_far,
    is_reference,
    is_strange,
    oddities,
)


class CredentialForm(NamedTuple):
    """Behind one of *words* stands the secret, group 1; *named*: a password by its place."""

    name: str
    words: tuple[str, ...]
    whole: re.Pattern[str]
    growing: re.Pattern[str]
    named: bool


_RANDOM = 2  # oddities of a token that has no name
_OPTION = r"[^\n|;]{0,100}?[ \t]"  # from a command to one of its options
_WORD = r"[^\s\"']"
_QUOTED = r"[^\n\"'`]"
_COOKIES = r"(?:[\w.-]{1,40}=[^;\s\"']{0,200};[ ]?){0,8}"
_SESSION = r"[\w.-]{0,20}(?:sess|sid|auth|token|jwt)[\w.-]{0,20}"

# what it is, the words, what stands between a word and the secret, its characters, how many, its
# end
_SYNTAX = (
    ("token", "://", r"(?:[\w.%+-]{1,64}:)?", r"[^\s:/@\"'<>.]", "16,255", "@"),
    ("token", "bearer", r"[ \t]{1,8}", r"[\w.~+/=-]", "12,4000", ""),
    ("token", "basic", r"[ \t]{1,8}", r"[A-Za-z0-9+/_=-]", "12,1000", ""),
    ("token", "authorization", r"[\"']?[:,][ \t]{0,4}[\"']?[a-z][\w-]{2,20}[ \t]{1,4}",
     r"[\w.~+/=-]", "12,4000", ""),
    # the keys and salts of WordPress: 64 signs, spaces among them
    ("token", "_key _salt", r"[\"'],[ \t]{0,20}[\"']", r"[^\"'\n]", "60,70", r"[\"']"),
    ("password", "mysql mariadb", rf"{_OPTION}-p[\"']?(?!-)", _WORD, "5,200", ""),
    ("password", "sshpass login", rf"{_OPTION}-p[ \t]{{0,4}}[\"']?(?!-)", _WORD, "5,200", ""),
    ("password", "redis-cli", rf"{_OPTION}-a[ \t]{{1,4}}[\"']?(?!-)", _WORD, "5,200", ""),
    ("password", "-u", r"(?:ser)?[ =]{0,4}[\"']?[\w.@+-]{0,64}[:%][\"']?", _WORD, "5,200", ""),
    ("password", "ldap",
     rf"(?:search|add|modify|delete|whoami|passwd){_OPTION}-w[ \t]{{0,4}}[\"']?(?!-)", _WORD,
     "5,200", ""),
    ("password", "jdbc:oracle", r":\w{2,5}:[\w.$#-]{1,64}/", r"[^\s\"'@]", "3,200", "@"),
    ("password", "sqlplus", rf"{_OPTION}[\"']?[\w.$#-]{{1,64}}/", r"[^\s\"'@/]", "3,200", "@"),
    ("password", "-pass", r"(?:in|out)?[ \t]{1,4}[\"']?pass:", _WORD, "5,200", ""),
    ("password", "echo", r"[ \t]{1,4}[\"']?", r"[^\s\"'|]", "6,200",
     r"[\"']?[ \t]{0,4}\|[^\n]{0,80}--password-stdin"),
    ("password", "securestring", r"[ \t]{1,8}(?:-string[ \t]{1,8})?[\"']", _QUOTED, "5,200",
     r"[\"']"),
    ("password", "identified", r"[ \t]{1,8}(?:with[ \t]{1,8}\w{1,40}[ \t]{1,8})?by[ \t]{1,8}[\"']",
     _QUOTED, "5,200", r"[\"']"),
    ("password", "jwt.sign jwt.verify jwt.encode jwt.decode sign( verify(",
     r"\(?[^\n\"'`]{0,100}?,[ \t]{0,4}b?[\"'`]", _QUOTED, "6,200", r"[\"'`][ \t]{0,4}[,)]"),
    ("password", "createhmac createcipheriv hmac.hexdigest hash_hmac hmac.digest",
     (r"[ \t]?\([^\n\"'`]{0,30}[\"'`]?[\w-]{0,20}[\"'`]?,[ \t]{0,4}(?:\$\w{1,30},[ \t]{0,4}"
     r")?b?[\"'`]"), _QUOTED, "6,200", r"[\"'`]"),
    ("password", ("cookieparser hmac.new fernet signer serializer cookiesigner basicauth "
    "setpassword hs256 withsecret secretstr"),
     r"[ \t]?\(b?[\"'`]", _QUOTED, "6,200", r"[\"'`]"),
    ("password", "/user: /u:",
     r"(?:(?<=\s/user:)|(?<=\s/u:))[\w.@\\-]{1,64}[ \t]{1,8}(?:/p:)?[\"']?(?![/-])", _WORD,
     "5,200", ""),
    ("password", "7z 7za 7zz unrar rar", rf"{_OPTION}-h?p[\"']?(?!-)", _WORD, "5,200", ""),
    ("password", "zip", rf"{_OPTION}(?:-p|--password)[ \t]{{1,4}}[\"']?(?!-)", _WORD, "5,200", ""),
    ("token", "cookie", rf"[\"']?[:,=][ \t]{{0,4}}[\"'`]?{_COOKIES}{_SESSION}=", r"[\w.~+/=%:-]",
     "12,2000", ""),
    ("password", "auth login credential connect pdo",
     r"(?:s|ion)?[ =]{0,3}\([^()\n]{0,80}?[\"'][^\"'\n]{1,64}[\"'],[ \t]{0,4}[\"']", _QUOTED,
     "6,200", r"[\"']"),
)  # fmt: skip
_FORMS = tuple(
    CredentialForm(
        f"{name} by its place",
        tuple(words.split()),
        re.compile(f"(?i){before}({value}{{{count}}}){end}"),
        re.compile(rf"(?i){before}({value}{{{count if words == '://' else '1,500'}}})\Z"),
        name == "password",
    )
    for name, words, before, value, count, end in _SYNTAX
)

# User and password in front of an address: in URLs, and in Go's names of data sources.
_PGPASS = re.compile(
    r"(?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,64}:[\w.*@-]{1,64}:([^\s:\"'][^\s\"']{3,200})$"
)
# A table with a name for each column, and its rows.
_TABLE = re.compile(
    r"(?m)^[ \t]{0,8}\|?(?=[^\n]{0,400}(?:passw|secret|token|pwd))[\w \"'-]{1,40}(?:[,;\t"
    r"|][\w \"'-]{0,40}){1,20}\r?$"
)
_CELL = re.compile(r"\"([^\"\n]{0,300})\"(?=[,;\t|]|\Z)|([^,;\t|]{0,300})")
_SECRET_COLUMN = re.compile(
    r"[\w -]{0,30}(?:passw(?:or)?d|passwort|secret|token|pwd|api[_ -]?key|access[_ -]?key)"
)
_URL_PASSWORD = re.compile(r"://([^\s:/@\"'<>]{0,64}):([^\s/\"'<>]{2,255})@")
_ADDRESS = re.compile(r"@(?:tcp|udp|unix)\(")
_ROW, _CELLS = 2_000, 21  # characters and cells of a row
_SOURCE = 265  # characters of a user and a password
_IN_FRONT = re.compile(r"([\w.+-]{1,64}):([^\s\"'`]{2,200})\Z")
_URL_PASSWORD_GROWING = re.compile(  # a port has no other characters than digits
    r"://[^\s:/@\"'<>]{0,64}:(?![$%*])(?=\d{0,255}[^\d\s/\"'<>{}])([^\s/\"'<>{}]{1,255})\Z"
)
_PLACEHOLDER = re.compile(
    r"(?i)user(?:name)?|pass(?:w(?:or)?d)?|pw|pwd|secret|token|redacted|[x*.]+|\W.*"
)


def credentials(text: str, lower: str) -> Iterator[Span]:
    """
    Yield every credential that its surroundings tell; *lower* is *text* in small letters, as long.
    """
    for form in _FORMS:
        for match in _matches(form.words, form.whole, text, lower):
            if oddities(match[1]) >= _RANDOM or (form.named and is_given(match[1])):
                yield Span(*match.span(1), form.name)
    for match in _URL_PASSWORD.finditer(text):
        user, password = match.groups()
        if password != user and not (_PLACEHOLDER.fullmatch(password) or is_reference(password)):
            yield Span(*match.span(2), "password in a URL")
    for line in _PGPASS.finditer(text):
        if not is_reference(line[1]) and (is_password(line[1]) or is_strange(line[1], least=2)):
            yield Span(*line.span(1), "password of a line of .pgpass")
    yield from _cells(text, lower)
    for address in _ADDRESS.finditer(text):
        source = _IN_FRONT.search(text, max(0, address.start() - _SOURCE), address.start())
        if source and not (_PLACEHOLDER.fullmatch(source[2]) or is_reference(source[2])):
            yield Span(*source.span(2), "password of a data source")


def _cells(text: str, lower: str) -> Iterator[Span]:
    """Yield the passwords and tokens in tables of values that commas or their like divide."""
    done = 0
    for head in _TABLE.finditer(lower):
        if head.start() < done:
            continue
        names = re.split(r"[,;\t|]", head[0].strip())
        columns = {
            n for n, name in enumerate(names) if _SECRET_COLUMN.fullmatch(name.strip(" \"'"))
        }
        done = head.end() + 1
        while columns and done < len(text):
            end = text.find("\n", done)
            end = len(text) if end < 0 else end
            spans = _split(text, done, min(end, done + _ROW)) if end > done else []
            if len(spans) != len(names):
                break
            for n in columns:
                value = text[slice(*spans[n])]
                if is_given(value) or oddities(value) >= _RANDOM:
                    yield Span(*spans[n], "column of a table")
            done = end + 1


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
    for form in _FORMS:
        for match in _matches(form.words, form.growing, text, lower):
            if is_random_so_far(match[1]):
                yield match.start(1)
    growing = _URL_PASSWORD_GROWING.search(text)
    if growing:
        yield growing.start(1)


def _matches(
    words: tuple[str, ...], pattern: re.Pattern[str], text: str, lower: str
) -> Iterator[re.Match[str]]:
    """Yield the matches of *pattern* behind one of *words*."""
    for word in words:
        for at in _places(word, lower):
            match = pattern.match(text, at + len(word))
            if match is not None:
                yield match


def _places(word: str, text: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))

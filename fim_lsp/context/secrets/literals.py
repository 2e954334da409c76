r"""
The literals further on in the statement of a name, that are the name's. Pure.

`SECRET = getenv("X") or "…"`, `option("--password", type=str, default="…")`: the syntax between
the two is any language's, so it is not read. A literal is the name's unless another name sets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fim_lsp.context.secrets.forms import ValueKind
from fim_lsp.context.secrets.values import PIECES

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
_OTHER = re.compile(r"[\"'][\w.-]{1,40}[\"'][ \t]{0,4}=>")  # a name that has its own
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
_DEFAULT = re.compile(PIECES["<chosen>"] + _PREFIX)


_MAY_TELL = re.compile(
    r"\d|[a-z][!@#%^*?~$&][a-z]|[a-z]{3}[-_.][a-z]{3}"
)  # a secret that is not letters only


class Literal(NamedTuple):
    """
    The characters from *start* to *end*; *kind*: DEFAULT or FALLBACK for what the name has if
    nothing else sets it.
    """

    start: int
    end: int
    kind: ValueKind


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
    if _NAME.match(lower, end) or "://" in lower[start:end] or _OTHER.search(lower, at, start - 1):
        return
    before = lower[max(0, start - 1 - _BEFORE) : start - 1]
    owner = _OWNER.search(before, max(0, len(before) - (start - 1 - at)))
    chosen = owner and owner[2] == ":" and "?" in before
    if owner is None or chosen or _NEUTRAL.fullmatch(owner[1]):
        is_fallback = owner is not None or _FALLBACK.search(before) is not None
        kind = ValueKind.FALLBACK if is_fallback else ValueKind.LOOSE
        yield Literal(start, end, ValueKind.DEFAULT if _DEFAULT.search(before) else kind)


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

r"""
Tokens of known issuers, whole or as far as they are typed, by the forms in `issuers.txt`. Pure.

Most prefixes end with a sign, so one pass over the signs that a long word follows finds all of
them, however many there are: 7 ms per megabyte. Nothing here backtracks over more than a token.
"""

from __future__ import annotations

import itertools
import operator
import pkgutil
import re
import string
from collections.abc import Iterator
from typing import NamedTuple

from fim_lsp.context.secrets.values import Span, is_mixed, is_random_so_far, oddities


class Issuer(NamedTuple):
    """A whole token has *length* characters behind its prefix; *doubtful*: names begin so, too."""

    name: str
    length: int
    doubtful: bool


class TokenForm(NamedTuple):
    """
    A token with the literal *mark* in it, and its form from there on; *late*: so many characters
    stand before.

    *growing* is the form of the beginning of one that ends a text.
    """

    name: str
    mark: str
    pattern: re.Pattern[str]
    growing: re.Pattern[str]
    late: int

    def find_start(self, text: str, at: int) -> int:
        """Return where the token begins whose mark stands at *at*."""
        return min(_word_start(text, at), at - self.late) if self.late else at


class Row(NamedTuple):
    """A line of the file."""

    name: str
    source: str
    after: str
    prefixes: str
    before: str = ""


_ALPHABETS = {
    "d": r"\d", "h": "[0-9a-f]", "A": "[A-Z0-9]", "w": "[A-Za-z0-9]", "u": r"[\w-]",
    "b": "[A-Za-z0-9+/=]", "c": r"[\w.,:$+/=@~-]",
}  # fmt: skip
_PIECE = re.compile(
    r"(?P<alphabet>[dhAwubc])(?P<least>\d+)(?:-(?P<most>\d+))?(?P<exactly>!?)|(?P<sign>.)"
)
_SIGNS = "_.~-"  # at the end of a prefix: one pass over the signs of a text finds all of those
# behind a prefix: alone, or where a value begins with it, it tells a token being typed
_TYPED = '!"'


def _rows() -> list[Row]:
    lines = (pkgutil.get_data(__package__, "issuers.txt") or b"").decode().splitlines()
    return [
        Row(*map(str.strip, line.split("|"))) for line in lines if line and not line.startswith("#")
    ]


def _pattern(form: str, *, fixed: bool = False) -> str:
    """Return the regular expression of a *form*; each part but the last has a *fixed* length."""
    pieces = [*_PIECE.finditer(form)]
    made = ""
    for piece, following in itertools.zip_longest(pieces, pieces[1:]):
        if piece["sign"]:
            made += re.escape(piece["sign"])
        else:
            is_fixed = fixed or following or piece["exactly"]
            most = piece["most"] or (piece["least"] if is_fixed else "")
            end = "(?![A-Za-z0-9])" if piece["exactly"] else ""
            made += f"{_ALPHABETS[piece['alphabet']]}{{{piece['least']},{most}}}{end}"
    return made


def _length(form: str) -> int:
    """Return the characters of a *form* at least."""
    return sum(int(piece["least"] or 1) for piece in _PIECE.finditer(form))


def _form(row: Row, mark: str) -> TokenForm:
    """
    Return the form of a row with *mark*, which comes first in the pattern: `re` looks for a literal
    twenty times faster.
    """
    literal = re.escape(mark)
    word = "" if mark[0] == "$" else f"(?<![A-Za-z0-9]{literal})"
    look = f"(?<={_pattern(row.before, fixed=True)}{literal})" if row.before else word
    pattern = re.compile(literal + look + _pattern(row.after))
    growing = re.compile(literal + look + r"[\w./+=~@-]{1,500}\Z")
    return TokenForm(row.name, mark, pattern, growing, _length(row.before))


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
"""Prefixes without a sign at the end that no name begins with: enough to know a token being
typed."""

TYPED_QUOTED = frozenset(prefix for _, prefix, marked in _PREFIXES if marked == f'{prefix}"')
"""Likewise for prefixes with a sign at the end, where a string or a value begins with them."""


_CUT = 12  # characters behind a prefix from which a token that is not whole is worth hiding
_CUT_RANDOM = 2  # oddities of a body that was cut
_RANDOM = 3  # of a body that might be a name
_ENDINGS = {  # of prefixes, with their lengths: the longest prefix says most
    ending: sorted({len(prefix) for prefix in ISSUERS if prefix[-3:] == ending}, reverse=True)
    for ending in {prefix[-3:] for prefix in ISSUERS}
}

_LONGEST_WORD = 64
_WORD_CHARS = string.ascii_letters + string.digits + "-_~."

# Forms whose marks begin with a rare character: one search tells whether a text has any of them.
_FIRST = string.ascii_uppercase + string.digits + "$:_{"
_RARE = tuple(form for form in FORMS if form.mark[0] in _FIRST and form.mark != "SK")
_OFTEN = tuple(form for form in FORMS if form not in _RARE)
_RARE_MARK = re.compile(  # `re` looks at the first character of each branch: one branch for each
    "|".join(
        re.escape(first) + "(?:" + "|".join(re.escape(mark[1:]) for mark in marks) + ")"
        for first, marks in itertools.groupby(
            sorted({form.mark for form in _RARE}, reverse=True), operator.itemgetter(0)
        )
    )
)
_TOKEN_CHARS = _WORD_CHARS + "/+=:@"
_QUOTES = ('"', "'", "`", "=")

_TWO_CASES = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_SIGN_TYPED = re.compile(r"[_.~-](?=[\w+/-])")
_SIGN = re.compile(rf"[_.~-](?=[A-Za-z0-9_][\w+/-]{{{_CUT - 2}}})")
_BODY = re.compile(r"[\w-]{1,200}(?:[.+/=~][\w+/=-]{1,200}){0,8}")

_MORE = re.compile(r"[\w+/=~-]*")  # of a token, however long

# The rest of a JSON web token is dots and base64; a data URI of JSON begins like one.
_JWT = re.compile(r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ))[\w-]{8,8000}\.[\w-]{8,}(?:\.[\w-]*)?")


def tokens(text: str) -> Iterator[Span]:
    """Yield every token in *text*, whole or cut at its end."""
    for form in _forms_in(text):
        for match in form.pattern.finditer(text):
            yield Span(form.find_start(text, match.start()), match.end(), form.name)
    for match in _JWT.finditer(text):
        yield Span(*match.span(), "JSON web token")
    done = 0
    for sign in _SIGN.finditer(text):
        prefix = _prefix_before(text, sign.end()) if sign.end() > done else ""
        body = _BODY.match(text, sign.end()) if prefix else None
        if body and _is_token(body[0], ISSUERS[prefix]):
            more = _MORE.match(text, body.end())
            done = more.end() if more else body.end()
            yield Span(sign.end() - len(prefix), done, ISSUERS[prefix].name)


def _forms_in(text: str) -> Iterator[TokenForm]:
    """
    Yield the forms whose mark occurs; forms with a rare first character are looked for together.
    """
    yield from (form for form in _OFTEN if form.mark in text)
    marks = {*_RARE_MARK.findall(text)}
    yield from (form for form in _RARE if form.mark in marks)


def growing_tokens(text: str) -> Iterator[int]:
    """Yield the start of each token that ends with *text* and is incomplete."""
    run = len(text.rstrip(_TOKEN_CHARS))
    for mark in TYPED_FIRST:
        at = text.find(mark, run)
        if at >= 0 and _begins(text, at):
            yield at
    for form in _forms_in(text[run:]):
        match = form.growing.search(text, run)
        body = text[match.start() + len(form.mark) :] if match else ""
        if match and (form.late or is_random_so_far(body)):
            yield form.find_start(text, match.start())
    for sign in _SIGN_TYPED.finditer(text, run):
        prefix = _prefix_before(text, sign.end())
        if prefix and _is_growing(text, sign.end(), prefix):
            yield sign.end() - len(prefix)


def _is_growing(text: str, end: int, prefix: str) -> bool:
    """Return whether the *prefix* that ends at *end* begins a token, as far as it is typed."""
    quoted = prefix in TYPED_QUOTED and text[: end - len(prefix)].endswith(_QUOTES)
    body = text[end:]
    random = is_random_so_far(body) or _TWO_CASES.search(body) is not None
    return not ISSUERS[prefix].doubtful or quoted or random


def _word_start(text: str, at: int) -> int:
    """Return the start of the run of letters, digits and `-_~` that ends at *at*."""
    before = text[max(0, at - _LONGEST_WORD) : at]
    return at - len(before) + len(before.rstrip(_WORD_CHARS))


def _prefix_before(text: str, end: int) -> str:
    """
    Return the prefix of an issuer that ends at *end* and does not stand inside a word, else "".
    """
    for length in _ENDINGS.get(text[end - 3 : end], ()):
        prefix = text[max(0, end - length) : end]
        if prefix in ISSUERS and _begins(text, end - len(prefix)):
            return prefix
    return ""


def _begins(text: str, at: int) -> bool:
    """Return whether a word can begin there: behind no letter but that of an escaped line end."""
    return (
        at == 0 or not text[at - 1].isalnum() or text[max(0, at - 2) : at] in {r"\n", r"\r", r"\t"}
    )


def _is_token(body: str, issuer: Issuer) -> bool:
    odd = oddities(body)
    whole = len(body) >= issuer.length
    if issuer.doubtful:
        return whole and odd >= _RANDOM and "/" not in body  # it is a path
    return odd >= _CUT_RANDOM or (whole and is_mixed(body))

"""
Files of ignore rules into patterns, as git reads them; bytes in, values out. Pure.

The syntax is that of gitignore(5), with what git's own reader does where the page is silent:
`[[:alpha:]]`, `\\/`, a class that does not end, three stars, NUL bytes. The fuzz test in
tests/workspace compares the verdicts with `git check-ignore`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import NamedTuple

STAR = "*"  # any bytes of one name
DEEP = "**"  # any bytes, slashes, too
SKIP = "**/"  # the same, or nothing at all, and then not the slash that follows either
Token = bytes | str  # the bytes of which one must stand here, or one of the three above

ANY = bytes(each for each in range(256) if each != ord("/"))
_LITERAL = re.compile(rb"[^*?[\\]*")
_STARS = re.compile(rb"\*+")
_BOM = b"\xef\xbb\xbf"
_NAMED = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, [*range(32), 127])),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\r",  # git's: without vertical tab and form feed
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class Pattern(NamedTuple):
    """One rule. *anywhere*: it holds a name only, and counts in every folder below its own."""

    tokens: tuple[Token, ...]
    negated: bool
    only_folders: bool
    anywhere: bool


def patterns(data: bytes, *, fold: bool) -> Iterator[Pattern]:
    """
    Yield the rules in a file's *data* that can match anything.

    *fold* is git's `core.ignoreCase`: ASCII letters match in both cases.
    """
    for line in data.removeprefix(_BOM).split(b"\n"):
        if line[:1] != b"#":
            text = _trim(line.removesuffix(b"\r").partition(b"\0")[0])
            yield from _pattern(text, fold=fold)


def _trim(line: bytes) -> bytes:
    """Remove spaces at the end, unless a backslash stands before them."""
    if line[-1:] != b" ":
        return line
    at = end = 0
    while at < len(line):
        escape = line[at : at + 1] == b"\\"
        at += 2 if escape else 1
        end = at if escape or line[at - 1 : at] != b" " else end
    return line[:end]


def _pattern(text: bytes, *, fold: bool) -> Iterator[Pattern]:
    negated = text[:1] == b"!"
    text = text[negated:]
    only_folders = text[-1:] == b"/"
    text = text[: len(text) - only_folders]
    anywhere = b"/" not in text
    if tokens := _tokens(text.removeprefix(b"/"), anywhere, negated=negated, fold=fold):
        yield Pattern(tuple(tokens), negated, only_folders, anywhere)


def _tokens(text: bytes, anywhere: bool, *, negated: bool, fold: bool) -> list[Token]:
    """Return the tokens to match, in order; none for a pattern that cannot match."""
    # git before 2.52 does not see what stands before the first wildcard: there `foo**/bar` matches
    # foobar and foo/x/bar. Here it does if that hides a file, and does not if that shows one.
    literal = _LITERAL.match(text)
    unseen = literal.end() if literal and not negated else 0
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        if stars := _STARS.match(text, at):
            first = at in (0, unseen) or text[at - 1 : at] == b"/"
            token = STAR if anywhere or not first else _stars(stars)
            if token == SKIP and tokens[-2:] == [SKIP, b"/"]:
                del tokens[-2:]  # `**/**/` says no more than `**/`
            tokens.append(token)
            at = stars.end()
            continue
        found = _one(text, at, fold=fold)
        if found is None:
            return []
        accepted, at = found
        tokens.append(accepted)
    return tokens


def _stars(found: re.Match[bytes]) -> Token:
    """Return the token for one or more stars at the beginning of a name."""
    text, end = found.string, found.end()
    if end - found.start() == 1 or not (end == len(text) or text.startswith((b"/", b"\\/"), end)):
        return STAR
    return SKIP if text[end : end + 1] == b"/" else DEEP


def _one(text: bytes, at: int, *, fold: bool) -> tuple[bytes, int] | None:
    """Return the bytes that match what stands at *at*, and where the next begins; None: nothing does."""
    char = text[at : at + 1]
    if char == b"?":
        return ANY, at + 1
    if char == b"[":
        return _class(text, at + 1, fold=fold)
    if char != b"\\":
        return (char.lower() if fold else char), at + 1
    char = text[at + 1 : at + 2]
    # git makes the file's name small before it compares, and an escaped capital stays one
    return None if not char or (fold and char.isupper()) else (char, at + 2)


def _class(text: bytes, at: int, *, fold: bool) -> tuple[bytes, int] | None:
    """Return the bytes that a class matches and where it ends; *at* is behind its `[`."""
    negated = text[at : at + 1] in (b"!", b"^")
    at += negated
    found: set[int] = set()
    start, last = at, 0  # *last*: what a range may begin with
    while at == start or text[at : at + 1] != b"]":
        member = _member(text, at, last, fold=fold)
        if member is None:
            return None
        members, last, at = member
        found |= members
    small = bytes(range(256)).lower() if fold else bytes(range(256))
    return bytes(each for each in ANY if (small[each] in found) != negated), at + 1


def _member(text: bytes, at: int, last: int, *, fold: bool) -> tuple[set[int], int, int] | None:
    """Return one member of a class: its bytes, what a range may begin with, where the next one stands."""
    char, following = text[at : at + 1], text[at + 1 : at + 2]
    if char == b"-" and last and following not in (b"", b"]"):
        high = text[at + 1 : at + 3].removeprefix(b"\\")[:1]
        at += 3 if following == b"\\" else 2
        return (_range(last, high[0], fold=fold), 0, at) if high else None
    if char == b"\\":
        return ({following[0]}, following[0], at + 2) if following else None
    if char == b"[" and following == b":":
        end = text.find(b"]", at + 2)
        if end < 0:
            return None
        if end > at + 2 and text[end - 1 : end] == b":":
            named = _expand_class(text[at + 2 : end - 1], fold=fold)
            return (named, 0, end + 1) if named else None
    return ({char[0]}, char[0], at + 1) if char else None


def _range(low: int, high: int, *, fold: bool) -> set[int]:
    found = set(range(low, high + 1))
    return found | set(bytes(found).lower()) if fold else found


def _expand_class(name: bytes, *, fold: bool) -> set[int]:
    both = fold and name == b"upper"
    return set(_NAMED.get("alpha" if both else name.decode("latin-1"), "").encode())

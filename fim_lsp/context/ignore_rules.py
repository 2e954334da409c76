"""
Ignore rules as one automaton, and its verdicts on files and folders. Pure, and linear for any
input.

All patterns of a file are one non-deterministic automaton whose set of states is the bits of one
integer: bit *n* is set when all tokens below *n* have matched what was read ("shift-and",
Baeza-Yates and Gonnet 1992). A byte of a path costs a handful of operations on integers of as many
bits as the patterns have bytes, whatever stars they hold, so no pattern takes more than
O(len(pattern) · len(path)) steps. The last pattern that matches is the highest bit that is set.

A `Scope` keeps the states of a folder: a file in it costs the bytes of its name only.

The syntax is that of gitignore(5), with what git's own reader does where the page is silent:
`[[:alpha:]]`, `\\/`, a class that does not end, three stars, NUL bytes. The fuzz test in
tests/workspace compares the verdicts with `git check-ignore`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

STAR = "*"  # any bytes of one name
DEEP = "**"  # any bytes, slashes, too
SKIP = "**/"  # the same, or nothing at all, and then not the slash that follows either
Token = bytes | str  # the bytes of which one must stand here, or one of the three above

ANY = bytes(byte for byte in range(256) if byte != ord("/"))
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
            yield from _pattern(_trim(line.removesuffix(b"\r").partition(b"\0")[0]), fold=fold)


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
        step = _one(text, at, fold=fold)
        if step is None:
            return []
        accepted, at = step
        tokens.append(accepted)
    return tokens


def _stars(stars: re.Match[bytes]) -> Token:
    """Return the token for one or more stars at the beginning of a name."""
    text = stars.string
    end = stars.end()
    if end - stars.start() == 1 or not (end == len(text) or text.startswith((b"/", b"\\/"), end)):
        return STAR
    return SKIP if text[end : end + 1] == b"/" else DEEP


def _one(text: bytes, at: int, *, fold: bool) -> tuple[bytes, int] | None:
    """
    Return the bytes that match what stands at *at*, and where the next begins; None: nothing does.
    """
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
    accepted: set[int] = set()
    start = at
    last = 0  # *last*: what a range may begin with
    while at == start or text[at : at + 1] != b"]":
        member = _member(text, at, last, fold=fold)
        if member is None:
            return None
        members, last, at = member
        accepted |= members
    small = bytes(range(256)).lower() if fold else bytes(range(256))
    return bytes(byte for byte in ANY if (small[byte] in accepted) != negated), at + 1


def _member(text: bytes, at: int, last: int, *, fold: bool) -> tuple[set[int], int, int] | None:
    """
    Return one member of a class: its bytes, what a range may begin with, where the next one stands.
    """
    char = text[at : at + 1]
    following = text[at + 1 : at + 2]
    if char == b"-" and last and following not in (b"", b"]"):
        high = text[at + 1 : at + 3].removeprefix(b"\\")[:1]
        at += 3 if following == b"\\" else 2
        members = set(range(last, high[0] + 1)) if high else set[int]()
        return (members | set(bytes(members).lower() if fold else b""), 0, at) if high else None
    if char == b"\\":
        return ({following[0]}, following[0], at + 2) if following else None
    if char == b"[" and following == b":":
        end = text.find(b"]", at + 2)
        if end < 0:
            return None
        if end > at + 2 and text[end - 1 : end] == b":":
            name = text[at + 2 : end - 1].decode("latin-1")
            named = _NAMED.get("alpha" if fold and name == "upper" else name, "")
            return ({*named.encode()}, 0, end + 1) if named else None
    return ({char[0]}, char[0], at + 1) if char else None


LONGEST = 262_144  # bytes of a file of rules: some 10,000 lines
CLASSES = 4096  # `[` in a file: a class is up to 255 entries of a table
_SMALL = 8192  # bytes of a file of which many are remembered: a larger one takes up to 8 MB
_SLASH = ord("/")


class RuleList(NamedTuple):
    """
    The rules of one file. The integers are sets of states, as bits.

    *reason* is shown to users. *shut*: the file is beyond the limits, so it matches everything.
    """

    reason: str
    shut: bool = False
    table: tuple[int, ...] = ()  # of each byte: the states whose token it is
    first: int = 0  # where the rules begin in their own folder
    again: int = 0  # where those for names begin in every folder below it
    skips: int = 0  # states whose next token may be left out
    stays: int = 0  # states that any byte but a slash keeps
    stays_deep: int = 0  # states that any byte keeps
    ends: int = 0  # a file has matched
    ends_folder: int = 0  # a folder has
    negated: int = 0


class Scope(NamedTuple):
    """
    The rules that hold in a folder: lists, the most important first, each with the states after the
    folder's path. *closed* is the reason why everything in it is ignored, if it is.
    """

    lists: tuple[tuple[RuleList, int], ...] = ()
    closed: str = ""


def compile_rules(data: bytes, name: str, *, fold: bool = False) -> RuleList:
    """Return the rules in a file's *data*; *name* is the file as users know it."""
    return (_small if len(data) <= _SMALL else _large)(data, name, fold)


def beyond(data: bytes) -> str:
    """Return which limit a file of rules exceeds, "" for none."""
    if len(data) > LONGEST:
        return f"is longer than {LONGEST >> 10} KiB"
    return f"has more than {CLASSES} classes like [a-z]" if data.count(b"[") > CLASSES else ""


def scope(lists: Iterable[RuleList]) -> Scope:
    """Return the folder that *lists* belong to, the most important first."""
    return _join([(rules, rules.first) for rules in lists])


def below(outer: Scope, name: bytes, added: RuleList | None = None) -> Scope:
    """Return the folder *name* in *outer*, with a list of its own."""
    if closed := why_ignored(outer, name, folder=True):
        return Scope((), closed)
    stepped = ((rules, _enter(rules, _after(rules, state, name))) for rules, state in outer.lists)
    lists = [(rules, state) for rules, state in stepped if state]
    return _join([(added, added.first), *lists] if added else lists)


def why_ignored(outer: Scope, name: bytes, *, folder: bool = False) -> str:
    """
    Return why the rules ignore the file, or the folder, *name* in *outer*; "" when they do not.
    """
    if outer.closed:
        return outer.closed
    for rules, state in outer.lists:
        hits = _after(rules, state, name) & (rules.ends_folder if folder else rules.ends)
        if hits:
            return "" if rules.negated >> (hits.bit_length() - 1) & 1 else rules.reason
    return ""


def _join(lists: list[tuple[RuleList, int]]) -> Scope:
    shut = next((rules.reason for rules, _ in lists if rules.shut), "")
    return Scope((), shut) if shut else Scope(tuple(lists))


def _after(rules: RuleList, states: int, name: bytes) -> int:
    """Return the states after *name*, in which no slash stands."""
    table = rules.table
    skips = rules.skips
    stays = rules.stays
    for byte in name:
        matched = (states & table[byte]) << 1
        states = matched | (matched & skips) << 1 | (states & stays)
    return states


def _enter(rules: RuleList, states: int) -> int:
    """Return the states after a slash."""
    matched = (states & rules.table[_SLASH]) << 1
    return matched | (matched & rules.skips) << 1 | (states & rules.stays_deep) | rules.again


def _compile(data: bytes, name: str, fold: bool) -> RuleList:
    if why := beyond(data):
        return RuleList(f"{name} {why}", shut=True)
    return _Builder(patterns(data, fold=fold), fold).rules(f"it matches {name}")


_small = lru_cache(maxsize=256)(_compile)
_large = lru_cache(maxsize=4)(_compile)


class _Builder:
    """The states of all patterns, one after the other: one more than a pattern has tokens."""

    def __init__(self, all_patterns: Iterable[Pattern], fold: bool) -> None:
        self._fold = fold
        self._by_byte: list[list[int]] = [[] for _ in range(256)]
        self._bits: dict[str, list[int]] = {name: [] for name in RuleList._fields[3:]}
        self._any: list[int] = []
        self._at = 0
        for pattern in all_patterns:
            self._add(pattern)

    def rules(self, reason: str) -> RuleList:
        """Return all of it."""
        return RuleList(reason, False, self._table(), *map(self._set, self._bits.values()))

    def _add(self, pattern: Pattern) -> None:
        bits = self._bits
        bits["first"].append(self._at)
        if pattern.tokens[0] == SKIP:
            bits["first"].append(self._at + 1)
        if pattern.anywhere:
            bits["again"].append(self._at)
        for token in pattern.tokens:
            self._take(token)
        bits["ends_folder"].append(self._at)
        if not pattern.only_folders:
            bits["ends"].append(self._at)
        if pattern.negated:
            bits["negated"].append(self._at)
        self._at += 1

    def _take(self, token: Token) -> None:
        if isinstance(token, bytes):
            if token is ANY:
                self._any.append(self._at)
            for byte in token if token is not ANY else b"":
                self._by_byte[byte].append(self._at)
            self._at += 1
            return
        self._bits["stays"].append(self._at)
        if token != STAR:
            self._bits["stays_deep"].append(self._at)
        if token == SKIP:
            self._bits["skips"].append(self._at)

    def _table(self) -> tuple[int, ...]:
        anything = self._set(self._any)
        sets = [anything | self._set(bits) if bits else anything for bits in self._by_byte]
        sets[_SLASH] = self._set(self._by_byte[_SLASH])
        if self._fold:
            sets[ord("A") : ord("Z") + 1] = sets[ord("a") : ord("z") + 1]
        return tuple(sets)

    def _set(self, bits: list[int]) -> int:
        """Return an integer with these bits, made at once: bit by bit would be quadratic."""
        octets = bytearray(self._at // 8 + 1)
        for bit in bits:
            octets[bit >> 3] |= 1 << (bit & 7)
        return int.from_bytes(octets, "little")

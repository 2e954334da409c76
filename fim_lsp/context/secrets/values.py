"""
A test of values: secrets are recognised by their characters, without a dictionary. Pure.

Names, words, paths and versions are regular: capitals begin words, digits end them, vowels come
between consonants. Random characters break such rules every few characters. `oddities` counts the
breaks, after words that placeholders are made of were taken out. Of 20,000 strings in the standard
library and in packages 0.7 % have two oddities and 0.2 % have four; of random passwords of 8, 16
and 40 characters 81 %, 99 % and all have two.

Letters without digits or signs are told from words by their pairs: `rare_pairs` (names.toml) are
those that make up less than one in 4,000 of the pairs in the 86,000 different names and words of
the standard library and of packages from npm. Of other such names of 10 to 40 letters 1.3 % have as
many as three; of random letters, 85 % of 10 in one case have them, and 99 % of 20.
"""

from __future__ import annotations

import pkgutil
import re
import string
import tomllib
from typing import Any, NamedTuple


def _read_table(name: str) -> dict[str, Any]:
    return tomllib.loads((pkgutil.get_data(__package__ or "", name) or b"").decode())


NAMES: dict[str, list[str]] = _read_table("names.toml")
PLACES = _read_table("places.toml")
PIECES: dict[str, str] = PLACES["pieces"]
_PIECE = re.compile("|".join(PIECES))


def fill(pattern: str) -> str:
    """Return a pattern of `PLACES` with its pieces in it."""
    return _PIECE.sub(lambda piece: fill(PIECES[piece[0]]), pattern)


class Span(NamedTuple):
    """The characters [start, end) of a text look like a *name*."""

    start: int
    end: int
    name: str


SOME = 3
"""Rare pairs from which letters are random."""

_RARE = {row[0] + second for row in NAMES["rare_pairs"] for second in row[1:]}
_LETTERS = re.compile(r"[A-Za-z]{8,}")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OFTEN = 7  # letters from one rare pair to the next, at most
_LONG = 12
_FEWER_LETTERS = 2.4
# letters of a word, on the average: names have 5, random ones in two cases have 2.5
_WORD_LETTERS = 3.4
_NAME_LETTERS = 5  # of a word of names


def is_random(value: str) -> bool:
    """Return whether *value* is eight or more letters that are no words in a row."""
    if not _LETTERS.fullmatch(value):
        return False
    words = _WORD.findall(value)
    rare = sum(
        word[at : at + 2] in _RARE for word in map(str.lower, words) for at in range(len(word) - 1)
    )
    n_letters = (_WORD_LETTERS if rare else _FEWER_LETTERS) * len(words)
    if 1 < len(words) <= len(value) // _NAME_LETTERS:
        return False
    return rare >= max(SOME, len(value) // _OFTEN) or _LONG <= len(value) < n_letters


JUDGED = 100
"""Characters of a value that are judged: a random value is random from its beginning."""

_RANDOM_LETTERS = 4  # oddities that letters count for which are no words
_SHORT = 4  # characters besides placeholder words from which there is something to hide

_REFERENCE_CHARS = re.compile(r"[$%{}<]")
_REFERENCE = re.compile("|".join(NAMES["references"]))
_SYNTAX_CHARS = re.compile(r"[$%(){}<>:*\\\[@&!]|^[~.]{0,2}/|-\d\dT|^0x|^[;,\]]")
_SYNTAX = re.compile("|".join(NAMES["descriptions"]))
_DIGITS = 12  # that no number in code has
_IRREGULAR_NAME = 2  # oddities that the name of a variable does not have
_IRREGULAR = 3  # oddities with which a value is random, whatever syntax its signs look like

_WORDS = re.compile("|".join(NAMES["placeholders"]))

_SIGN = re.compile(r"(?<=[^\W_])[!@#%^*?~$&](?=[^\W_])")  # between letters
_ODD = re.compile(
    r"\d(?=[A-Za-z])"  # a digit that ends no word
    r"|[a-z](?=[A-Z](?![a-z]{2}))"  # a capital that begins no word
    rf"|{_SIGN.pattern}"
    r"|(?!ngth|nstr|bscr|ghts|mpts)[b-df-hj-np-tv-xz]{4}"
)
_ODD_SO_FAR = re.compile(
    rf"[A-Za-z]\d|\d[A-Za-z]|[a-z][A-Z](?:[A-Z]{{2}}|[a-z][A-Z])|{_SIGN.pattern}"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{0,4}(?:-[0-9a-f-]*)?")


def is_reference(value: str) -> bool:
    """Return whether *value* stands for another one: a variable, a template, a call, a pattern."""
    if _SYNTAX_CHARS.search(value) is None:
        return False
    rest = _without_references(value)
    if rest != value and _n_alnum(rest) <= _SHORT:
        return True
    return _SYNTAX.search(rest) is not None and len(_ODD.findall(_without_words(rest))) < _IRREGULAR


def oddities(value: str) -> int:
    """
    Return how often *value* breaks the rules that names keep; 0 for a reference or a placeholder.
    """
    value = value[:JUDGED]
    if not _ODD.search(value):  # the cheap test first: most values end here
        return _RANDOM_LETTERS if is_random(value) else 0
    if is_reference(value):
        return 0
    rest = _without_words(_without_references(value))
    if _n_alnum(rest) <= _SHORT:
        return 0
    odd = len(_ODD.findall(rest))
    return max(odd, _RANDOM_LETTERS) if is_random(rest.strip("-")) else odd


def is_password(value: str) -> bool:
    """
    Return whether *value* is letters with digits or signs that are no placeholder, or random ones:
    enough where a name says password.
    """
    value = value[:JUDGED]
    if value.isdigit():
        return len(value) >= _DIGITS and hides_some(value)
    if is_reference(value):
        return False
    part = _without_references(value)
    rest = _without_words(part)
    if is_random(rest.strip("-")):
        return True
    mixed = any(map(str.isdigit, rest)) or _SIGN.search(rest) is not None
    whole = part == value or _ODD.search(rest) is not None
    return mixed and whole and any(map(str.isalpha, rest)) and _n_alnum(rest) > _SHORT


# other characters are signs
_KINDS = str.maketrans(string.ascii_letters + string.digits, "a" * 26 + "A" * 26 + "0" * 10)
# of the kind of character; a sign that joins no words; an odd capital
_CHANGE = re.compile(r"a(?=[A0])|A(?=0|a(?!aa))|0(?=[aA])|[^\w\s./:-]")
_CLOSED = re.compile("|".join(NAMES["closed"]))
_PART = re.compile(
    r"[(\[\"'`]{0,2}(?:[A-Z]?[a-z][a-z'’-]{0,30}|[A-Z]{1,12}s?|\d{1,4})[)\]\"'`.,:;!?%…]{0,3}"
    r"|[-–—=+*&|/.…]{1,3}"
)
_BETWEEN = re.compile(r"\A[,;:+)\]}]{0,3}\s|\s[+(\[{,]{0,3}\Z")  # between two strings of a line
_CHANGES = 0.2  # of the characters of a random value, at least


def is_strange(value: str, *, least: int = 3) -> bool:
    """
    Return whether the characters of *value* change their kind as often as random ones do, whatever
    signs there are: enough where a clear name promises a secret.
    """
    value = value[:JUDGED]
    rest = _without_words(value)
    odd = len(_CHANGE.findall(rest.translate(_KINDS))) >= max(least, _CHANGES * len(rest))
    return odd and _n_alnum(rest) > 1 and len(rest) > _SHORT and not _CLOSED.search(value)


def is_spaced(value: str) -> bool:
    """Return whether *value*, with blanks, is a password and no prose: irregular parts."""
    if _BETWEEN.search(value):
        return False
    parts = value[:JUDGED].split()
    odd = sum(_PART.fullmatch(part) is None for part in parts)
    return odd > 0 and is_strange(value, least=2 if 2 * odd >= len(parts) else 5)


def is_placeholder(value: str) -> bool:
    """Return whether there is a word of placeholders in *value*."""
    return _WORDS.search(value.lower()) is not None


def hides_some(value: str) -> bool:
    """Return whether something of *value* is no placeholder."""
    return _n_alnum(_without_words(value[:JUDGED])) > _SHORT


def hides_word(value: str) -> bool:
    """Return whether most letters of *value*, a word, are of no placeholder."""
    value = value[:JUDGED]
    rest = _n_alnum(_without_words(value))
    return 2 * rest > len(value) and (rest > _SHORT or _SHORT == rest < len(value) - 2)


def is_mixed(value: str, *, kinds: int = 2) -> bool:
    """
    Return whether *value* has at least so many *kinds* of small letters, capitals and digits,
    placeholder words aside.
    """
    value = value[:JUDGED]
    if _n_kinds(value) < kinds:
        return False
    return hides_some(value) and _n_kinds(_without_words(value)) >= kinds


def is_random_so_far(value: str) -> bool:
    """
    Return whether the beginning of a value tells already: a digit in a word, capitals that begin
    none.
    """
    value = value[:JUDGED]
    return _ODD_SO_FAR.search(value) is not None and not is_reference(value)


def is_uuid(value: str) -> bool:
    """
    Return whether *value* has the form of a UUID, or begins like one; only a telling name makes a
    secret of it.
    """
    return _UUID.fullmatch(value) is not None


# Hashes, ids and keys that are public by what stands right around them: lock files, checksums.
_IN_FRONT = 160  # characters of the line in front of a value that are looked at
_HASH = re.compile(r"(?:0x)?(?:[0-9a-f]{12,128}|[0-9A-F]{12,128})\Z")
_ENCODED = re.compile(r"[\w+/-]{20,4000}={0,2}\Z")  # in base64

_NAMED = re.compile(rf"(?:{'|'.join(NAMES['of_hash'])})\Z", re.IGNORECASE)
_PUBLIC_ABOVE = re.compile("|".join(NAMES["public_above"]))
_ABOVE = 400  # characters in front of a value that may say what it is
_BEGINNING = re.compile("|".join(NAMES["public_beginnings"]))
_PUBLIC_VALUE = re.compile("|".join(NAMES["public_values"]))
MARKS = " \t>+*;#/|-"
"""Of comments, lists and differences, in front of what a line says."""

_OF_A_FILE = re.compile(PIECES["<of a file>"])


def is_public(text: str, start: int, end: int) -> bool:
    """
    Return whether the value from *start* to *end* of *text* is a hash or an id, and its line says
    so.
    """
    value = text[start:end]
    is_known = _PUBLIC_VALUE.match(value) is not None
    if is_known or not (_HASH.match(value) or _ENCODED.match(value)):
        return is_known
    before = text[max(0, start - _IN_FRONT, text.rfind("\n", 0, start) + 1) : start]
    line_end = text.find("\n", end)
    behind = text[end : line_end if line_end >= 0 else len(text)]
    around = text[max(0, start - _ABOVE) : start]
    return bool(
        _NAMED.search(before)
        or _PUBLIC_ABOVE.search(around)
        or _BEGINNING.search(before + value)
        or (not before.strip(MARKS) and _OF_A_FILE.match(behind))
    )


def _without_references(value: str) -> str:
    """Return the value with a hyphen for each part that stands for another value."""
    if _REFERENCE_CHARS.search(value) is None:
        return value
    return _REFERENCE.sub(_unless_irregular, value)


def _unless_irregular(reference: re.Match[str]) -> str:
    odd = len(_ODD.findall(_without_words(reference[0])))
    return "-" if odd < _IRREGULAR_NAME else reference[0]


def _without_words(value: str) -> str:
    """
    Return the value with a hyphen for each placeholder word. Small letters first: `re` is faster
    with one case.
    """
    lower = value.lower()
    if len(lower) != len(value):
        return value
    kept = []
    at = 0
    for word in _WORDS.finditer(lower):
        kept.append(value[at : word.start()])
        at = word.end()
    return "-".join([*kept, value[at:]])


def _n_kinds(text: str) -> int:
    """Return how many of small letters, capitals and digits occur."""
    return any(map(str.islower, text)) + any(map(str.isupper, text)) + any(map(str.isdigit, text))


def _n_alnum(text: str) -> int:
    return sum(map(str.isalnum, text))

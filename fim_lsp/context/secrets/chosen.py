"""
Passwords that a user chose: words, phrases, words that a sign joins. Pure.

No rule tells them from a label by their characters, so they count only where a password stands, and
where no word of them is one of labels.
"""

from __future__ import annotations

import re

from fim_lsp.context.secrets.values import (
    NAMES,
    hides_word,
    is_password,
    is_placeholder,
    is_spaced,
    is_strange,
)

_PHRASE, _CHOSEN = (re.compile("|".join(NAMES[name])) for name in ("phrases", "chosen"))
_JOINED = re.compile(r"[A-Za-z][a-z]{2,12}(?:[-_.][A-Z][A-Za-z]{2,12}){1,3}")
# words joined by one sign: keys of texts, classes and icons are, too
_SMALL = re.compile(
    r"[^\W\d_]{2,15}(?:[-_][^\W\d_]{4,15}|([-_.])[^\W\d_]{2,15}(?:\1[^\W\d_]{2,15}){1,5})"
    r"(?:[-_.]?\d{1,6})?[!?.]?"
)
ABROAD = re.compile("|".join(("passwort", *NAMES["abroad"])))
_LABELS = frozenset((*NAMES["labels"], *NAMES["about"]))
_UNSET = frozenset(NAMES["unset"])
_PLAIN = re.compile(r"[^\W\d_]{1,15}(?:'[a-z]{1,2})?|\d{1,4}")
_CAMEL = re.compile("[a-z]+[A-Z]")  # the name of a variable
_SAID = frozenset(NAMES["said"])
_MNEMONIC = 11  # blanks between words that stand for a key, at least
_PROSE = frozenset(NAMES["prose"])


def is_phrase(value: str, *, short: bool = False) -> bool:
    """
    Return whether *value* is a passphrase or words that stand for a key: four words or more, none
    of which makes prose; two where *short* ones count.
    """
    return (
        (_CHOSEN if short else _PHRASE).fullmatch(value) is not None
        and _PROSE.isdisjoint(value.lower().replace("-", " ").split())
        and (value.count(" ") >= _MNEMONIC or not any(map(_says_nothing, value.split())))
    )


def _says_nothing(word: str) -> bool:
    """Return whether most of a *word* is a placeholder."""
    return is_placeholder(word) and not hides_word(word)


def is_given(value: str) -> bool:
    """Return whether *value* is a password where only a password can stand."""
    if len(value.split()) > 1:
        return is_spaced(value) or is_phrase(value)
    return is_password(value) or is_strange(value) or is_joined(value)


def is_word(value: str) -> bool:
    """
    Return whether *value* is letters only, or two words that no name joins so, and no placeholder:
    the password of a user who chose a word.
    """
    word = value.rstrip("!$#*@%^&")
    if word.lower() in _SAID:
        return False
    plain = word.isalpha() and not _CAMEL.match(word)
    return is_joined(word) or (plain and hides_word(word))


def is_chosen(value: str) -> bool:
    """Return whether *value* is a password, or a word, where only a password can stand."""
    return is_given(value) or is_word(value)


def is_sentence(value: str) -> bool:
    """
    Return whether *value* is a password where only one can stand, if a sentence that says of itself
    no more than that: `my cat is orange`.
    """
    words = re.split(r"[ _-]", value.lower())
    said = _UNSET.isdisjoint(words) and all(map(_PLAIN.fullmatch, words)) and words[-1] != "key"
    return is_chosen(value) or (len(words) > 1 and said and value[:1].islower())


def is_joined(value: str) -> bool:
    """
    Return whether a sign joins words, the last with a capital, or three that are no label's, and
    there is no placeholder.
    """
    joined = _JOINED.fullmatch(value) or (
        _SMALL.fullmatch(value) and _LABELS.isdisjoint(re.split(r"[-_.\d]", value.lower()))
    )
    return bool(joined) and not is_placeholder(value)

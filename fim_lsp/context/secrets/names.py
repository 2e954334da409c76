"""
The names of fields, variables, flags and headers that promise a secret. Pure.

A password may be short and typed by a person, a token is long and random, a mere key is a secret
only where its value cannot be anything else: three ranks, with less and less to go by.
"""

from __future__ import annotations

import enum
import re
import string


class Rank(enum.IntEnum):
    """The certainty with which a name promises a secret."""

    KEY = 1
    TOKEN = 2
    PASSWORD = 3


WORD = re.compile(
    r"p(?:ass(?:phrase|wo?r[dt]|wd)?|wd|sk|w(?![a-z]))|s(?:ecret|ig(?:nature)?(?==))|token"
    r"|cred(?:entials?|s)|auth(?:orization)?|key"
)
"""Words that tell, in lower-cased text."""

_WITHIN = ("passphrase", "passwor", "passwd", "pwd", "secret", "token", "credential")
"""Those that tell inside a longer word, too: `dbpassword`, `accesstoken`."""

# What `pass` and `key` may be joined to, which are parts of `bypass` and `monkey` as well.
_PASS_OWNERS = (
    "db", "user", "admin", "root", "require", "smtp", "http", "mysql", "sudo", "ssh", "become",
    "wifi", "my", "ftp", "mqtt", "key", "store", "auth",
)  # fmt: skip
_KEY_OWNERS = (
    "api", "app", "application", "secret", "access", "private", "auth", "sign", "signing", "crypt",
    "crypto", "encryption", "license", "licence", "master", "account", "storage", "shared",
    "service", "client", "session", "hmac", "aes", "jwt", "consumer", "deploy", "webhook", "admin",
    "ssh", "gpg", "rsa", "wrapping", "subscription", "ingestion", "sas", "server", "root", "fernet",
    "integration",
)  # fmt: skip
_PUBLIC = (
    "pub", "primary", "foreign", "sort", "partition", "cache", "index", "i18n", "translation",
)  # fmt: skip

# A name that ends with one of these holds something about a secret.
_ABOUT = {
    "name", "names", "id", "ids", "type", "types", "path", "file", "filename", "url", "uri",
    "arn", "field", "fields", "label", "algorithm", "alg", "header", "prefix", "suffix",
    "length", "len", "size", "expiry", "expires", "expiration", "ttl", "at", "count", "version",
    "policy", "regex", "pattern", "placeholder", "hint", "text", "message", "title", "error",
    "errors", "class", "ref", "selector", "kind", "format", "endpoint", "issuer", "audience",
    "provider", "method", "strategy", "dir", "env", "var", "column", "attribute", "event",
    "code", "index", "range", "fingerprint", "digest", "hash", "checksum", "store", "usage",
    "role", "scope", "scopes",
}  # fmt: skip
_LAST_WORD = re.compile(r"(?:[A-Z]?[a-z]{1,40}|[A-Z]{1,40})(?=\d{0,2}\Z)")
NAME_CHARS = string.ascii_letters + string.digits + "_.-"
_AROUND = 40  # characters in front of a word that are looked at


def rank(text: str, start: int, end: int, rest: str) -> Rank | None:
    """
    Return the rank of the name in which a `WORD` stands from *start* to *end* of *text*; None for
    nothing.

    *rest* is what follows the word in the name.
    """
    word = text[start:end].lower()
    before = text[max(0, start - _AROUND) : start].removesuffix(" ")
    owner = before[len(before.rstrip(NAME_CHARS)) :].lower().rstrip("_.-")
    begins = _begins(text, start)
    if _is_about(rest) or not (begins or _is_joined_word(word, owner)):
        return None
    if word.startswith(("pass", "pwd", "psk", "pw")):
        return Rank.PASSWORD
    if "public" in owner or owner.endswith(_PUBLIC):
        return None
    return Rank.KEY if word == "key" and not owner.endswith(_KEY_OWNERS) else Rank.TOKEN


def _begins(text: str, at: int) -> bool:
    """Return whether a word of a name begins at *at*: behind a sign, or with a capital."""
    before = text[at - 1 : at]
    return not before.isalpha() or (before.islower() and text[at].isupper())


def goes_on(text: str, end: int) -> bool:
    """Return whether letters go on the word that ends at *end*: `tokenize`, `passed`, `AUTHOR`."""
    last, following = text[end - 1], text[end : end + 1]
    return following.isalpha() and following.islower() == last.islower()


def _is_about(rest: str) -> bool:
    last = _LAST_WORD.search(rest)
    return last is not None and last[0].lower() in _ABOUT


def _is_joined_word(word: str, owner: str) -> bool:
    """Return whether *word* tells although letters stand right before it."""
    if word == "key":
        return owner.endswith(_KEY_OWNERS)
    return word.startswith(_WITHIN) or (word == "pass" and owner.endswith(_PASS_OWNERS))

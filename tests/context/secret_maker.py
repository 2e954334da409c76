"""
Secrets made at run time by a seeded generator, and templates filled with them.

No literal in these files is a token of any issuer: prefixes stand in two parts, so that no scanner
takes them for a leak. `@@` in a template stands for the secret.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from typing import NamedTuple

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
BASE36 = string.ascii_lowercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
UPPER = string.ascii_uppercase + string.digits
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
PHRASE_WORDS = (
    "acorn", "bishop", "copper", "drift", "ember", "falcon",
    "glacier", "harbor", "ivory", "jungle", "kettle", "lantern",
)  # fmt: skip
SYMBOLS = "!@#%^*-_.?~"


class Shape(NamedTuple):
    """A text that holds *secret*, and what to call it in a report."""

    name: str
    text: str
    secret: str


class Maker:
    """Random key material; each call goes on with the same generator."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        """*length* characters, a letter and a digit among them where the alphabet has both."""
        while True:
            text = "".join(self._rng.choices(alphabet, k=length))
            if not {"1", "2", "3", "4"} & set(alphabet) or length < 4:
                return text
            if any(c.isdigit() for c in text) and any(c.isalpha() for c in text):
                return text

    def digits(self, length: int) -> str:
        return "".join(self._rng.choices(string.digits, k=length))

    def password(self, length: int) -> str:
        """As a password manager makes one: letters, digits and one sign inside."""
        text = self.of(ALNUM, length - 1)
        at = self._rng.randrange(1, length - 1)
        return text[:at] + self._rng.choice(SYMBOLS) + text[at:]

    def number(self, low: int, high: int) -> int:
        return self._rng.randint(low, high)

    def word(self) -> str:
        """Return a word of a passphrase, as from a list of them."""
        return self._rng.choice(PHRASE_WORDS)

    def uuid(self) -> str:
        return "-".join(self.of(HEX, n) for n in (8, 4, 4, 4, 12))

    def base64(self, n_bytes: int) -> str:
        return base64.b64encode(self._rng.randbytes(n_bytes)).decode()

    def basic(self) -> str:
        return base64.b64encode(f"deploy:{self.password(14)}".encode()).decode()


def encoded(text: str) -> str:
    """Return *text* in base64."""
    return base64.b64encode(text.encode()).decode()


Make = Callable[[Maker], str]

VALUES: dict[str, Make] = {
    "pw8": lambda m: m.of(ALNUM, 8),
    "pw10": lambda m: m.password(10),
    "pw16": lambda m: m.password(16),
    "alnum20": lambda m: m.of(ALNUM, 20),
    "alnum32": lambda m: m.of(ALNUM, 32),
    "alnum40": lambda m: m.of(ALNUM, 40),
    "hex32": lambda m: m.of(HEX, 32),
    "hex40": lambda m: m.of(HEX, 40),
    "hex64": lambda m: m.of(HEX, 64),
    "base36": lambda m: m.of(BASE36, 24),
    "base64": lambda m: m.base64(32),
    "url48": lambda m: m.of(URLSAFE, 48),
    "uuid": lambda m: m.uuid(),
    "letters": lambda m: m.of(string.ascii_letters, 14),
    "signs": lambda m: m.of(ALNUM, 1) + m.of(ALNUM + "#%^*()-_=+[].:|~", 14) + m.of(ALNUM, 1),
    "braces": lambda m: m.of(ALNUM, 4) + "{" + m.of(ALNUM, 1) + "}" + m.of(ALNUM, 9),
    "dollar": lambda m: "$" + m.of(ALNUM, 14),
    "django": lambda m: "django-insecure-" + m.of(BASE36 + "!@#$%^&*(-_=+)", 50),
    "alnum": lambda m: m.of(ALNUM, m.number(8, 24)),
    "alnum24": lambda m: m.of(ALNUM, 24),
    "letters14": lambda m: m.of(string.ascii_letters, 14),
    "url40": lambda m: m.of(URLSAFE, 40),
    "hard": lambda m: m.of(ALNUM + "!@#$%^&*()-_=+", m.number(8, 28)),
    "blanks": lambda m: m.of(ALNUM, 1) + m.of(ALNUM + "!@#$%^&*()-_=+   ", 18) + m.of(ALNUM, 1),
    "phrase5": lambda m: " ".join(m.word() for _ in range(5)),
    "word1": lambda m: m.of(string.ascii_uppercase, 9) + m.digits(1),
    "salt": lambda m: m.of(ALNUM + SYMBOLS + "[]{}<>()|;:,+= ", 64),
    "basic": lambda m: m.basic(),
    "aws short": lambda m: "AC" + "CA" + m.of(UPPER, 16).translate(str.maketrans("8901", "2345")),
    "kube": lambda m: encoded(f"postgres://app:{m.of(ALNUM, 16)}@db1/shop"),
    "docker": lambda m: encoded(
        f'{{"auths":{{"r.example.org":{{"auth":"{encoded(f"deploy:{m.password(14)}")}"}}}}}}'
    ),
}

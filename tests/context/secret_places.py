"""
Secrets in the places of programs and settings: a language, how it writes names, and a template
a line, with `@n` for the name of a field and `@s` for the secret.

`secret_places.jsonl` and `held_out_places.jsonl` are halves of the ways through one grammar. The
rules were written against the first; the second is never printed.
"""

from __future__ import annotations

import json
import random
import string
from pathlib import Path

from tests.context.secret_maker import ALNUM, HEX, URLSAFE, Maker, Shape

PASSWORDS = (
    "password", "passwd", "db password", "smtp pass", "admin password", "pwd", "root pw",
    "passphrase",
)  # fmt: skip
TOKENS = (
    "api key", "secret key", "client secret", "auth token", "access token", "jwt secret",
    "signing secret", "token", "api secret",
)  # fmt: skip
SIGNS = "!#%^&*()-_=+[]{}<>?.,:;|~@$/"
SAFE = "!#%^*-_=+?.,~@/"  # signs that no shell, YAML or URL gives a meaning
SAFE_IN = {"shell", "powershell", "yaml", "toml ini properties", "xml"}
VALUES = 3  # secrets a shape


def seen() -> list[Shape]:
    """Return the half that the rules were written against."""
    return read_places("secret_places.jsonl", 1)


def held_out() -> list[Shape]:
    """Return the other half, as it was when the rules were written."""
    return read_places("held_out_places.jsonl", 2)


def signs(language: str) -> str:
    """Return the signs that may stand in a secret in a *language*."""
    if language == "command line":
        return "!#%^*-_+?.,~"
    return SAFE if language in SAFE_IN else SIGNS


def cased(words: str, case: str) -> str:
    """Return the name *words* as a language writes it."""
    parts = words.split()
    if case == "camel":
        return parts[0] + "".join(map(str.capitalize, parts[1:]))
    if case == "pascal":
        return "".join(map(str.capitalize, parts))
    joined = ("-" if case == "kebab" else "_").join(parts)
    return joined.upper() if case == "upper" else joined


def password(maker: Maker, signs: str) -> str:
    """As managers make them, of all signs of the language; or letters; or a word and a year."""
    kind = maker.of("0123456789", 1)
    if kind in "01":
        return maker.of(string.ascii_letters, 14)
    if kind == "2":
        word = [
            maker.of(chars, n)
            for chars, n in (("BDFGKLMNPRST", 1), ("aeiou", 1), ("lmnrst", 2), ("aeiou", 1))
        ]
        return "".join(word) + f"20{maker.digits(2)}!"
    if kind in "34" and "{" in signs:
        return maker.of(ALNUM, 3) + "{" + maker.of(ALNUM, 1) + "}" + maker.of(ALNUM, 9)
    if kind == "5" and "$" in signs:
        return "$" + maker.of(ALNUM, 13)
    if kind in "567":
        return maker.of(ALNUM, 1) + maker.of(ALNUM * 2 + signs, 14) + maker.of(ALNUM, 1)
    return maker.of(ALNUM, 12)


def token(maker: Maker) -> str:
    """As servers make them."""
    kind = maker.of("012345", 1)
    lengths = {
        "0": (HEX, 32),
        "1": (HEX, 64),
        "2": (ALNUM, 40),
        "3": (URLSAFE, 43),
        "4": (ALNUM, 24),
        "5": (string.ascii_letters, 32),
    }
    return maker.of(*lengths[kind])


def read_places(name: str, seed: int) -> list[Shape]:
    """Return some secrets in each shape of a data file, under a name each."""
    maker, rng, made = Maker(seed), random.Random(seed), []
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        language, case, template = json.loads(line)
        for n in range(VALUES):
            words = rng.choice(PASSWORDS if n % 2 == 0 else TOKENS)
            secret = password(maker, signs(language)) if n % 2 == 0 else token(maker)
            text = template.replace("@n", cased(words, case)).replace("@s", secret)
            made.append(Shape(f"{language}: {template}", text, secret))
    return made

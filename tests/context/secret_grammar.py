r"""
A grammar of secrets in programs and settings: a statement of a language, an expression in it, a literal in that.

`@n` stands for the name of a field, `@e` for an expression, `@l` for a literal, `@s` for the secret.
A shape is one way through the grammar; the hash of its name says whether the rules may be written
against it. The others are never printed: `held_out_places.jsonl` has them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import string
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.context.secret_languages import LANGUAGES
from tests.context.secret_maker import ALNUM, HEX, URLSAFE, Maker, Shape

PASSWORDS = ("password", "passwd", "db password", "smtp pass", "admin password", "pwd", "root pw", "passphrase")  # fmt: skip
TOKENS = ("api key", "secret key", "client secret", "auth token", "access token", "jwt secret", "signing secret", "token", "api secret")  # fmt: skip
EACH = 32  # shapes of a language
VALUES = 3  # secrets a shape


def shapes(*, held_out: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the kind of name and the template of each shape of one half."""
    for language, spoken in LANGUAGES.items():
        rng = random.Random(language)
        ways = sorted({*itertools.product(spoken.statements, spoken.expressions, spoken.literals)})
        taken = {
            (*way[:2], way[2] if "@l" in way[1] + way[0] or "@e" in way[0] else ""): way
            for way in rng.sample(ways, len(ways))
        }
        for way in [*taken.values()][: 2 * EACH]:
            template = way[0].replace("@e", way[1]).replace("@l", way[2])
            name = f"{language}: {template}"
            if (
                template.count("@s") == 1
                and (hashlib.sha256(name.encode()).digest()[0] % 2 == 1) == held_out
            ):
                yield language, rng.choice(spoken.case.split()), template


def seen() -> list[Shape]:
    """Return the half that the rules were written against."""
    return filled(shapes(held_out=False), 1)


def held_out() -> list[Shape]:
    """Return the other half, as it was when the rules were written."""
    lines = Path(__file__).with_name("held_out_places.jsonl").read_text("utf-8").splitlines()
    return filled(map(tuple, map(json.loads, lines)), 2)


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
    """As managers make them, of all signs that the language allows; or letters; or a word with a year."""
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


def filled(rows: Iterable[tuple[Any, ...]], seed: int) -> list[Shape]:
    """Some secrets in each shape, under a name each."""
    maker, rng, made = Maker(seed), random.Random(seed), []
    for language, case, template in rows:
        for n in range(VALUES):
            names = PASSWORDS if n % 2 == 0 else TOKENS
            name = cased(rng.choice(names), case)
            secret = password(maker, LANGUAGES[language].signs) if n % 2 == 0 else token(maker)
            text = template.replace("@n", name).replace("@s", secret)
            made.append(Shape(f"{language}: {template}", text, secret))
    return made

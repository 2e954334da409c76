r"""
Shapes of secrets from data files: a section, a kind of value and a template a line, `@@` for the secret.

Kinds are those of `secret_maker.VALUES`, or of tokens: a prefix in two parts (so that no scanner takes
the file for a leak) and what follows it, an alphabet with a number of characters. `\n` is a line end.
"""

from __future__ import annotations

import re
import string
from pathlib import Path

from tests.context.secret_maker import ALNUM, BASE64, HEX, UPPER, URLSAFE, VALUES, Maker, Shape

ALPHABETS = {
    "h": HEX,
    "A": UPPER,
    "l": string.ascii_letters,
    "w": ALNUM,
    "u": URLSAFE,
    "b": BASE64,
}
_PART = re.compile(r"([dhAlwub])(\d+)|\.(.)\.|.")


def read_shapes(name: str, seed: int, section: str) -> list[Shape]:
    """Return the shapes of a *section* of a data file, each with a secret of its own."""
    maker = Maker(seed)
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    shapes = []
    for line in lines:
        named, kind, template = line.split("|", 2)
        if named == section:
            secret = VALUES[kind](maker) if kind in VALUES else _issued(kind, maker)
            text = template.replace("\\n", "\n").replace("\\t", "\t").replace("\\|", "|")
            shapes.append(Shape(template, text.replace("@@", secret, 1), secret))
    return shapes


def _issued(kind: str, maker: Maker) -> str:
    prefix, form = kind.split(" ")
    parts = _PART.finditer(form)
    made = (_text(p[1], int(p[2]), maker) if p[1] else p[3] or p[0] for p in parts)
    return prefix.replace("+", "", 1) + "".join(made)


def _text(alphabet: str, length: int, maker: Maker) -> str:
    return maker.digits(length) if alphabet == "d" else maker.of(ALPHABETS[alphabet], length)

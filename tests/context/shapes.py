r"""
Shapes of secrets from data files: a section, a kind of value and a template a line, `@@` for the
secret, `\n` for a line end.

Kinds are those of `secret_maker.VALUES`, or of tokens: a prefix in two parts (so that no scanner
takes the file for a leak) and what follows it: an alphabet with a number of characters, or text.

The rules were written against `secret_shapes.txt`, and against none of `held_out_shapes.txt` and
`fresh_shapes.txt`. What is missed there says how well the rules carry over, so a miss stays one.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from pathlib import Path

from tests.context.secret_maker import (
    ALNUM,
    BASE32,
    BASE36,
    BASE64,
    BECH32,
    HEX,
    UPPER,
    URLSAFE,
    VALUES,
    Maker,
    Shape,
)

ALPHABETS = {
    "h": HEX,
    "A": UPPER,
    "l": string.ascii_letters,
    "w": ALNUM,
    "u": URLSAFE,
    "b": BASE64,
    "i": BASE32,
    "k": BECH32,
    "q": BASE36,
}
_PART = re.compile(rf"([d{''.join(ALPHABETS)}])(\d+)|\.(.)\.|.")

BEGIN, END = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
PGP, SSH2 = "PRIVATE " + "KEY BLOCK-----", "SSH2 ENCRYPTED " + "PRIVATE KEY ----"
# what stands before six lines, after them and in each
KEYS = {
    **{
        f"pem {kind}": (BEGIN.replace("RSA ", kind) + "\n", END.replace("RSA ", kind), "{}\n")
        for kind in ("RSA ", "", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA ")
    },
    "pem in a heredoc": (f"cat > k <<EOF\n{BEGIN}\n", f"{END}\nEOF", "{}\n"),
    "pem indented": (f"key: |\n    {BEGIN}\n", f"    {END}", "    {}\n"),
    "pem in json": (f'{{"private_key": "{BEGIN}\\n', f'{END}\\n"}}', "{}\\n"),
    "pem in java": (f'String k = "{BEGIN}\\n" +\n', f'"{END}";', '    "{}\\n" +\n'),
    "pem in go": (f"var k = `{BEGIN}\n", f"{END}`", "{}\n"),
    "pgp": (f"-----BEGIN PGP {PGP}\nVersion: 2\n\n", f"-----END PGP {PGP}", "{}\n"),
    "ssh2": (f"---- BEGIN {SSH2}\nComment: k\n", f"---- END {SSH2}", "{}\n"),
    "putty": ("PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 6\n", "", "{}\n"),
    "without its end": (f"{BEGIN}\n", "", "{}\n"),
    "without its beginning": ("\n", END, "{}\n"),
}


def tuned() -> list[Shape]:
    """Return what the rules were written against: tokens, programs, configuration, private keys."""
    maker = Maker(20261121)
    return [*read_shapes("secret_shapes.txt", maker), *_keys(maker)]


def held_out() -> list[Shape]:
    """Return what the rules were not written against: other templates, names and issuers."""
    return read_shapes("held_out_shapes.txt", Maker(77))


def read_shapes(name: str, maker: Maker, section: str = "") -> list[Shape]:
    """Return the shapes of a *section* of a data file, or of all, each with a secret of its own."""
    shapes = []
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        named, kind, template = line.split("|", 2)
        if section in ("", named):
            secret = VALUES[kind](maker) if kind in VALUES else _issued(kind, maker)
            text = template.replace("\\n", "\n").replace("\\t", "\t").replace("\\|", "|")
            shapes.append(Shape(f"{kind}: {template}", text.replace("@@", secret, 1), secret))
    return shapes


def _issued(kind: str, maker: Maker) -> str:
    prefix, form = kind.split(" ")
    parts = _PART.finditer(form)
    made = (of_alphabet(p[1], int(p[2]), maker) if p[1] else p[3] or p[0] for p in parts)
    return prefix.replace("+", "", 1) + "".join(made)


def of_alphabet(alphabet: str, length: int, maker: Maker) -> str:
    """Return *length* characters of the alphabet with that letter."""
    return maker.digits(length) if alphabet == "d" else maker.of(ALPHABETS[alphabet], length)


def _keys(maker: Maker) -> Iterator[Shape]:
    """Private keys: a file, a heredoc, one line of JSON, lines of a program, a part of one."""
    for name, (before, after, line) in KEYS.items():
        lines = [maker.of(BASE64, 64) for _ in range(6)]
        text = before + "".join(map(line.format, lines)) + after + "\n"
        yield Shape(name, text, lines[2])

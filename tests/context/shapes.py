r"""
Secrets made at run time by a seeded generator, in the shapes of data files. No literal in these
files is a token of any issuer: prefixes stand in two parts, so that no scanner takes them for a
leak.

A line of `*_shapes.txt` is a section, a kind of value and a template: `@@` for the secret, `\n`
for a line end. A kind is one of `VALUES` or a form: letters of `ALPHABETS`, each with a number of
characters, and other signs as they are; in front of it may stand a prefix. A line of
`*_places.jsonl` is a language, how it writes names, and a template with `@n` for the name of a
field and `@s` for the secret.

The rules were written against `secret_shapes.txt` and `secret_places.jsonl`, and against none of
the others; `public_shapes.txt` has the forms of the examples of gitleaks, Nosey Parker, Kingfisher
and CredSweeper, some of which showed what to look for. What is missed there says how well the rules
carry over, so a miss stays one; those are never printed.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
BASE36 = string.ascii_lowercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
URLSAFE = ALNUM + "_-"
ALPHABETS = {
    "d": string.digits, "h": HEX, "H": HEX.upper(), "A": string.ascii_uppercase + string.digits,
    "l": string.ascii_letters, "w": ALNUM, "u": URLSAFE, "b": ALNUM + "+/", "i": BASE32,
    "k": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "q": BASE36,
}  # fmt: skip
PHRASE_WORDS = (
    "acorn", "bishop", "copper", "drift", "ember", "falcon",
    "glacier", "harbor", "ivory", "jungle", "kettle", "lantern",
)  # fmt: skip
SYMBOLS = "!@#%^*-_.?~"
_PART = re.compile(rf"([{''.join(ALPHABETS)}])(\d+)|\.(.)\.|.")


class Shape(NamedTuple):
    """A text that holds *secret*, and what to call it in a report."""

    name: str
    text: str
    secret: str


class Maker:
    """Random key material; each call goes on with the same generator."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        """*length* characters, a letter and a digit among them where the alphabet has both."""
        while True:
            text = "".join(self.rng.choices(alphabet, k=length))
            if alphabet == string.digits or not {*"1234"} & {*alphabet} or length < 4:
                return text
            if any(c.isdigit() for c in text) and any(c.isalpha() for c in text):
                return text

    def made(self, form: str) -> str:
        parts = _PART.finditer(form)
        return "".join(self.of(ALPHABETS[p[1]], int(p[2])) if p[1] else p[3] or p[0] for p in parts)

    def some(self, alphabet: str, low: int, high: int) -> str:
        return self.of(alphabet, self.rng.randint(low, high))

    def password(self, length: int) -> str:
        """As a password manager makes one: letters, digits and one sign inside."""
        text = self.of(ALNUM, length - 1)
        at = self.rng.randrange(1, length - 1)
        return text[:at] + self.rng.choice(SYMBOLS) + text[at:]

    def basic(self) -> str:
        return encoded(f"deploy:{self.password(14)}")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def around(sign: str, form: str, n: int) -> Callable[[Maker], str]:
    """Return what makes *n* characters of *sign* between two of *form*."""
    return lambda m: m.made(form) + m.of(ALNUM + sign, n) + m.made(form)


VALUES: dict[str, Callable[[Maker], str]] = {
    "pw10": lambda m: m.password(10),
    "pw16": lambda m: m.password(16),
    "base64": lambda m: base64.b64encode(m.rng.randbytes(32)).decode(),
    "signs": around("#%^*()-_=+[].:|~", "w1", 14),
    "blanks": around("!@#$%^&*()-_=+   ", "w1", 18),
    "django": lambda m: "django-insecure-" + m.of(BASE36 + "!@#$%^&*(-_=+)", 50),
    "alnum": lambda m: m.some(ALNUM, 8, 24),
    "hard": lambda m: m.some(ALNUM + "!@#$%^&*()-_=+", 8, 28),
    "phrase5": lambda m: " ".join(m.rng.choice(PHRASE_WORDS) for _ in range(5)),
    "phrase2": lambda m: " ".join(m.rng.choice(PHRASE_WORDS) for _ in range(2)),
    "dashed": lambda m: "-".join(m.rng.choice(PHRASE_WORDS) for _ in range(2)) + m.made("-20d2"),
    "title4": lambda m: " ".join(m.rng.choice(PHRASE_WORDS).capitalize() for _ in range(4)),
    "words12": lambda m: " ".join(m.rng.choice(PHRASE_WORDS) for _ in range(12)),
    "words24": lambda m: " ".join(m.rng.choice(PHRASE_WORDS) for _ in range(24)),
    "word1": lambda m: m.of(string.ascii_uppercase, 9) + m.made("d1"),
    "salt": lambda m: m.of(ALNUM + SYMBOLS + "[]{}<>()|;:,+= ", 64),
    "basic": Maker.basic,
    "aws short": lambda m: "AC" + "CA" + m.made("A16").translate(str.maketrans("8901", "2345")),
    "kube": lambda m: encoded(f"postgres://app:{m.made('w16')}@db1/shop"),
    "docker": lambda m: encoded(f'{{"auths":{{"r.example.org":{{"auth":"{m.basic()}"}}}}}}'),
}

BEGIN = "-----BEGIN RSA " + "PRIVATE KEY-----"
END = "-----END RSA " + "PRIVATE KEY-----"
PGP = "PRIVATE " + "KEY BLOCK-----"
SSH2 = "SSH2 ENCRYPTED " + "PRIVATE KEY ----"
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


def reported() -> list[Shape]:
    """Return what an attacker found that the rules missed, with variations."""
    return read_shapes("reported_shapes.txt", Maker(5))


def public() -> list[Shape]:
    """Return what public sets of rules take for secrets, each with random characters."""
    return read_shapes("public_shapes.txt", Maker(9))


def read_shapes(name: str, maker: Maker, section: str = "") -> list[Shape]:
    """Return the shapes of a *section* of a data file, or of all, each with a secret of its own."""
    shapes = []
    for line in _lines(name):
        named, kind, template = line.split("|", 2)
        if section in ("", named):
            prefix, _, form = kind.rpartition(" ")
            issued = prefix.replace("+", "", 1) + maker.made(form) if kind not in VALUES else ""
            secret = issued or VALUES[kind](maker)
            text = template.replace("\\n", "\n").replace("\\t", "\t").replace("\\|", "|")
            shapes.append(Shape(f"{kind}: {template}", text.replace("@@", secret, 1), secret))
    return shapes


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text("utf-8").splitlines()


def _keys(maker: Maker) -> Iterator[Shape]:
    """Private keys: a file, a heredoc, one line of JSON, lines of a program, a part of one."""
    for name, (before, after, line) in KEYS.items():
        lines = [maker.made("b64") for _ in range(6)]
        text = before + "".join(map(line.format, lines)) + after + "\n"
        yield Shape(name, text, lines[2])


# -- places: halves of the ways through one grammar

PASSWORDS = (
    "password", "passwd", "db password", "smtp pass", "admin password", "pwd", "root pw",
    "passphrase",
)  # fmt: skip
TOKENS = (
    "api key", "secret key", "client secret", "auth token", "access token", "jwt secret",
    "signing secret", "token", "api secret",
)  # fmt: skip
TOKEN_FORMS = ("h32", "h64", "w40", "u43", "w24", "l32")
SIGNS = "!#%^&*()-_=+[]{}<>?.,:;|~@$/"
SAFE = "!#%^*-_=+?.,~@/"  # signs that no shell, YAML or URL gives a meaning
SIGNS_IN = {
    "command line": "!#%^*-_+?.,~",
    **dict.fromkeys(("shell", "powershell", "yaml", "toml ini properties", "xml"), SAFE),
}
N_VALUES = 3  # secrets a shape


def seen_places() -> list[Shape]:
    """Return the half that the rules were written against."""
    return read_places("secret_places.jsonl", 1)


def held_out_places() -> list[Shape]:
    """Return the other half, as it was when the rules were written."""
    return read_places("held_out_places.jsonl", 2)


def cased(words: str, case: str) -> str:
    """Return the name *words* as a language writes it."""
    first, *others = words.split()
    if case in ("camel", "pascal"):
        first = first.capitalize() if case == "pascal" else first
        return first + "".join(map(str.capitalize, others))
    joined = ("-" if case == "kebab" else "_").join([first, *others])
    return joined.upper() if case == "upper" else joined


def password(maker: Maker, signs: str) -> str:
    """As managers make them, of all signs of the language; or letters; or a word and a year."""
    kind = maker.made("d1")
    if kind in "01":
        return maker.made("l14")
    if kind == "2":
        parts = (("BDFGKLMNPRST", 1), ("aeiou", 1), ("lmnrst", 2), ("aeiou", 1))
        return "".join(maker.of(*part) for part in parts) + maker.made("20d2!")
    if kind in "34" and "{" in signs:
        return maker.made("w3{w1}w9")
    if kind == "5" and "$" in signs:
        return maker.made("$w13")
    if kind in "567":
        return maker.made("w1") + maker.of(ALNUM * 2 + signs, 14) + maker.made("w1")
    return maker.made("w12")


def read_places(name: str, seed: int) -> list[Shape]:
    """Return some secrets in each shape of a data file, under a name each."""
    maker = Maker(seed)
    rng = random.Random(seed)
    shapes = []
    for line in _lines(name):
        language, case, template = json.loads(line)
        for n in range(N_VALUES):
            words = rng.choice(PASSWORDS if n % 2 == 0 else TOKENS)
            if n % 2 == 0:
                secret = password(maker, SIGNS_IN.get(language, SIGNS))
            else:
                secret = maker.made(TOKEN_FORMS[int(maker.of("012345", 1))])
            text = template.replace("@n", cased(words, case)).replace("@s", secret)
            shapes.append(Shape(f"{language}: {template}", text, secret))
    return shapes

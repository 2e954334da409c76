"""The scan is linear, also in text that was written to stop it."""

from __future__ import annotations

import random
import time
from functools import partial

import pytest

from fim_lsp.context.secrets.scan import scrub_parts
from tests.fuzz import FUZZ

pytestmark = [pytest.mark.timed, pytest.mark.promise("bounded-work")]

RNG = random.Random(2)
N = 8_000  # characters; a quadratic pattern of old took a tenth of a second for them
TIMES = (1, 3, 10)  # scans, of which the fastest counts; more where it seems to cost more
SOME = 0.02  # seconds of the search at the cursor, which costs the same in any text
MOST = 3.0  # twice the text costs twice the time, four times if it is quadratic


def hexadecimal(n: int) -> str:
    return "".join(RNG.choices("0123456789abcdef", k=n))


def repeated(text: str, n: int) -> str:
    return text * (n // len(text))


WORD = "".join(RNG.choices("abcdefghijklmnopqrstuvwxyz", k=500))
BEGIN = "-----BEGIN " + "PRIVATE KEY-----\n"
HOSTILE = {
    "hex and a scheme": lambda n: hexadecimal(n) + "://",
    "artefact": lambda n: '{"bytecode":"0x' + hexadecimal(n) + '","url":"a://b","key":"x"}',
    "blank lines": lambda n: "\n" * n + "password = x",
    "spaces": lambda n: "password" + " " * n + "= x",
    "word": lambda n: repeated(WORD, n),
    "calls": lambda n: repeated("password = " + "a" * 39 + "(", n),
    "names and fallbacks": lambda n: repeated("token: a:a:a:a = " + "or ?? " * 12, n),
    "typed calls": lambda n: repeated("secret: " + "a:" * 24 + "=" + "b." * 20 + '("', n),
    "words and colons": lambda n: repeated(WORD + ":", n),
    "minified": lambda n: repeated('a.token=b.key,c={password:d,"x":e.auth},', n),
    "tokens without dots": lambda n: repeated("ey" + "Jabcdefgh", n),
    "begin": lambda n: repeated(BEGIN, n),
    "begin and key lines": lambda n: repeated(BEGIN + "A" * 64 + "\n", n),
    **{
        repr(text): partial(repeated, text)
        for text in (
            "=", '"', "'", "-", "_", ".", ":", "\\", "`", "\t", "\r\n", "key", "key=", "key: ",
            'key="', "key='a",
            "password ", "token_", "://", "://a:", "://u:p@", "ey" + "J.", "gh" + "p_", "s" + "k-",
            "a_", "hv" + "s.", "AK" + "IA",
            "Bearer ", "password: |\n  ", "token>", "<token>\n", "password { ", "mysql -p",
            "login -p ", "-u a:", "auth('a',",
            "12345678:A" + "A", "password(", "password = x or 'a", 'token, "', "password {\n",
            "$argon2id$", "a:b@tcp(", 'key"abcd"', "${pw:-",
            "aGVsbG8gd29ybGQg", "\naGVsbG8gd29ybGQgaGVsbG8gd29ybGQg", "secret <<EOT\n",
            'passwords=["a",', "a,password\n", "cookie: a=b;", "jwt.sign(a,", "7z -p",
            "**password**: `", 'password = "a b', "a:55:b:c:", "pwd=[;&=a ",
            "Private-Lines: 1\nAAAAAAAAAAAAAAAAAAAA", "$6$a", "abc8Q~", "A" * 64 + "\n",
            "aB3" * 12 + "\n",
            "\u0130 password=", "x@y.z", "key[16]={1,", "key = {255,\n", "seed = 'abcd ", "value='",
            "values('a','", "login: a/b", "/token/" + "aB1" * 9, 'p = "aB1"\n"', '"d":"',
        )
    },
}  # fmt: skip
SOME_OF_THEM = dict([*HOSTILE.items()][:: 1 if FUZZ > 1 else 3])


def cost(parts: tuple[str, ...]) -> float:
    start = time.thread_time()
    scrub_parts(parts)
    return time.thread_time() - start


def is_at_most(limit: float, parts: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return whether *parts* cost no more than *limit* times *others*; the scans alternate, so that a busy moment meets both."""
    for times in TIMES:
        scans = [(cost(parts), cost(others)) for _ in range(times)]
        ours, theirs = map(min, zip(*scans, strict=True))
        if ours <= limit * theirs + SOME:
            return True
    return False


@pytest.mark.parametrize("make", SOME_OF_THEM.values(), ids=SOME_OF_THEM)
def test_twice_the_text_costs_twice_the_time(make) -> None:
    """No pattern looks at the same text again and again."""
    assert is_at_most(MOST, (make(2 * N),), (make(N),))


@pytest.mark.parametrize("make", SOME_OF_THEM.values(), ids=SOME_OF_THEM)
def test_a_line_of_any_length_costs_little_more_at_the_cursor(make) -> None:
    """What is being typed is looked for in the last characters before the cursor only."""
    text = make(N)
    assert is_at_most(2 * MOST, (text, text), (text,))

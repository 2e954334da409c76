"""Every form of the data file is found, whole, and none by halves."""

from __future__ import annotations

import re

import pytest

from fim_lsp.context.secrets.scan import secrets
from fim_lsp.context.secrets.tokens import ROWS, TYPED_FIRST
from tests.context.shapes import ALPHABETS, Maker
from tests.fuzz import FUZZ

pytestmark = pytest.mark.promise("secrets-are-replaced")

EACH, FOUND = (
    (20, 18) if FUZZ > 1 else (6, 5)
)  # tokens of a prefix; of short ones some look like names


def made(form: str, maker: Maker) -> str:
    """Return a text of the *form*, as short as it may be."""
    pieces = re.finditer(r"([dhAwubc])(\d+)(?:-\d+)?!?|(.)", form)
    return "".join(
        each[3] or maker.of(ALPHABETS[each[1].replace("c", "w")], int(each[2])) for each in pieces
    )


def is_found(token: str) -> bool:
    spans = secrets(f'x = "{token}"')
    return (
        bool(spans)
        and spans[0].start <= 5 + len(token) // 2
        and max(span.end for span in spans) >= 5 + len(token)
    )


def test_tokens_of_the_least_length_are_found() -> None:
    """Behind any name, of the characters that their issuer uses."""
    for row, prefix in [(each, prefix) for each in ROWS for prefix in each.prefixes.split()]:
        maker = Maker(12)
        mark = prefix.rstrip('!"') or prefix
        tokens = [made(row.before, maker) + mark + made(row.after, maker) for _ in range(EACH)]
        assert sum(map(is_found, tokens)) >= FOUND, (row.name, prefix, tokens)


def test_each_line_has_a_source() -> None:
    """Where a form is known from is said, for those who check it."""
    assert len({row.name for row in ROWS}) > 140
    assert all({*row.source.split()} <= {"g", "t", "p"} and row.source for row in ROWS)
    assert set(TYPED_FIRST) >= {"AKIA", "eyJ"}

"""Every secret in a text, also in base64. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from fim_lsp.context.secrets.credentials import credentials
from fim_lsp.context.secrets.fields import fields
from fim_lsp.context.secrets.key_blocks import key_blocks
from fim_lsp.context.secrets.span import Span
from fim_lsp.context.secrets.tokens import tokens

_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

# Base64 of ASCII that begins with four times three printable characters: the first of four characters
# says that the first byte is one or ends a line, the second and the third that the others are below 128. One in
# 9,000 random texts begins so.
_THREE = "[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]"
_ENCODED = re.compile(
    rf"[\n\"'`=:,<>(][ \t]{{0,40}}({_THREE}{_THREE}{_THREE}{_THREE}[A-Za-z0-9+/]{{0,8000}})"
)


def secrets(text: str) -> list[Span]:
    """Every span that looks like a secret, by start; they may overlap. Linear in the text's length."""
    return sorted([*_plain(text), *_encoded(text)])


def _plain(text: str) -> Iterator[Span]:
    lower = lowered(text)
    yield from tokens(text)
    yield from fields(text, lower)
    yield from credentials(text, lower)
    yield from key_blocks(text)


def _encoded(text: str) -> Iterator[Span]:
    """What is base64 of a text with a secret, as in Kubernetes' `data`."""
    for match in _ENCODED.finditer("\n" + text):
        decoded = base64.b64decode(match[1] + "AAA"[: -len(match[1]) % 4]).rstrip(b"\0")
        if decoded.isascii() and any(_plain(decoded.decode("ascii"))):
            yield Span(match.start(1) - 1, match.end(1) - 1, "secret in base64")


def looks_secret(text: str) -> bool:
    """Is there any secret in it?"""
    return bool(secrets(text))


def lowered(text: str) -> str:
    """*text* in small letters, as long as it was: some letters have a small form of two."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)

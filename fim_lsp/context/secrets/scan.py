"""Every secret in a text. Pure."""

from __future__ import annotations

from fim_lsp.context.secrets.credentials import credentials
from fim_lsp.context.secrets.fields import fields
from fim_lsp.context.secrets.key_blocks import key_blocks
from fim_lsp.context.secrets.span import Span
from fim_lsp.context.secrets.tokens import tokens

_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def secrets(text: str) -> list[Span]:
    """Every span that looks like a secret, by start; they may overlap. Linear in the text's length."""
    lower = lowered(text)
    found = (*tokens(text), *fields(text, lower), *credentials(text, lower), *key_blocks(text))
    return sorted(found)


def looks_secret(text: str) -> bool:
    """Is there any secret in it?"""
    return bool(secrets(text))


def lowered(text: str) -> str:
    """*text* in small letters, as long as it was: some letters have a small form of two."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)

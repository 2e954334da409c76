"""
The tree-sitter grammars by language: `grammars.toml`.

Grammars are imported when first asked for: sixteen shared libraries cost 60 ms and 20 MB that a
Python user should not pay for Rust.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import tomllib
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tree_sitter import Language


@dataclass(frozen=True)
class Grammar:
    """
    One language: where its parser comes from, and the types of nodes that a definition may be
    wrapped in, and has the range of.
    """

    module: str
    function: str
    wrappers: AbstractSet[str]


def types(text: str) -> frozenset[str]:
    """Return node types written as words."""
    return frozenset(text.split())


def _grammar(row: dict[str, str]) -> Grammar:
    wrappers = types(row.get("wrappers", ""))
    return Grammar(row["module"], row.get("function", "language"), wrappers)


_ROWS: dict[str, dict[str, str]] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "grammars.toml") or b"").decode()
)
GRAMMARS = {name: _grammar(row) for name, row in _ROWS.items()}
ALIASES = {word: name for name, row in _ROWS.items() for word in row.get("aliases", "").split()}
EXTENSIONS = {end: name for name, row in _ROWS.items() for end in row["files"].split()}


def language_of(path: str) -> str:
    """Return the LSP language identifier a file name suggests, "" when we know none."""
    return EXTENSIONS.get(path.rpartition(".")[2].lower(), "")


def grammar_of(language: str) -> Grammar | None:
    """Return the row for a language identifier as any editor spells it."""
    language = language.lower()
    return GRAMMARS.get(ALIASES.get(language, language))


@functools.cache
def load(module: str, function: str) -> Language:
    """Return the parser tables. Imported on first use; a missing wheel raises ImportError."""
    return Language(getattr(importlib.import_module(module), function)())

"""
The text of a config.toml with some settings changed, everything else as it was. Pure.

tomlkit keeps comments, order and spelling. The result is read back: where its settings are not exactly the wanted
ones, the edit is refused and nothing is lost.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError


class CannotEdit(Exception):
    """The text is no TOML, or cannot be changed; the message has the lines to write by hand."""


def set_values(text: str, section: str, values: Mapping[str, str]) -> str:
    """
    Return *text* with *values* set in *section*; "" removes a setting.

    Raises CannotEdit, also where *text* is no TOML.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"it cannot be read: {error}") from error
    # Where one setting is called fim.…, all others without it are ignored; see `settings.merge`.
    before = _flat(found)
    shared = "fim" in found or any(key.startswith("fim.") for key in before)
    path = f"fim.{section}" if shared else section
    wanted = {f"{path}.{key}": value for key, value in values.items()}
    try:
        text = _edit(text, path, {k: v for k, v in values.items() if v or f"{path}.{k}" in before})
        after = _flat(tomllib.loads(text))
    except (TOMLKitError, tomllib.TOMLDecodeError):
        after = {}
    if after != {key: value for key, value in {**before, **wanted}.items() if value != ""}:
        lines = "".join(f"\n    {key} = {json.dumps(value)}" for key, value in wanted.items())
        raise CannotEdit(f"it cannot be changed automatically; write into it{lines}")
    return text


def _edit(text: str, path: str, values: Mapping[str, str]) -> str:
    document = tomlkit.parse(text)
    for key, value in values.items():
        name = f"{path}.{key}"
        quoted = name in document  # "backend.url" = …
        table, name = (document, name) if quoted else (_table(document, path), key)
        if value:
            table[name] = value
        else:
            table.pop(name, None)
    return tomlkit.dumps(document)


def _table(document: tomlkit.TOMLDocument, path: str) -> Any:
    """Return the table at *path*, made where it is missing."""
    table: Any = document
    for name in path.split("."):
        table = table.setdefault(name, tomlkit.table())
        if not isinstance(table, dict):
            raise TOMLKitError(f"{path} is no table")
    return table


def _flat(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return dotted keys with their values, without those that are ""."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        elif value != "":
            found[f"{prefix}{key}"] = value
    return found

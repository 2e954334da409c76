"""
The text of a config.toml with some settings changed, everything else as it was. Pure.

Only whole lines are replaced or added, and the result is read back: where its settings are not exactly
the wanted ones (a value over several lines, a table in braces), it raises `CannotEdit`, and nothing is
lost.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

HEADER = re.compile(r"\s*\[(.*?)\]")
ASSIGNED = re.compile(r"""=\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^#\s]*(?:[ \t]+[^#\s]+)*)""")


class CannotEdit(Exception):
    """The text cannot be changed line by line; the message has the lines to write by hand."""


def edited(text: str, section: str, values: Mapping[str, str]) -> str:
    """
    *text* with *values* set in *section*; "" removes a setting.

    Raises CannotEdit, also where *text* is no TOML.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"it cannot be read: {error}") from error
    before = _flat(found)
    # Where one setting is called fim.…, all others without it are ignored; see `settings.merge`.
    shared = "fim" in found or any(key.startswith("fim.") for key in before)
    path = f"fim.{section}" if shared else section
    wanted = {f"{path}.{key}": value for key, value in values.items()}
    for key, value in values.items():
        text = _with(text, path, key, json.dumps(value, ensure_ascii=False) if value else "")
    try:
        after = _flat(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        after = {}
    if after != {key: value for key, value in {**before, **wanted}.items() if value != ""}:
        lines = "".join(f"\n    {key} = {json.dumps(value)}" for key, value in wanted.items())
        raise CannotEdit(f"it cannot be changed automatically; write into it{lines}")
    return text


def _with(text: str, path: str, key: str, value: str) -> str:
    """One setting in a line of its own: replaced, removed (*value* is ""), or added."""
    lines = text.splitlines(keepends=True)
    table, header, sibling = "", -1, -1
    for idx, line in enumerate(lines):
        if found := HEADER.match(line):
            # A [[table]] keeps its inner bracket, so it matches no section of ours.
            table = found[1].strip()
            header = idx if table == path else header
        name = f"{table}.{line.split('=')[0].strip()}".removeprefix(".").replace('"', "")
        if name == f"{path}.{key}":
            new = [ASSIGNED.sub(lambda _: f"= {value}", line, count=1)] if value else []
            return "".join((*lines[:idx], *new, *lines[idx + 1 :]))
        if not table and name.startswith(f"{path}."):
            sibling = idx
    if not value:
        return text
    if header >= 0:
        return _inserted(lines, header + 1, f"{key} = {value}\n")
    if sibling >= 0:
        return _inserted(lines, sibling + 1, f"{path}.{key} = {value}\n")
    gap = "\n" if text.strip() else ""
    return _inserted(lines, len(lines), f"{gap}[{path}]\n{key} = {value}\n")


def _inserted(lines: list[str], at: int, new: str) -> str:
    before = "".join(lines[:at])
    end = "\n" if before and not before.endswith("\n") else ""
    return before + end + new + "".join(lines[at:])


def _flat(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted keys with their values, without those that are ""."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        elif value != "":
            found[f"{prefix}{key}"] = value
    return found

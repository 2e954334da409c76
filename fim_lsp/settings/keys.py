"""
Keys as users write them, into one form: dotted, without `fim.` in front. Pure.

A key that may have been to say what is private, in other letters, is told from one that is only
unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

EXCLUDE = "privacy.exclude"
KEY_CHARS = 80
_NEAR = 2  # letters that a name for what is private may differ in
PRIVACY = ("privacy", "privacyexclude")
HIDING = (*PRIVACY, "exclude", "ignore")  # in settings that are all ours
_WORD = re.compile(r"[A-Z]?[a-z]+")  # of `excludeFiles`, `exclude_patterns`
_OURS = re.compile(r"(?:fim\.)+", re.IGNORECASE)
_HEADER = re.compile(r"\s*\[+([^\[\]]+)\]")
_QUOTES = re.compile(r"[\s\"']")
_OTHERS = ("editorInfo", "editorPluginInfo")  # Copilot's clients introduce themselves with these
_DEPTH = 3  # fim, section, field: what lies deeper is a value, and a wrong one


def flatten(raw: object, *, ours: bool, tables: Collection[str] = ()) -> list[tuple[str, object]]:
    """
    Return the settings in *raw* by dotted key without `fim.`, in whatever form they stand there; a
    key may come twice. The values of the keys *tables* are tables.

    Where not all of it is *ours*, and one key has `fim` before it, the others are other programs'.
    """
    if not isinstance(raw, Mapping):
        return []
    flat = [
        (key, value)
        for key, value in _flat(raw, "", _DEPTH, tables)
        if value is not None and (value or key != "fim")
    ]
    shared = not ours and ("fim" in raw or any(_OURS.match(key) for key, _ in flat))
    keys = [(_OURS.sub("", key), v) for key, v in flat if not shared or _OURS.match(f"{key}.")]
    others = () if ours else _OTHERS
    return [(key, value) for key, value in keys if key.split(".")[0] not in others]


def may_hide(key: str, meant: Sequence[str] = HIDING) -> bool:
    """
    Return whether *key*, which is wrong, may have been to say what is private.

    A word of it is near one that is *meant*, in whatever section it stands.
    """
    if key == "fim":
        return True
    parts = [part.strip() for part in key[:KEY_CHARS].split(".")]
    words = [word for part in parts for word in _WORD.findall(part)]
    together = "".join(filter(str.isalnum, "".join(parts)))
    names = {name.casefold() for name in (*parts, *words, together)}
    return min(_distance(name, word) for name in names for word in meant) <= _NEAR


def _distance(one: str, other: str) -> int:
    """Return how many letters are to be added, left out or replaced; a high number for many."""
    if abs(len(one) - len(other)) > _NEAR:
        return _NEAR + 1
    row: list[int] = [*range(len(other) + 1)]
    for n, letter in enumerate(one, 1):
        last = row[0]
        row[0] = n
        for at, wanted in enumerate(other, 1):
            last, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, last + (letter != wanted))
    return row[-1]


def number_lines(text: str) -> dict[str, int]:
    """Return the line of each setting and section in a file, by its key."""
    section = ""
    numbers: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        name = _QUOTES.sub("", header[1] if header else line.partition("=")[0])
        section, name = (name, name) if header else (section, f"{section}.{name}".lstrip("."))
        numbers.setdefault(_OURS.sub("", name), number)
    return numbers


def _flat(
    raw: Mapping[object, object], prefix: str, depth: int, tables: Collection[str]
) -> Iterator[tuple[str, object]]:
    for key, value in raw.items():
        is_value = _OURS.sub("", f"{prefix}{key}") in tables
        if isinstance(value, Mapping) and depth > 1 and not is_value:
            yield from _flat(value, f"{prefix}{key}.", depth - 1, tables)
        else:
            yield f"{prefix}{key}", value

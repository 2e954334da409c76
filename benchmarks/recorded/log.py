"""
A recorded editing session: its changes in order, the texts at any of them, what another tool showed. Pure but for `read`.

The format is VS Code's `workspaceRecording@1.0`, one JSON object with a *log* of entries with a *kind* and a *time*
in milliseconds. Offsets are in UTF-16 units; here they count code points.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).parent / "data"
SESSION = DATA / "edit_source_tracker.json.gz"
RANGE = re.compile(r"\[(\d+),(\d+) -> (\d+),(\d+)\]")


class Replacement(NamedTuple):
    """Replace the text between two offsets of the text before the change."""

    start: int
    end: int
    text: str


class Opened(NamedTuple):
    """A file as it was when it was first seen, or as it was read again."""

    ms: float
    path: str
    text: str


class Changed(NamedTuple):
    """A change of a file's text; none of its *edits* overlap, the last one stands first."""

    ms: float
    path: str
    edits: tuple[Replacement, ...]


class Moved(NamedTuple):
    """The cursor of a file is at an *offset*."""

    ms: float
    path: str
    offset: int


class Focused(NamedTuple):
    """The user looks at a file."""

    ms: float
    path: str


class Answered(NamedTuple):
    """
    What the recorded tool answered: the text to be put in place of that between two offsets.

    *n_changes* of the session came before the request.
    """

    ms: float
    path: str
    n_changes: int
    edit: Replacement


Entry = Opened | Changed | Moved | Focused | Answered


def read(file: Path) -> dict[str, Any]:
    """Return a recording from a file."""
    recording: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return recording


def entries(recording: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield what happened, in order."""
    paths: dict[int, str] = {}
    texts: dict[str, str] = {}
    kept: dict[str, str] = {}
    asked: dict[int, tuple[str, int, str]] = {}
    n_changes = 0
    for raw in recording["log"]:
        if raw["kind"] == "documentEncountered":
            paths[raw["id"]] = raw["relativePath"].replace("\\", "/")
            continue
        ms = float(raw.get("time", 0))
        path = paths.get(raw.get("id", -1), "")
        match raw:
            case {"kind": "storeContent", "contentId": str(content)}:
                kept[content] = texts[path]
            case {"kind": "setContent" | "restoreContent" as kind}:
                is_new = kind == "setContent"
                texts[path] = raw["content"] if is_new else kept[raw["contentId"]]
                yield Opened(ms, path, texts[path])
            case {"kind": "changed", "edit": list(edits)}:
                parts = tuple(_replacements(texts[path], edits))
                texts[path] = replace(texts[path], parts)
                n_changes += 1
                yield Changed(ms, path, parts)
            case {"kind": "selectionChanged", "selection": [[int(_), int(end)], *_]}:
                yield Moved(ms, path, _code_points(texts[path], end))
            case {"kind": "focused"}:
                yield Focused(ms, path)
            case {
                "data": {
                    "sourceId": "InlineCompletions.fetch",
                    "kind": "start",
                    "requestId": int(id),
                }
            }:
                asked[id] = path, n_changes, texts[path]
            case {"data": {"sourceId": "InlineCompletions.fetch", "requestId": int(id)}} if (
                id in asked
            ):
                yield from _answered(ms, raw["data"], *asked[id])


def _answered(
    ms: float, data: Mapping[str, Any], path: str, n_changes: int, text: str
) -> Iterator[Answered]:
    for item in data["result"][:1]:
        if not item["isInlineEdit"] and (edit := _parse_item(text, item)):
            yield Answered(ms, path, n_changes, edit)


def replace(text: str, edits: Iterable[Replacement]) -> str:
    """Return *text* with *edits*, the last one first."""
    for start, end, new in edits:
        text = text[:start] + new + text[end:]
    return text


def _replacements(text: str, edits: list[Any]) -> Iterator[Replacement]:
    for start, end, new in sorted(edits, reverse=True):
        yield Replacement(_code_points(text, start), _code_points(text, end), new)


def _code_points(text: str, units: int) -> int:
    """Return an offset in code points from one in UTF-16 units."""
    if text.isascii():
        return units
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "replace"))


def _parse_item(text: str, item: Mapping[str, Any]) -> Replacement | None:
    match = RANGE.fullmatch(item["range"])
    if match is None:
        return None
    places = [int(number) for number in match.groups()]
    lines = text.splitlines(keepends=True)
    start, end = (_offset(lines, *places[at : at + 2]) for at in (0, 2))
    return Replacement(start, end, item["text"].replace("\r\n", "\n"))


def _offset(lines: list[str], line: int, column: int) -> int:
    """Return the offset of a place that is counted from one."""
    return sum(map(len, lines[: line - 1])) + column - 1

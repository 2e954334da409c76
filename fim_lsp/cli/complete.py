"""
`fim-lsp complete`: one completion at one position, from the real server, as an editor would get it.

stdout gets the suggestion and nothing else; exit codes are grep's: 0 a suggestion, 1 none, 2 an
error.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fim_lsp.cli.client import EditorAnswer, EditorError, LspClient, editor
from fim_lsp.cli.terminal import Screen, screen_on, unbroken
from fim_lsp.documents import Position, body, split
from fim_lsp.settings import files
from fim_lsp.suggest.reasons import TOY, notice, report

# The path may hold colons itself (C:\x.py:3): only numbers at the very end are the position.
PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?", re.DOTALL)

# Names that mark the root of a workspace, as editors look for them.
ROOT_MARKS = (".git", ".hg", ".jj", ".svn", ".fim-lsp.toml")


class InputError(Exception):
    """An argument cannot be used; the message is one sentence and names the fix."""


class FilePosition(NamedTuple):
    """A file with a position in it; `position` counts from zero."""

    path: Path
    text: str
    position: Position


def find_position(argument: str) -> FilePosition:
    """Read the file named by `FILE:LINE[:COL]` and check that the position exists."""
    match = PLACE.fullmatch(argument)
    if match is None:
        raise InputError(f"{argument!r} is not a position: write FILE:LINE or FILE:LINE:COLUMN")
    path = Path(match["path"])
    text = read_text(path)
    column = int(match["column"]) if match["column"] else None
    return FilePosition(path, text, _position(path, text, int(match["line"]), column))


def read_text(path: Path) -> str:
    """
    Return the text of a file, line ends as they are; without a byte order mark, as editors send it.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.object[error.start]:#04x} at offset {error.start}"
        raise InputError(f"{path} is not UTF-8 ({where}): save it as UTF-8") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be read: {why}") from None
    if "\0" in text:
        raise InputError(f"{path} looks binary: name a text file")
    return text


def root_of(path: Path) -> Path:
    """Return the nearest folder above that holds a repository, or else the file's own folder."""
    folder = path.resolve().parent
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in ROOT_MARKS):
            return candidate
    return folder


def _position(path: Path, text: str, line: int, column: int | None) -> Position:
    lines = split(text)
    n_lines = len(lines) if lines[-1] or len(lines) == 1 else len(lines) - 1
    if not 1 <= line <= len(lines):
        raise InputError(f"{path} has no line {line}: choose 1 to {n_lines}")
    length = len(body(lines[line - 1]))
    if column is None:
        return Position(line - 1, length)
    if not 1 <= column <= length + 1:
        raise InputError(f"{path} line {line} has no column {column}: choose 1 to {length + 1}")
    return Position(line - 1, column - 1)


class Tried(NamedTuple):
    """One request, *by_hand* or as while typing: what came, how it ended, and why."""

    answer: EditorAnswer
    outcome: str
    reason: str
    by_hand: bool


def rows(all_tried: Sequence[Tried], backend: Mapping[str, Any]) -> dict[str, str]:
    """Return what each request got, by its title, and what else is to be known of the model."""
    texts = {}
    for (suggestions, _), outcome, reason, by_hand in all_tried:
        text = suggestions[0].text if suggestions else ""
        said = report(text, outcome, reason, by_hand=by_hand)
        texts["by hand" if by_hand else "while typing"] = said
    if note := notice(backend):
        texts["the model"] = note
    return texts


SUGGESTION = 0
NO_SUGGESTION = 1
ERROR = 2


def run(arguments: Namespace) -> int:
    """Print the suggestion for `arguments.position`; returns the exit code."""
    screen = screen_on(sys.stderr)
    try:
        position, others = _read(arguments)
        for problem in files.read((root_of(position.path),))[1]:
            screen.say(f"fim-lsp: {problem}")
        all_tried, stats = asyncio.run(_ask(position, others, arguments, screen))
    except (InputError, EditorError) as error:
        screen.status("")
        screen.line(f"fim-lsp: {error}")
        return ERROR
    tried = all_tried[-1]
    backend = stats["backend"]
    reports = rows(all_tried, backend)
    if (message := backend.get("message")) and not (arguments.json or arguments.why):
        screen.say(f"fim-lsp: {message}")  # another model answers than the one that is named
    if arguments.json:
        result = _as_json(position, tried, stats)
        if arguments.why:
            result["why"] = reports
        screen_on(sys.stdout).text(json.dumps(result, ensure_ascii=False, indent=2))
    elif arguments.why:
        place = ":".join(map(str, (position.path, *_one_based(position.position).values())))
        texts = (f"\n  {title:<13} {text}" for title, text in reports.items())
        screen_on(sys.stdout).line("".join((unbroken(place), *texts)))
    elif tried.answer.suggestions:
        screen_on(sys.stdout).text(tried.answer.suggestions[0].text)
    else:
        screen.line(f"fim-lsp: nothing to suggest here: {tried.reason}")
    if screen.live and backend["bundled"] and not arguments.why:
        screen.line(screen.paint(f"(by {TOY})", "faint"))
    return SUGGESTION if tried.answer.suggestions else NO_SUGGESTION


def _read(arguments: Namespace) -> tuple[FilePosition, dict[Path, str]]:
    position = find_position(arguments.position)
    others = {Path(name): read_text(Path(name)) for name in arguments.open}
    if not position.text.strip() and not others:
        raise InputError(
            f"{position.path} is empty, so there is no context: write a line first, "
            f"or add other files with --open"
        )
    return position, others


async def _ask(
    position: FilePosition, others: Mapping[Path, str], arguments: Namespace, screen: Screen
) -> tuple[list[Tried], dict[str, Any]]:
    """
    Send a request by hand, and before that, to say why, one as while typing: each to a server of
    its own, which knows nothing of the other's text. Return the last one's numbers, too.
    """
    all_tried = list[Tried]()
    stats = dict[str, Any]()
    for by_hand in (False, True) if arguments.why else (True,):
        async with editor(root_of(position.path), _settings(arguments)) as server:
            for path, text in others.items():
                server.open(path, text)
            server.open(position.path, position.text)
            is_ready = await _wait_ready(server, screen, needed=not arguments.why)
            all_tried.append(await _try(server, position, screen, invoked=by_hand))
            stats = await server.stats()
        if not is_ready:
            break  # by hand the server would wait for the model
    return all_tried, stats


async def _try(
    server: LspClient, position: FilePosition, screen: Screen, *, invoked: bool
) -> Tried:
    def progress(n_tokens: int, seconds: float) -> None:
        screen.status(f"the model reads the file: {n_tokens:,} tokens … {seconds:.1f} s")

    path = position.path
    at = position.position
    answer = await server.complete(path, at, invoked=invoked, progress=progress)
    last = (await server.stats())["last"]
    screen.status("")
    return Tried(answer, last["outcome"], last["reason"], by_hand=invoked)


async def _wait_ready(server: LspClient, screen: Screen, *, needed: bool) -> bool:
    """Wait until the backend is ready, or not likely to be; whether it is."""
    try:
        backend = await server.wait_settled(
            lambda seconds: screen.status(f"waiting for the model … {seconds:.1f} s")
        )
    finally:  # Ctrl-C, too
        screen.status("")
    is_ready: bool = backend["ready"]
    if needed and not is_ready:
        reason = backend.get("message") or f"the model server is {backend['state']}"
        raise EditorError(f"{reason} (fim-lsp doctor says more)")
    return is_ready


def _settings(arguments: Namespace) -> dict[str, object]:
    """
    Return the settings for this request; the user waits for this one answer, so it may take longer
    than one during typing.
    """
    backend = {"kind": "llama-server", "url": arguments.url} if arguments.url else {}
    return {"completion": {"deadlineMs": 30_000}, "backend": backend}


def _as_json(position: FilePosition, tried: Tried, stats: Mapping[str, Any]) -> dict[str, object]:
    answer = tried.answer
    return {
        "file": str(position.path),
        **_one_based(position.position),
        "items": [
            {"text": text, "start": _one_based(start), "end": _one_based(end)}
            for text, start, end, _ in answer.suggestions
        ],
        "outcome": tried.outcome,
        "ms": round(answer.ms, 1),
        "backend": stats["backend"],
        "tokens": stats["tokens"],
    }


def _one_based(position: Position) -> dict[str, int]:
    return {"line": position.line + 1, "column": position.column + 1}

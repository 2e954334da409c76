"""
`FILE:LINE[:COL]` into a text and a position in it, or one sentence that says what to change.

Lines and columns count from 1 as editors show them; a column is the place *before* that character,
so a line of 12 characters has columns 1 to 13. Without a column it is the end of the line.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import NamedTuple

from fim_lsp.documents import Position, body, split

# The path may hold colons itself (C:\x.py:3): only numbers at the very end are the position.
PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?", re.DOTALL)

# What marks the root of a workspace, as editors look for it.
ROOT_MARKS = (".git", ".hg", ".jj", ".svn", ".fim-lsp.toml")

UTF_16_OR_32 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


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
    """Return the text of a file, line ends as they are; without a byte order mark, as editors send it."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder: name a file in it") from None
    except PermissionError:
        raise InputError(_not_readable(path)) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return _decode(path, raw)


def root_of(path: Path) -> Path:
    """Return the nearest folder above that holds a repository, or else the file's own folder."""
    folder = path.resolve().parent
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in ROOT_MARKS):
            return candidate
    return folder


def _decode(path: Path, raw: bytes) -> str:
    if raw.startswith(UTF_16_OR_32):
        raise InputError(f"{path} is UTF-16 or UTF-32: save it as UTF-8")
    if b"\0" in raw:
        raise InputError(
            f"{path} looks binary (zero byte at offset {raw.index(0)}): name a text file"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise InputError(
            f"{path} is not UTF-8 (byte 0x{byte:02x} at offset {error.start}): save it as UTF-8, "
            f"for example with: iconv -f latin1 -t utf-8"
        ) from None


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


def _not_readable(path: Path) -> str:
    """Return why *path* cannot be read; Windows says "permission denied" when a folder is opened as a file."""
    if path.is_dir():
        return f"{path} is a folder: name a file in it"
    return f"{path} cannot be read: allow yourself to read it, for example with: chmod u+r {path}"

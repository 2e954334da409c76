"""
Notes on text of the user's files that is on disk: they name the files, so that it can be judged.

A note is a private JSON file with the URIs in `files`. Its content is in it, or beside it under its
name without `.json`, as the state of a model is: the content is written after the note and deleted
before it, so no text is ever without a name. All of this touches the disk: call it in a thread.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from server_bridge.machine import private_files

Note = TypeVar("Note")

MOST_BYTES = 1 << 24  # of a note: a hundred times one on 32,000 tokens
WRITE_S = 60.0  # longer than a file takes to be written
NAMELESS: tuple[str, ...] = ("",)  # what is of no file that can be judged

log = logging.getLogger(__name__)


def write(path: Path, note: object) -> None:
    """Replace a note. Raises OSError."""
    private_files.write(path, msgspec.json.encode(note))


def read(path: Path, default: Note) -> Note:
    """Return a note of the type of *default*, which it is where it cannot be used."""
    parse = msgspec.json.Decoder(type(default)).decode
    return private_files.restore(path, parse, default, MOST_BYTES)


def touch(path: Path) -> None:
    """Note that it was of use: others go first."""
    with contextlib.suppress(OSError):
        os.utime(path)


def list_by_use(folder: Path) -> list[Path]:
    """
    Return the notes in a folder, the one used last at the end; before all others what was used in
    the future, by a clock that was set back since.
    """
    latest = time.time() + WRITE_S
    return sorted(
        folder.glob("*.json"), key=lambda path: ((used := _read_last_use(path)) <= latest, used)
    )


def list_files(folders: Iterable[Path]) -> dict[Path, tuple[str, ...]]:
    """
    Return the notes with the files that they name; and, as of no file, what has no note: it cannot
    be read, or was being written when the process was killed.
    """
    here = {path for folder in folders for path in _list(folder)}
    notes = {path for path in here if path.suffix == ".json" and not path.name.startswith(".")}
    noted = {path.with_suffix("") for path in notes}
    return {path: _read_files(path) if path in notes else NAMELESS for path in here - noted}


def is_new(path: Path) -> bool:
    """Return whether *path* may be about to have its name: it is being written."""
    return abs(time.time() - _read_last_use(path)) < WRITE_S


def drop(path: Path) -> bool:
    """Delete what a note is about, then the note; return whether both are gone."""
    return delete(path.with_suffix("")) and delete(path)


def delete(path: Path) -> bool:
    """Return whether the file is gone."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("text stays on disk: %s", error)
        return False
    return True


def _read_files(note: Path) -> tuple[str, ...]:
    return private_files.restore(note, _parse_files, NAMELESS, MOST_BYTES)


def _parse_files(data: bytes) -> tuple[str, ...]:
    return tuple(map(str, json.loads(data)["files"])) or NAMELESS


def _list(folder: Path) -> list[Path]:
    """Return what is in a folder, also behind a link."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return [path for path in folder.iterdir() if path.is_symlink() or not path.is_dir()]
    return []


def _read_last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0

"""
The state that a session needs after a restart, as a file per workspace.

The model's state is saved by the backend. Here stand the ring and, by document, the frame and what
was typed: with them the first prompt is the last one again. Files are private (0600 in folders of
mode 0700), a file is replaced whole or not at all, and one that cannot be read is ignored.
All of this touches the disk: call it in a thread.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from xxhash import xxh3_64_hexdigest

from fim_lsp import __version__
from fim_lsp.context.ring import Ring
from fim_lsp.prompt.frame import Frame
from fim_lsp.session import days
from server_bridge.machine import private_files

N_WORKSPACES = 64  # of some 200 KB each
FOLDERS = ("slots", "workspaces")  # states of models, and what is written here
RECORDED = "recorded"  # what `fim.record` of earlier versions wrote
MOST_BYTES = 1 << 24
NAMELESS: tuple[str, ...] = ("",)  # what is of no file that can be judged
PAGE = "context.txt"  # the last prompt that `fim.showContext` showed
STACKS = "stacks.txt"  # where servers were that the watchdog ended
LEARNED = "quiet.json"  # what versions before wrote of the suggestions that a user takes

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SavedDocument:
    """The place of the cursor in a document: behind *typed*."""

    frame: Frame
    typed: str


@dataclass(frozen=True, slots=True)
class SavedWorkspace:
    """
    The saved state of a workspace: the ring, and the last places by URI; *files* are all whose text
    is in it, *version* is the program's.
    """

    ring: Ring = field(default_factory=Ring)
    documents: dict[str, SavedDocument] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    version: str = __version__


def load(cache: Path, workspace: str) -> SavedWorkspace:
    """Return the saved state of *workspace* (by name), an empty one where it cannot be read."""
    path = path_of(cache, workspace)
    parse = msgspec.json.Decoder(SavedWorkspace).decode
    kept = private_files.restore(path, parse, SavedWorkspace(), MOST_BYTES)
    with contextlib.suppress(OSError):
        os.utime(path)
    return kept if kept.version == __version__ else SavedWorkspace()


def store(cache: Path, workspace: str, kept: SavedWorkspace) -> None:
    """Keep it, and forget workspaces that were not opened for longest."""
    path = path_of(cache, workspace)
    private_files.write(path, msgspec.json.encode(kept))
    files = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for old in files[:-N_WORKSPACES]:
        old.unlink(missing_ok=True)


def list_kept(cache: Path) -> dict[Path, tuple[str, ...]]:
    """
    Return the files that say whose text is in them, or in the state beside them, with the URIs; ""
    of what says nothing: it cannot be read, or was being written when the process was killed.
    """
    here = {path for name in FOLDERS for path in _list(cache / name)}
    notes = {path for path in here if path.suffix == ".json" and not path.name.startswith(".")}
    noted = {path.with_suffix("") for path in notes}
    return {path: _list_files(path) if path in notes else NAMELESS for path in here - noted}


def _list_files(note: Path) -> tuple[str, ...]:
    return private_files.restore(note, _parse_files, NAMELESS, MOST_BYTES)


def _parse_files(data: bytes) -> tuple[str, ...]:
    return tuple(map(str, json.loads(data)["files"])) or NAMELESS


def _list(folder: Path) -> list[Path]:
    """Return what is in a folder, also behind a link."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return [path for path in folder.iterdir() if path.is_symlink() or not path.is_dir()]
    return []


def drop(path: Path) -> None:
    """Delete a file of `list_kept`: first the state that it is about."""
    _delete(path.with_suffix("")) and _delete(path)


def _delete(path: Path) -> bool:
    """Return whether the file is gone."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("text stays on disk: %s", error)
        return False
    return True


def forget(cache: Path) -> int:
    """Delete all that was ever saved here; returns how many bytes that were."""
    folders = [cache / name for name in (*FOLDERS, RECORDED)]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    for name in (PAGE, STACKS, days.FILE, LEARNED):
        files += cache.glob(f"*{name}*")  # also what a process that was ended left half written
    n_bytes = 0
    for path in files:
        with contextlib.suppress(OSError):  # a server deletes, too; a link may lead nowhere
            n_bytes += path.lstat().st_size
        _delete(path)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # servers that run announce themselves there
        (cache / "http").rmdir()
    return n_bytes


def path_of(cache: Path, workspace: str) -> Path:
    """Return the file of a workspace."""
    return cache / "workspaces" / f"{xxh3_64_hexdigest(workspace.encode())}.json"

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
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from xxhash import xxh3_64_hexdigest

from fim_lsp import __version__
from fim_lsp.context.ring import Ring
from fim_lsp.prompt.frame import Frame
from fim_lsp.session import days, quietness
from server_bridge.machine import private_files

N_WORKSPACES = 64  # of some 200 KB each
FOLDERS = ("slots", "workspaces")  # states of models, and what is written here
MOST_BYTES = 1 << 24
PAGE = "context.txt"  # the last prompt that `fim.showContext` showed
STACKS = "stacks.txt"  # where servers were that the watchdog ended


@dataclass(frozen=True, slots=True)
class SavedDocument:
    """The place of the cursor in a document: behind *typed*."""

    frame: Frame
    typed: str


@dataclass(frozen=True, slots=True)
class SavedWorkspace:
    """
    The saved state of a workspace: the ring, and the last places by URI; *version* is the
    program's.
    """

    ring: Ring = field(default_factory=Ring)
    documents: dict[str, SavedDocument] = field(default_factory=dict)
    version: str = __version__


def load(cache: Path, workspace: str) -> SavedWorkspace:
    """Return the saved state of *workspace* (by name), an empty one where it cannot be read."""
    path = _path(cache, workspace)
    kept = private_files.restore(path, _parse, SavedWorkspace(), MOST_BYTES)
    with contextlib.suppress(OSError):
        os.utime(path)
    return kept if kept.version == __version__ else SavedWorkspace()


def _parse(data: bytes) -> SavedWorkspace:
    return msgspec.json.decode(data, type=SavedWorkspace)


def store(cache: Path, workspace: str, kept: SavedWorkspace) -> None:
    """Keep it, and forget workspaces that were not opened for longest."""
    path = _path(cache, workspace)
    private_files.write(path, msgspec.json.encode(kept))
    files = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for old in files[:-N_WORKSPACES]:
        old.unlink(missing_ok=True)


def list_uris(cache: Path) -> dict[Path, set[str]]:
    """
    Return the files whose text is in each workspace's file; those of one that cannot be read are
    one without a name.
    """
    files = (cache / "workspaces").glob("*.json")
    return {path: private_files.restore(path, _parse_uris, {""}, MOST_BYTES) for path in files}


def _parse_uris(data: bytes) -> set[str]:
    kept = json.loads(data)
    pieces = (piece["uri"] for chunk in kept["ring"]["chunks"] for piece in chunk["pieces"])
    return {*map(str, kept["documents"]), *map(str, pieces)}


def drop(cache: Path, path: Path) -> None:
    """Delete one workspace's file, and the states of models, whose notes have the same text."""
    path.unlink(missing_ok=True)
    shutil.rmtree(cache / "slots", ignore_errors=True)


def forget(cache: Path) -> int:
    """Delete all that was ever saved here; returns how many bytes that were."""
    folders = [cache / name for name in FOLDERS]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    for name in (PAGE, STACKS, days.FILE, quietness.FILE):
        files += cache.glob(f"*{name}*")  # also what a process that was ended left half written
    n_bytes = sum(path.stat().st_size for path in files)
    for path in files:
        path.unlink(missing_ok=True)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return n_bytes


def _path(cache: Path, workspace: str) -> Path:
    return cache / "workspaces" / f"{xxh3_64_hexdigest(workspace.encode())}.json"

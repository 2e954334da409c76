"""
The state that a session needs after a restart, as a file per workspace.

The model's state is saved by the backend. Here stand the ring and, by document, the frame and what
was typed: with them the first prompt is the last one again. Such a file is a note on itself
(`server_bridge.machine.notes`). All of this touches the disk: call it in a thread.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from fim_lsp import __version__
from fim_lsp.context.ring import Ring
from fim_lsp.prompt.frame import Frame
from fim_lsp.settings.files import ANNOUNCED, PAGE, STACKS
from server_bridge.machine import notes, shown

N_WORKSPACES = 64  # of some 200 KB each
FOLDERS = ("slots", "workspaces")  # states of models, and what is written here
RECORDED = "recorded"  # what `fim.record` of earlier versions wrote
# Files of earlier versions: of the suggestions that a user takes, and `fim-lsp serve`.
EARLIER = ("quiet.json", "days.json", "serve.log")
ENGINES = "engine-"  # of shared engines; an engine whose file is gone ends, with all it holds


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

    def without(self, uri: str) -> SavedWorkspace:
        """Return the same, but for the last place in *uri*."""
        return replace(self, documents={u: d for u, d in self.documents.items() if u != uri})


def load(cache: Path, workspace: str) -> SavedWorkspace:
    """Return the saved state of *workspace* (by name), an empty one where it cannot be read."""
    path = path_of(cache, workspace)
    kept = notes.read(path, SavedWorkspace())
    notes.touch(path)
    return kept if kept.version == __version__ else SavedWorkspace()


def store(cache: Path, workspace: str, kept: SavedWorkspace) -> None:
    """Keep it, and forget workspaces that were not opened for longest."""
    path = path_of(cache, workspace)
    notes.write(path, kept)
    for old in notes.list_by_use(path.parent)[:-N_WORKSPACES]:
        old.unlink(missing_ok=True)


def list_kept(cache: Path) -> dict[Path, tuple[str, ...]]:
    """Return what is on disk, with the URIs of the files whose text it has."""
    return notes.list_files(cache / name for name in FOLDERS)


def forget(cache: Path) -> int:
    """Delete all that was ever saved here; returns how many bytes that were."""
    folders = [cache / name for name in (*FOLDERS, RECORDED)]
    # what another server deletes meanwhile is no error of `walk`
    files = [Path(at, name) for each in folders for at, _, names in os.walk(each) for name in names]
    for name in (PAGE, STACKS, ENGINES, *EARLIER):
        files += cache.glob(f"*{name}*")  # also what a process that was ended left half written
    n_bytes = 0
    for path in files:
        with contextlib.suppress(OSError):  # a server deletes, too; a link may lead nowhere
            n_bytes += path.lstat().st_size
        notes.delete(path)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # servers that run announce themselves there
        (cache / ANNOUNCED).rmdir()
    return n_bytes


def end_engines(cache: Path) -> None:
    """End the engines that sessions share."""
    for path in cache.glob(f"{ENGINES}*.json"):
        try:
            shown.end(path)
        except OSError as error:
            log.warning("a shared engine is not ended: %s", error)


def path_of(cache: Path, workspace: str) -> Path:
    """Return the file of a workspace."""
    return cache / "workspaces" / f"{xxh3_64_hexdigest(workspace.encode())}.json"

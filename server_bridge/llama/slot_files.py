"""
The contents of slots on disk over a restart: the server writes a file, we write a note on its contents.

The server checks the shape of what it restores (layers, context, types of the cache, flash attention),
but not the model: with another one of the same shape it goes on, and answers nonsense (measured).
So the note says which model, build and flags a state belongs to, and what the model then said next;
after a restore the same is asked again and compared (`agrees`). Only the same weights with the same
cache say the same.

A client has at most `N_FILES` files on a server, whose names are used again, because it cannot delete
what lies on another machine. Everything here may touch the disk: call it in a thread.
"""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_hexdigest

from server_bridge.fim.layout import WIDTH
from server_bridge.llama.mirror import count_shared
from server_bridge.machine import private_files

VERSION = 3
N_FILES = 8  # per server: two files in use in each of four workspaces
# Bytes of all states: 8,000 tokens are 20 MB for the bundled model, 235 MB for a 1.5B one.
BUDGET = 1 << 30
N_NEXT = 10  # of the likeliest next tokens are compared
NEAR = 0.1  # nats; the order of floating-point sums makes 0.01, other weights make several
HASHED = 1 << 20  # bytes at both ends of a model: its header, and some of its weights
NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # Windows has no pipes in its file system

log = logging.getLogger(__name__)

Next = dict[int, float]  # the likeliest next tokens with their log-probabilities


class SavedSlot(Struct, frozen=True):
    """
    One saved state; *held* are the packed ids in it, *next* what the model said after the first *n_asked* of them.

    *checkpoints* are the numbers of tokens after which the file has older states, too.
    """

    identity: str
    document: str
    file: str
    held: bytes
    n_asked: int
    next: Next
    n_bytes: int
    checkpoints: list[int]
    version: int = VERSION

    def __post_init__(self) -> None:
        """Refuse what an older version wrote, or what is damaged."""
        is_whole = not len(self.held) % WIDTH and 0 < self.n_asked <= len(self.held) // WIDTH
        if self.version != VERSION or not is_whole or Path(self.file).name != self.file:
            raise ValueError("it is of another version, or damaged")


def identity(facts: Mapping[str, object], model_path: str, *, ours: bool) -> str:
    """
    Return a hash of what must be the same for a state to be good: *facts* about the server, and its
    model's file.

    The file is read only if the server is *ours*: the path that another one names may be anything. Such
    a model is known by its name, and `agrees` tells models apart.
    """
    file = _file(model_path) if ours else []
    return json.dumps({**facts, "path": model_path, "file": file}, sort_keys=True)


def agrees(then: Next, now: Next) -> bool:
    """Return whether the model says of the next token what it said when the state was saved."""
    likeliest = sorted(then, key=lambda token: -then[token])[: N_NEXT // 2]
    return bool(likeliest) and all(
        abs(then[token] - now.get(token, -99.0)) < NEAR for token in likeliest
    )


def best(folder: Path, identity: str, prompt: bytes) -> SavedSlot | None:
    """Return the state of this server that shares most with *prompt*, if any shares anything."""
    found = [saved for saved in _all(folder) if saved.identity == identity]
    found = [saved for saved in found if count_shared(saved.held, prompt)]
    return max(found, key=lambda saved: count_shared(saved.held, prompt), default=None)


def file_for(folder: Path, identity: str, document: str) -> str:
    """
    Return the name under which the server is to save *document* now; what we knew of that file is void.

    The document's own, else a fresh one, else the one unused for longest.
    """
    stem = xxh3_64_hexdigest(identity.encode())
    ours = [saved for saved in _all(folder) if saved.identity == identity]
    own = [saved.file for saved in ours if saved.document == document]
    fresh = {f"fim-lsp-{stem}-{n}.bin" for n in range(N_FILES)} - {saved.file for saved in ours}
    name = (own or sorted(fresh) or [saved.file for saved in ours])[0]
    _note(folder, name).unlink(missing_ok=True)
    return name


def put(folder: Path, saved: SavedSlot) -> None:
    """Note what the server has saved, and make room for it."""
    private_files.write(_note(folder, saved.file), msgspec.json.encode(saved))
    room = BUDGET
    for other in reversed(list(_all(folder))):
        room -= other.n_bytes
        if room < 0:
            drop(folder, other)


def touch(folder: Path, saved: SavedSlot) -> None:
    """Note that a state was of use: others are dropped first."""
    _note(folder, saved.file).touch()


def drop(folder: Path, saved: SavedSlot) -> None:
    """Delete the note on a state, and its file if that lies here."""
    _note(folder, saved.file).unlink(missing_ok=True)
    (folder / saved.file).unlink(missing_ok=True)


def _all(folder: Path) -> Iterable[SavedSlot]:
    """Yield every state we know of, the one used last at the end."""
    for path in sorted(folder.glob("*.json"), key=_read_last_use):
        try:
            yield msgspec.json.decode(path.read_bytes(), type=SavedSlot)
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be used any more: %s", path, error)
            path.unlink(missing_ok=True)


def _note(folder: Path, file: str) -> Path:
    return folder / f"{file}.json"


def _read_last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _file(model_path: str) -> list[object]:
    """Return size, time and a hash of both ends of a model's file; empty if it is none that can be read."""
    try:
        with open(model_path, "rb", opener=_open) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                return []
            ends = file.read(HASHED)
            file.seek(max(0, facts.st_size - HASHED))
            digest = xxh3_64_hexdigest(ends + file.read(HASHED))
            return [facts.st_size, facts.st_mtime_ns, digest]
    except (OSError, ValueError):
        return []


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | NONBLOCK)  # or a pipe would be waited for

"""
Notes on the contents of slots that a server saved, to be restored after a restart.

The server writes a file, we write a note on its contents. The server checks the shape of what it
restores (layers, context, types of the cache, flash attention), but not the model: with another one
of the same shape it goes on, and answers nonsense (measured). So the note says which model, build
and flags a state belongs to, and what the model then said next. Only the same weights with the same
cache say the same.

A client has at most `N_FILES` files on a server, whose names are used again, because it cannot
delete what lies on another machine.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, structs
from xxhash import xxh3_64_hexdigest

from server_bridge.fim.layout import WIDTH, count_shared
from server_bridge.llama.identity import Identity
from server_bridge.machine import notes

VERSION = 4
N_FILES = 8  # per server: two files in use in each of four workspaces
# Bytes of all states: 8,000 tokens are 235 MB for a 1.5B model.
BUDGET = 1 << 30
N_NEXT = 10  # of the likeliest next tokens are asked for, and half of them compared
NEAR = 0.1  # nats; the order of floating-point sums makes 0.01, other weights make several

Next = dict[int, float]  # the likeliest next tokens with their log-probabilities


class SavedSlot(Struct, frozen=True):
    """
    One saved state, of text of *files* (URIs); *held* are the packed ids in it, none while the
    server writes it, *next* what the model said after the first *n_asked* of them.

    *checkpoints* are the numbers of tokens after which the file has older states, too.
    """

    identity: str
    document: str
    file: str
    files: tuple[str, ...]
    held: bytes = b""
    n_asked: int = 0
    next: Next = {}
    n_bytes: int = 0
    checkpoints: list[int] = []
    version: int = VERSION

    @property
    def n(self) -> int:
        """Return how many tokens are in it."""
        return len(self.held) // WIDTH

    def share(self, prompt: bytes) -> int:
        """Return how many tokens *prompt* shares with it."""
        return count_shared(self.held, prompt)

    def __post_init__(self) -> None:
        """Refuse what an older version wrote, or what is damaged."""
        is_whole = not len(self.held) % WIDTH and 0 <= self.n_asked <= self.n
        if self.version != VERSION or not is_whole or Path(self.file).name != self.file:
            raise ValueError("it is of another version, or damaged")


NOTHING = SavedSlot("", "", "", ())


def identify(server: Identity, engine: str) -> str:
    """
    Return what must be the same for a state to be good: the server, and its model's file.

    The file is looked at only if the server is our own *engine*: the path that another one names
    may be anything. `agrees` tells models apart, and what adapters make of them.
    """
    return json.dumps([*server, engine, _file(server.model_path) if engine else []])


def agrees(then: Next, now: Next) -> bool:
    """Return whether the model says of the next token what it said when the state was saved."""
    likeliest = sorted(then, key=lambda token: -then[token])[: N_NEXT // 2]
    return bool(likeliest) and all(
        abs(then[token] - now.get(token, -99.0)) < NEAR for token in likeliest
    )


def best(folder: Path, identity: str, prompt: bytes) -> SavedSlot | None:
    """Return the state of this server that shares most with *prompt*, if any shares anything."""
    states = [saved for saved in _all(folder) if saved.identity == identity]
    states = [saved for saved in states if saved.share(prompt)]
    return max(states, key=lambda saved: saved.share(prompt), default=None)


def begin(folder: Path, identity: str, document: str, files: tuple[str, ...]) -> SavedSlot:
    """
    Note what the server is to save *document* under now, and of which files; what we knew of that
    name is void. So no text is ever on disk without a note of whose it is.

    The document's own name, else a fresh one, else the one unused for longest.
    """
    stem = xxh3_64_hexdigest(identity.encode())
    ours = [saved for saved in _all(folder) if saved.identity == identity]
    own = [saved.file for saved in ours if saved.document == document]
    fresh = {f"fim-lsp-{stem}-{n}.bin" for n in range(N_FILES)} - {saved.file for saved in ours}
    saved = SavedSlot(
        identity, document, (own or sorted(fresh) or [saved.file for saved in ours])[0], files
    )
    (folder / saved.file).unlink(missing_ok=True)
    notes.write(_note(folder, saved), saved)
    return saved


def put(folder: Path, saved: SavedSlot, **contents: Any) -> None:
    """Note what the server has saved, with its *contents*, and make room for it."""
    notes.write(_note(folder, saved), structs.replace(saved, **contents))
    room = BUDGET
    for other in reversed(list(_all(folder))):
        room -= other.n_bytes
        if room < 0:
            drop(folder, other)


def touch(folder: Path, saved: SavedSlot) -> None:
    """Note that a state was of use: others are dropped first."""
    notes.touch(_note(folder, saved))


def drop(folder: Path, saved: SavedSlot) -> None:
    """Delete a state, if its file lies here, and the note on it."""
    notes.drop(_note(folder, saved))


def _all(folder: Path) -> Iterable[SavedSlot]:
    """Yield every state we know of, the one used last at the end."""
    for path in notes.list_by_use(folder):
        if (saved := notes.read(path, NOTHING)) is NOTHING:
            notes.drop(path)
        else:
            yield saved


def _note(folder: Path, saved: SavedSlot) -> Path:
    return folder / f"{saved.file}.json"


def _file(model_path: str) -> list[object]:
    """Return size and time of a model's file; empty where there is no such file."""
    with suppress(OSError, ValueError):
        status = Path(model_path).stat()
        if stat.S_ISREG(status.st_mode):
            return [status.st_size, status.st_mtime_ns]
    return []

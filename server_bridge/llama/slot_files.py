"""
What slots hold, kept on disk over a restart: the server writes a file, we write beside it what is in it.

The server checks the shape of what it restores (layers, context, types of the cache, flash attention),
but not whose it is: with another model of the same shape it goes on, and answers nonsense (measured).
So a sidecar says which model, build and flags a state belongs to, and what the model then said next;
whoever restores it asks again and compares (`agrees`). Only who has the same weights and the same
cache says the same.

A server has at most `N_FILES` files of ours, whose names are used again, because we cannot delete
what lies on another machine. Everything here may touch the disk: call it in a thread.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from xxhash import xxh3_64_hexdigest

from server_bridge.mirror import shared

VERSION = 1
N_FILES = 8  # per server: two files in use in each of four workspaces
BUDGET = (
    1 << 30
)  # bytes of all states: 8,000 tokens are 20 MB for the bundled model, 235 MB for a 1.5B one
N_NEXT = 10  # of the likeliest next tokens are compared
NEAR = 0.1  # nats; the order of floating-point sums makes 0.01, other weights make several
HASHED = 1 << 20  # bytes at both ends of a model: its header, and some of its weights

log = logging.getLogger(__name__)

Next = Mapping[int, float]  # the likeliest next tokens with their log-probabilities


class Saved(NamedTuple):
    """One saved state; *held* are the packed ids in it, *next* what the model said after them."""

    identity: str
    document: str
    file: str
    held: bytes
    next: Next
    n_bytes: int


def identity(facts: Mapping[str, object], model_path: str) -> str:
    """
    What must be the same for a state to be good: *facts* about the server, and its model's file.

    A file that cannot be read from here (another machine's) is known by its name only; then
    `agrees` alone tells models apart.
    """
    return json.dumps({**facts, "path": model_path, "file": _file(model_path)}, sort_keys=True)


def agrees(then: Next, now: Next) -> bool:
    """Whether the model says of the next token what it said when the state was saved."""
    likeliest = sorted(then, key=lambda token: -then[token])[: N_NEXT // 2]
    return bool(likeliest) and all(
        abs(then[token] - now.get(token, -99.0)) < NEAR for token in likeliest
    )


def best(folder: Path, identity: str, prompt: bytes) -> Saved | None:
    """The state of this server that shares most with *prompt*, if any shares anything."""
    found = [saved for saved in _all(folder) if saved.identity == identity]
    found = [saved for saved in found if shared(saved.held, prompt)]
    return max(found, key=lambda saved: shared(saved.held, prompt), default=None)


def file_for(folder: Path, identity: str, document: str) -> str:
    """
    The name under which the server is to save *document* now; what we knew of that file is void.

    The document's own, else a fresh one, else the one unused for longest.
    """
    stem = xxh3_64_hexdigest(identity.encode())
    ours = [saved for saved in _all(folder) if saved.identity == identity]
    own = [saved.file for saved in ours if saved.document == document]
    fresh = {f"fim-lsp-{stem}-{n}.bin" for n in range(N_FILES)} - {saved.file for saved in ours}
    name = (own or sorted(fresh) or [saved.file for saved in ours])[0]
    _sidecar(folder, name).unlink(missing_ok=True)
    return name


def put(folder: Path, saved: Saved) -> None:
    """Note what the server has saved, and make room for it."""
    path = _sidecar(folder, saved.file)
    fields = {**saved._asdict(), "version": VERSION, "next": list(saved.next.items())}
    fields["held"] = base64.b64encode(saved.held).decode()
    write_private(path, json.dumps(fields).encode())
    room = BUDGET
    for other in reversed(list(_all(folder))):
        room -= other.n_bytes
        if room < 0:
            drop(folder, other)


def touch(folder: Path, saved: Saved) -> None:
    """It was of use: let others be dropped first."""
    _sidecar(folder, saved.file).touch()


def drop(folder: Path, saved: Saved) -> None:
    """Forget a state, and delete its file if it lies here."""
    _sidecar(folder, saved.file).unlink(missing_ok=True)
    (folder / saved.file).unlink(missing_ok=True)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    fresh.replace(path)


def _all(folder: Path) -> Iterable[Saved]:
    """Every state we know of, the one used last at the end."""
    for path in sorted(folder.glob("*.json"), key=_used):
        try:
            yield _parsed(json.loads(path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s is not of use any more: %s", path, error)
            path.unlink(missing_ok=True)


def _parsed(fields: dict[str, Any]) -> Saved:
    if fields["version"] != VERSION:
        raise ValueError(f"it is of version {fields['version']}")
    return Saved(
        identity=str(fields["identity"]),
        document=str(fields["document"]),
        file=Path(fields["file"]).name,
        held=base64.b64decode(fields["held"]),
        next={int(token): float(logprob) for token, logprob in fields["next"]},
        n_bytes=int(fields["n_bytes"]),
    )


def _sidecar(folder: Path, file: str) -> Path:
    return folder / f"{file}.json"


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _file(model_path: str) -> list[object]:
    """Size, time and a hash of both ends of a model's file; empty if it is not to be read here."""
    try:
        with open(model_path, "rb") as file:  # noqa: PTH123 (a name from a server, not a path of ours)
            stat = os.fstat(file.fileno())
            ends = file.read(HASHED)
            file.seek(max(0, stat.st_size - HASHED))
            return [stat.st_size, stat.st_mtime_ns, xxh3_64_hexdigest(ends + file.read(HASHED))]
    except (OSError, ValueError):
        return []

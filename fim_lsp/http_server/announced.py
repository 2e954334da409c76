"""
The ports of this user's sessions: a private file each, while they are open. Blocking, and quick.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from pathlib import Path
from typing import NamedTuple

from server_bridge.machine import private_files

FOLDER = "http"


class Announced(NamedTuple):
    """A port of the process *pid*; *token* is the secret that clients must send. *file* is the announcement."""

    url: str
    token: str
    pid: int
    file: Path


def announce(cache: Path, url: str, token: str) -> Path | None:
    """Say where this process listens; None where that cannot be written."""
    path = cache / FOLDER / f"{os.getpid()}-{url.rpartition(':')[2]}.json"
    with contextlib.suppress(OSError):
        private_files.write(path, json.dumps({"url": url, "token": token}).encode())
        return path
    return None


def withdraw(path: Path) -> None:
    """Withdraw the announcement: the port is closed."""
    with contextlib.suppress(OSError):
        path.unlink()


def find_announced(cache: Path) -> list[Announced]:
    """Return all announcements, also of processes that ended without withdrawing them."""
    ports = []
    for path in sorted((cache / FOLDER).glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads(private_files.read(path))
            pid = int(path.name.partition("-")[0])
            ports.append(Announced(str(said["url"]), str(said["token"]), pid, path))
    return ports


# -- own key -------------------------------------------------------------------------------------
# The key of this user's completion clients: made once and kept, so that what is written into their settings stays true.


def own_key(path: Path) -> str:
    """Return the key that the file *path* has; another one where it has none, or one that another user could have read."""
    with contextlib.suppress(OSError):
        if key := _read(path):
            return key
    fresh = secrets.token_urlsafe()
    try:
        private_files.write(path, f"{fresh}\n".encode())
        return _read(path)  # another process may have written one at the same time
    except OSError:
        return fresh  # for as long as this process runs


def _read(path: Path) -> str:
    return private_files.read(path).decode("ascii", "replace").strip()

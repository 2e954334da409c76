"""
Where the ports of this user's sessions are: a private file each, while they are open. Blocking, and quick.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from server_bridge.machine import private_files

FOLDER = "http"


class Announced(NamedTuple):
    """A port of the process *pid*; *token* is the secret it wants to hear. *file* says so."""

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
    """The port is closed."""
    with contextlib.suppress(OSError):
        path.unlink()


def found(cache: Path) -> list[Announced]:
    """What was said, also of processes that have ended without taking it back."""
    ports = []
    for path in sorted((cache / FOLDER).glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads(private_files.read(path))
            pid = int(path.name.partition("-")[0])
            ports.append(Announced(str(said["url"]), str(said["token"]), pid, path))
    return ports

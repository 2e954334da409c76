"""
What processes of this user listen at, and the secret that each asks for: a private file each, while they do.

Blocking, and quick. A process that was killed leaves its file: who finds no listener there takes it away (`withdraw`).
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from server_bridge.machine import private_files


class Announced(NamedTuple):
    """An address of the process *pid*; *token* is the secret that clients must send. *file* says so."""

    url: str
    token: str
    pid: int
    file: Path


def announce(folder: Path, url: str, token: str) -> Path | None:
    """Say in *folder* where this process listens; None where that cannot be written."""
    path = folder / f"{os.getpid()}-{url.rpartition(':')[2]}.json"
    with contextlib.suppress(OSError):
        private_files.write(path, json.dumps({"url": url, "token": token}).encode())
        return path
    return None


def withdraw(path: Path) -> None:
    """Withdraw the announcement: the port is closed."""
    with contextlib.suppress(OSError):
        path.unlink()


def find_announced(folder: Path) -> list[Announced]:
    """Return all announcements, also of processes that ended without withdrawing them."""
    ports = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(private_files.read(path))
            pid = int(path.name.partition("-")[0])
            ports.append(Announced(str(content["url"]), str(content["token"]), pid, path))
    return ports

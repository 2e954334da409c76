"""
What processes of this user listen at, and the secret that each asks for: a private file each, while they do.

Blocking, and quick. A process that was killed leaves its file: who finds no listener there takes it away (`withdraw`).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from server_bridge.machine import private_files

NOTHING: Mapping[str, str] = {}


class Announced(NamedTuple):
    """An address of the process *pid*; *token* is the secret that clients must send. *file* is the announcement, with more *facts*."""

    url: str
    token: str
    pid: int
    file: Path
    facts: Mapping[str, str]


def describe_file(path: Path) -> dict[str, str]:
    """Return the facts that tell a file from others: where it is, and its size. Raises OSError."""
    return {"file": str(path.resolve()), "size": str(path.stat().st_size)}


def announce(folder: Path, url: str, token: str, facts: Mapping[str, str] = NOTHING) -> Path | None:
    """Say in *folder* where this process listens; None where that cannot be written."""
    path = folder / f"{os.getpid()}-{url.rpartition(':')[2]}.json"
    with contextlib.suppress(OSError):
        private_files.write(path, json.dumps({**facts, "url": url, "token": token}).encode())
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
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):
            said = {key: str(value) for key, value in json.loads(private_files.read(path)).items()}
            pid = int(path.name.partition("-")[0])
            ports.append(Announced(said.pop("url"), said.pop("token"), pid, path, said))
    return ports

"""The key of this user's completion clients: made once and kept, so that what is written into their settings stays true."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from server_bridge.machine import private_files


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

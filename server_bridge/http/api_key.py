"""
Where a user keeps an API key, into the key: an environment variable, a file, or what a command prints.

Read anew for every connection, so that a key that was changed works without a restart. A key is never
part of a setting, an argument, a log line or an error.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from server_bridge.protocol import BackendUnusable

PATIENCE_S = 60.0  # a password manager may ask its user


@dataclass(frozen=True, slots=True)
class Key:
    """The first of the three that is set counts; *command* is split as a shell would, but needs none."""

    env: str = ""
    file: str = ""
    command: str = ""

    def __call__(self) -> str:
        """The key, "" where none is set. Blocks; raises BackendUnusable, naming the setting."""
        if self.env:
            return os.environ.get(self.env, "").strip()
        if self.file:
            return _from_file(self.file)
        return _from_command(self.command) if self.command else ""


def _from_file(path: str) -> str:
    try:
        return Path(path).expanduser().read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise BackendUnusable(f"fim.backend.apiKeyFile cannot be read: {error}") from error


def _from_command(command: str) -> str:
    """What *command* prints first; its complaints are not shown, for they might hold the key."""
    try:
        done = subprocess.run(  # noqa: S603 (the user wrote it, in a file of his own)
            shlex.split(command, posix=os.name != "nt"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise BackendUnusable(
            f"fim.backend.apiKeyCommand cannot be run ({type(error).__name__}): try it in a terminal"
        ) from None
    key = next(iter(done.stdout.splitlines()), "").strip()
    if done.returncode or not key:
        raise BackendUnusable(
            f"fim.backend.apiKeyCommand ended with {done.returncode} and "
            f"{'a key' if key else 'no key'}: try it in a terminal"
        )
    return key

"""
The place of an API key into the key: an environment variable, a file, the output of a command.

It is read again for every connection, so that a key that was changed works without a restart. A key
is never part of a setting, an argument, a log line or an error.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from server_bridge.machine import private_files
from server_bridge.machine.disks import in_disk_thread
from server_bridge.machine.executables import program_path, read_output
from server_bridge.protocol import BackendUnusable

WIDE = (b"\xff\xfe", b"\xfe\xff")  # how a file in UTF-16 begins, which PowerShell writes
COMMAND_S = 60.0  # a password manager may ask its user


@dataclass(frozen=True, slots=True)
class Key:
    """
    The first of the three that is set counts; *command* is split as a shell would, but needs none.
    """

    env: str = ""
    file: str = ""
    command: str = ""

    @property
    def is_set(self) -> bool:
        """Return whether the user has named a place."""
        return bool(self.env or self.file or self.command)

    async def __call__(self) -> str:
        """Return the key, "" where none is set. Raises BackendUnusable, naming the setting."""
        if self.env:
            return _clean(os.environ.get(self.env, ""))
        if self.file:
            return await in_disk_thread(_from_file, self.file)
        return await _from_command(self.command) if self.command else ""


@dataclass(frozen=True, slots=True)
class ServedKey:
    """
    The key that `fim-lsp serve` left in *folder* for editors of the same user, by the server's
    port.

    It is made for one run, so it opens nothing once that server is gone.
    """

    folder: Path
    port: int

    @property
    def path(self) -> Path:
        """The file with the key."""
        return self.folder / f"serve-{self.port}.key"

    async def __call__(self) -> str:
        """
        Return the key, "" where no server left one. Raises BackendUnusable for a file not to be
        believed.
        """
        try:
            return (await in_disk_thread(private_files.read, self.path)).decode().strip()
        except private_files.NotPrivate as error:
            raise BackendUnusable(
                f"{error}, but holds a server's key: delete it and restart `fim-lsp serve`"
            ) from error
        except (OSError, ValueError):
            return ""


def _from_file(path: str) -> str:
    try:
        content = Path(path).expanduser().read_bytes()
        return _clean(content.decode("utf-16" if content.startswith(WIDE) else "utf-8"))
    except (OSError, ValueError, RuntimeError) as error:
        raise BackendUnusable(f"fim.backend.apiKeyFile cannot be read: {error}") from error


def _clean(key: str) -> str:
    """Return *key* without the white space and the marks around it that other programs write."""
    return key.strip().strip("\ufeff\u200b").strip()


async def _from_command(command: str) -> str:
    """
    Return the first line that *command* prints; its errors are not shown, for they might hold the
    key.
    """
    try:
        name, *arguments = shlex.split(command, posix=os.name != "nt")
        program = await in_disk_thread(program_path, name) or name  # which is refused
        code, printed = await read_output((program, *arguments), COMMAND_S)
    except (OSError, ValueError) as error:
        raise BackendUnusable(
            f"fim.backend.apiKeyCommand cannot be run ({type(error).__name__}): try it in a terminal"
        ) from None
    key = _clean(next(iter(printed.decode(errors="replace").splitlines()), ""))
    if code or not key:
        raise BackendUnusable(
            f"fim.backend.apiKeyCommand ended with {code} and "
            f"{'a key' if key else 'no key'}: try it in a terminal"
        )
    return key

"""
The place of this session among the users of an engine that editors share, by `machine.locks`.

The files lie in the user's cache folder, whose disk may not answer: each look has a limit, and what
is asked for each prompt or connection is answered as it was seen last.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

from server_bridge.machine import locks
from server_bridge.machine.disks import LastSeen, within


class Membership:
    """A user of the engine of the file *path*; *users* is our lock, *said* what the file says."""

    def __init__(self, path: Path, users: int) -> None:
        self.path = path
        self.said = b""
        self._users = users
        self._is_said = LastSeen(lambda: locks.find(path) == self.said, seen=True)
        self._is_alone = LastSeen(lambda: locks.is_alone(path, users), seen=False)

    async def find(self) -> bytes | None:
        """Return what the living engine says, "" while it starts; None without one."""
        return await within(partial(locks.find, self.path))

    async def take(self) -> int | None:
        """Return the lock of an engine to be started, None where one lives. Raises OSError."""
        return await within(partial(locks.take, self.path), undo=_close)

    async def is_said(self) -> bool:
        """Return whether the engine is the one that was met."""
        return await self._is_said.ask()

    @property
    def was_said(self) -> bool:
        """Return whether it was when the file was seen last."""
        return self._is_said.seen

    async def is_alone(self) -> bool:
        """Return whether no other session uses the engine now."""
        return await self._is_alone.ask()

    async def leave(self) -> None:
        """Be no user of it any more; a disk that does not answer is told when it does."""
        with suppress(OSError):
            await within(self._leave)

    def _leave(self) -> None:
        if self._is_alone.looking is not None:
            self._is_alone.looking.result()  # it uses the lock
        locks.leave(self.path, self._users)


def _close(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


async def join(path: Path) -> Membership:
    """Be a user of the engine of *path* from now on. Raises OSError."""
    users = await within(partial(locks.join, path), undo=partial(locks.leave, path))
    return Membership(path, users)

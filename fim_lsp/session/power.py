"""
How much of the user's rest background work needs, by where the machine's power comes from.

`pace` decides; `Power` knows what it decides by, which it asks the system for off the event loop,
as some systems take long to tell.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from fim_lsp.settings.config import BackendConfig, list_servers
from server_bridge.machine.addresses import is_loopback
from server_bridge.machine.power import is_on_battery

LOOK_S = 30.0  # from one look at the power supply to the next
PACES = {"full": 1.0, "less": 4.0, "off": math.inf}


def pace(backend: BackendConfig, *, on_battery: bool) -> float:
    """
    Return how many times as long as usual the user must have rested before background work;
    infinite for never.

    The work of a server elsewhere takes none of this machine's power.
    """
    here = any(not server.url or is_loopback(server.url) for server in list_servers(backend))
    return PACES[backend.on_battery] if on_battery and here else 1.0


class Power:
    """The power supply, as it was seen within the last half minute."""

    def __init__(self, read: Callable[[], bool] | None = None) -> None:
        self._read = read
        self._on_battery = False
        self._due = 0.0
        self._looking: asyncio.Task[None] | None = None

    def is_on_battery(self) -> bool:
        """Return what is known, and begin to look again where that is old; for the event loop."""
        now = asyncio.get_running_loop().time()
        if now >= self._due and (self._looking is None or self._looking.done()):
            self._due = now + LOOK_S
            self._looking = asyncio.create_task(self._look(), name="power")
        return self._on_battery

    async def _look(self) -> None:
        self._on_battery = await asyncio.to_thread(self._read or is_on_battery)

    async def aclose(self) -> None:
        """End the look that is under way."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

"""
The port of an editor's session, for its page and for other programs: opened by the setting, or by a
user who wants to see.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fim_lsp.session.session import Session

log = logging.getLogger(__name__)


# The address of the page, for a browser, and what closes the port.
Port = tuple[str, Callable[[], Awaitable[None]]]
OpenPort = Callable[["Session", int, str], Awaitable[Port]]  # of the session, where, in which root


class LocalPage:
    """State: the port, once it is open. Without *open_port* none can be opened."""

    def __init__(self) -> None:
        self.open_port: OpenPort | None = None
        self._port: Port | None = None
        self._opening = asyncio.Lock()

    async def url(self, session: Session, roots: tuple[str, ...]) -> str:
        """Return the address of the page; "" where no port can be opened."""
        async with self._opening:
            if self._port is None and self.open_port is not None:
                wanted = session.config.http.port or 0
                try:
                    self._port = await self.open_port(session, wanted, roots[0] if roots else "")
                except OSError as error:
                    log.error("cannot listen on port %d (fim.http.port): %s", wanted, error)  # noqa: TRY400
        return self._port[0] if self._port else ""

    @property
    def is_open(self) -> bool:
        """Return whether it listens."""
        return self._port is not None

    async def aclose(self) -> None:
        """Listen no more, nor again; a port that is being opened is closed once it is."""
        self.open_port = None
        async with self._opening:
            port = self._port
            self._port = None
        if port is not None:
            _, aclose = port
            await aclose()

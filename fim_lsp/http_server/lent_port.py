"""
A port at which `fim-lsp complete` uses the engine of a session, as if it were its own.

It listens on 127.0.0.1 only, answers no web page and, where the system tells, only programs of this user; and they must
know a secret, which stands in a file that only this user may read and nowhere else. The file is there while the engine is.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from pathlib import Path
from typing import NamedTuple

from fim_lsp.http_server import admission, connections
from fim_lsp.http_server.connections import Listener, Request, Response
from fim_lsp.session.lending import Answer
from server_bridge.machine import announcements

JSON = {"content-type": "application/json", "cache-control": "no-store"}
FORBIDDEN, UNKNOWN = 403, 401

log = logging.getLogger(__name__)


class LentPort(NamedTuple):
    """The port, and the file that says where it is."""

    listener: Listener
    announcement: Path | None

    async def aclose(self) -> None:
        """Listen no more."""
        if self.announcement is not None:
            announcements.withdraw(self.announcement)
        await self.listener.aclose()


async def open_lent_port(folder: Path, answer: Answer, model: str) -> LentPort:
    """Open a port for the engine with the file *model*, and announce it in *folder*. Raises OSError."""
    token = secrets.token_urlsafe()

    def refuse(request: Request) -> Response | None:
        if admission.why_refused(request.target, request.headers, listener.port):
            return Response(FORBIDDEN, {})
        return None if admission.knows(request.headers, token) else Response(UNKNOWN, {})

    async def handle(request: Request) -> Response:
        return Response(200, JSON, await answer(request.target[1:], request.body))

    facts = await asyncio.to_thread(announcements.describe_file, Path(model))
    listener = await connections.listen(0, refuse, handle, log.debug)
    url = f"http://127.0.0.1:{listener.port}"
    return LentPort(listener, announcements.announce(folder, url, token, facts))

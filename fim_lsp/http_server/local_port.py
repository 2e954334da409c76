"""
The port of this machine at which a session answers other programs, and shows what it does.

It listens on 127.0.0.1 only, answers no web page, and, where the system tells, only programs of
this user. All of them must know a token, so that no single check is between another user and the
code. The page has one of its own, which ends with the process: browsers are started with an address
that others may see. While the port is open a file that only this user may read says where it is.
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from pathlib import Path

from fim_lsp.http_server import connections
from fim_lsp.http_server.admission import knows, why_refused
from fim_lsp.http_server.client_documents import ClientDocuments
from fim_lsp.http_server.completions import Completions
from fim_lsp.http_server.connections import HttpRequest, Response
from fim_lsp.http_server.page import OWN, Advise, Page
from fim_lsp.http_server.routes import Routes, error
from fim_lsp.session.session import Session
from fim_lsp.workspace import paths
from server_bridge.machine import private_files

FOLDER = "http"  # of the announcements, in our cache folder
SAFE = {
    "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer", "cache-control": "no-store",
}  # fmt: skip
FORBIDDEN, UNKNOWN = 403, 401

log = logging.getLogger(__name__)


class LocalPort:
    """
    The port of one session, while it is open. *refused* counts why requests were not answered.
    """

    def __init__(self, session: Session, root: str, token: str, advise: Advise | None) -> None:
        self.port = 0
        self.token = token or secrets.token_urlsafe()
        self._page_token = secrets.token_urlsafe()
        folder = paths.local_path(root) if root else None
        self._texts = ClientDocuments(session, root, Path(folder) if folder else None)
        self._routes = Routes(session, Completions(session, self._texts))
        self._page = Page(session, self._routes, advise)
        self.refused: Counter[str] = self._page.refused
        self._announcement: Path | None = None
        self._listener: connections.ListeningPort | None = None

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def page_url(self) -> str:
        """The URL of the page, with the token that it needs; what follows # is never sent."""
        return f"{self.url}/#{self._page_token}"

    async def open(self, port: int, cache: Path) -> None:
        """Begin to listen at *port*, 0 for a free one. Raises OSError where it is taken."""
        self._listener = await connections.listen(port, self._refusal, self._answer, self._refuse)
        self.port = self._listener.port
        self._announcement = private_files.announce(cache / FOLDER, self.url, self.token)

    async def aclose(self) -> None:
        """Listen no more."""
        if self._listener is not None:
            await self._listener.aclose()
        if self._announcement is not None:
            private_files.withdraw(self._announcement)
        self._texts.close()

    def _refusal(self, request: HttpRequest) -> Response | None:
        """
        Return the answer to a request that may get no other; the page's own files want no token.
        """
        if why := why_refused(request.target, request.headers, self.port):
            self._refuse(why)
            return _safe(error(FORBIDDEN, f"refused: {why}"))
        tokens = [self.token, *([self._page_token] if request.target in OWN else [])]
        if self._page.static(request) or any(knows(request.headers, token) for token in tokens):
            return None
        self._refuse(
            "the token is missing or wrong: give clients the API key that `fim-lsp http` prints"
        )
        return _safe(error(UNKNOWN, "the token is missing or wrong (Authorization: Bearer …)"))

    async def _answer(self, request: HttpRequest) -> Response:
        if static := self._page.static(request):
            return _safe(static)
        live = await self._page.live(request)
        return _safe(live if live is not None else await self._routes.answer(request))

    def _refuse(self, why: str) -> None:
        if not self.refused[why]:  # a page may ask a thousand times a second
            log.warning("refused a request, and all like it: %s", why)
        self.refused[why] += 1


async def open_local_port(
    session: Session,
    cache: Path,
    *,
    port: int = 0,
    token: str = "",
    root: str = "",
    advise: Advise | None = None,
) -> LocalPort:
    """
    Return a port for *session*, listening; *root* is the folder, as a URI, that clients' paths
    count from.

    Clients must know *token*, or where none is given one that nothing but the announcement says.
    Raises OSError where the port is taken.
    """
    local = LocalPort(session, root, token, advise)
    await local.open(port, cache)
    return local


def _safe(response: Response) -> Response:
    return response._replace(headers={**SAFE, **response.headers})

"""
The port of this machine at which a session answers other programs, and shows what it does.

It listens on 127.0.0.1 only, answers no web page, and, where the system tells, only programs of
this user. All of them must know a key, so that no single check is between another user and the
code. The page has one of its own, which ends with the process: browsers are started with an address
that others may see. While the port is open a file that only this user may read says where it is.

A browser lets every page send requests to this machine, and a name that is looked up again may
lead a page's own address here (DNS rebinding). But it says in the headers `Host`, `Origin` and
`Sec-Fetch-Site` for whom it asks, and no page can change these (Fetch standard, "forbidden
request-header"; W3C Fetch Metadata). Programs send none of the last two.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from fim_lsp.http_server import connections
from fim_lsp.http_server.completions import Completions
from fim_lsp.http_server.connections import HttpRequest, Response
from fim_lsp.http_server.page import OWN, Advise, Page
from fim_lsp.http_server.routes import Routes, error
from fim_lsp.session.session import Session
from server_bridge.machine import private_files
from server_bridge.machine.disks import within

NAMES = ("127.0.0.1", "localhost", "[::1]")
OWN_SITES = ("same-origin", "none")  # none: the user typed the address, or a program opened it
SAFE = {
    "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer", "cache-control": "no-store",
}  # fmt: skip
FORBIDDEN = 403
UNKNOWN = 401

log = logging.getLogger(__name__)


class LocalPort:
    """
    The port of one session, while it is open; *root* is the folder, as a URI, that clients' paths
    count from.

    Clients must know *key*; where it is "", one is made that only the announcement tells.
    *advise* has the doctor look at the session.
    """

    def __init__(
        self, session: Session, root: str = "", key: str = "", advise: Advise | None = None
    ) -> None:
        self.port = 0
        self.key = key or secrets.token_urlsafe()
        self._page_key = secrets.token_urlsafe()
        self._completions = Completions(session, root)
        self._routes = Routes(session, self._completions)
        self._page = Page(session, self._routes, advise)
        self._announcement: Path | None = None
        self._listener: connections.ListeningPort | None = None

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def page_url(self) -> str:
        """The URL of the page, with the key that it needs; browsers send nothing that follows #."""
        return f"{self.url}/#{self._page_key}"

    async def open(self, folder: Path, port: int = 0) -> None:
        """
        Begin to listen at *port*, 0 for a free one, and announce it in *folder*. Raises OSError
        where it is taken.
        """
        await self._page.load()
        self._listener = await connections.listen(port, self._refusal, self._answer, self._refuse)
        self.port = self._listener.port
        announce = partial(private_files.announce, folder, self.url, self.key)
        with contextlib.suppress(OSError):  # its disk does not answer
            self._announcement = await within(announce, undo=_withdraw)

    async def aclose(self) -> None:
        """Listen no more."""
        if self._listener is not None:
            await self._listener.aclose()
        with contextlib.suppress(OSError):
            await within(partial(_withdraw, self._announcement))
        self._completions.texts.close()

    def _refusal(self, request: HttpRequest) -> Response | None:
        """
        Return the answer to a request that may get no other; the page's own files want no key.
        """
        if why := _why_refused(request.target, request.headers, self.port):
            self._refuse(why)
            return _safe(error(FORBIDDEN, f"refused: {why}"))
        keys = [self.key, *([self._page_key] if request.target in OWN else [])]
        if self._page.static(request) or any(_knows(request.headers, key) for key in keys):
            return None
        self._refuse(
            "the key is missing or wrong: give clients the API key that `fim-lsp http` prints"
        )
        return _safe(error(UNKNOWN, "the key is missing or wrong (Authorization: Bearer …)"))

    async def _answer(self, request: HttpRequest) -> Response:
        if static := self._page.static(request):
            return _safe(static)
        live = await self._page.live(request)
        return _safe(live if live is not None else await self._routes.answer(request))

    def _refuse(self, why: str) -> None:
        if self._page.note_refused(why):  # a page may ask a thousand times a second
            log.warning("refused a request, and all like it: %s", why)


def _withdraw(announcement: Path | None) -> None:
    if announcement is not None:
        private_files.withdraw(announcement)


def own_key(path: Path) -> str:
    """
    Return the key of this user's programs that the file *path* has; another one where it has none,
    or one that another user could have read.
    """
    with contextlib.suppress(OSError):
        if key := _read_key(path):
            return key
    fresh = secrets.token_urlsafe()
    try:
        private_files.write(path, f"{fresh}\n".encode())
        return _read_key(path)  # another process may have written one at the same time
    except OSError:
        return fresh  # for as long as this process runs


def _read_key(path: Path) -> str:
    return private_files.read(path).decode("ascii", "replace").strip()


def _why_refused(target: str, headers: Mapping[str, str], port: int) -> str:
    """
    Return why a request for *target* with *headers* (lower case) is not answered at all, "" if it
    is.
    """
    first = target.removeprefix("//").partition("/")[0] if target.startswith("//") else ""
    if not target.startswith("/") or set(".:@") & set(first):  # `//infill` has a slash too many
        return "it is not an origin-form target"
    hosts = {f"{name}:{port}" for name in NAMES}
    if headers.get("host", "").lower() not in hosts:
        return "the Host is not this machine's own name"
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site", "none")
    is_own = origin is None or origin in {f"http://{host}" for host in hosts}
    return "" if is_own and site in OWN_SITES else "a web page asks"


def _knows(headers: Mapping[str, str], key: str) -> bool:
    """Return whether a request carries the secret *key*, as `Authorization: Bearer`."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    shown = secret.strip().encode("utf-8", "surrogateescape")
    is_right = hmac.compare_digest(shown, key.encode())
    return bool(key) and scheme.lower() == "bearer" and is_right


def _safe(response: Response) -> Response:
    return response._replace(headers={**SAFE, **response.headers})

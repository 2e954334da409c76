"""
The page at `/`: three files of this package, and the session's counters as JSON for them. State: what was counted last.

The page has no secrets in it and needs no token; what it shows is asked for with the token behind the # of its address.
"""

from __future__ import annotations

from collections import Counter
from functools import cache as cached
from pathlib import Path

from fim_lsp import __version__
from fim_lsp.http.connections import Request, Response
from fim_lsp.http.faces import Faces, found
from fim_lsp.session.session import Session

FILES = Path(__file__).parent / "page_files"
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGES = {"/": "index.html", "/page.css": "page.css", "/page.js": "page.js", "/icon.svg": "icon.svg"}
STATE = "/page/state"


class Page:
    """See the module."""

    def __init__(self, session: Session, faces: Faces, cache: Path) -> None:
        self.refused: Counter[str] = Counter()
        self._session = session
        self._faces = faces
        self._cache = cache

    @staticmethod
    def static(request: Request) -> Response | None:
        """One of the page's files, None for another path."""
        name = PAGES.get(request.target) if request.method == "GET" else None
        if name is None:
            return None
        kind = KINDS[name.rpartition(".")[2]]
        headers = {"content-type": f"{kind}; charset=utf-8", "content-security-policy": POLICY}
        return Response(200, headers, _file(name))

    async def live(self, request: Request) -> Response | None:
        """What the page shows now, None for another path."""
        if request.method != "GET" or request.target != STATE:
            return None
        return found({"version": __version__, "stats": self._session.stats()})


@cached
def _file(name: str) -> bytes:
    return (FILES / name).read_bytes()

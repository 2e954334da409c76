"""
The page at `/`: files of this package, and what the session does now as JSON for them.

It has no secrets in it and needs no key; what it shows is asked for with the key behind the #
of its address.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import accumulate
from pathlib import Path

from fim_lsp import __version__
from fim_lsp.events import Snoozed
from fim_lsp.http_server.connections import HttpRequest, Response
from fim_lsp.http_server.routes import Routes, respond
from fim_lsp.prompt.report import PromptReport
from fim_lsp.session.session import Session
from server_bridge.machine.disks import in_disk_thread

FILES = Path(__file__).parent / "page_files"
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGES = {"/": "index.html", "/page.css": "page.css", "/page.js": "page.js", "/icon.svg": "icon.svg"}
OWN = STATE, SNOOZE = "/page/state", "/page/snooze"  # what the page asks for, with its own key
ADVICE_S = 60.0  # between two looks at the server by the doctor


# A finding of the doctor: its check, a level (ok, warn, bad), what it says, how to fix it.
Advice = dict[str, str]
Advise = Callable[[], Awaitable[list[Advice]]]


class Page:
    """The page of one session. *advise* has the doctor look at the session."""

    def __init__(self, session: Session, routes: Routes, advise: Advise | None) -> None:
        self.refused: Counter[str] = Counter()
        self._files: dict[str, bytes] = {}
        self._session = session
        self._routes = routes
        self._advise = advise
        self._advice: list[Advice] = []
        self._advised_s = -ADVICE_S
        self._shown: tuple[object, PromptReport] | None = None

    async def load(self) -> None:
        """Read its files; before that there is no page."""
        for target, name in PAGES.items():
            self._files[target] = await in_disk_thread((FILES / name).read_bytes)

    def static(self, request: HttpRequest) -> Response | None:
        """Return one of the page's files, None for another path."""
        content = self._files.get(request.target) if request.method == "GET" else None
        if content is None:
            return None
        kind = KINDS[PAGES[request.target].rpartition(".")[2]]
        headers = {"content-type": f"{kind}; charset=utf-8", "content-security-policy": POLICY}
        return Response(200, headers, content)

    async def live(self, request: HttpRequest) -> Response | None:
        """Return what the page shows now, or act on its one button; None for another path."""
        if request.method == "POST" and request.target == SNOOZE:
            self._session.handle(Snoozed(0) if self._session.status().quiet_until else Snoozed())
            return respond({"until": self._session.status().quiet_until})
        if request.method != "GET" or request.target != STATE:
            return None
        stats = self._session.stats()
        now = {
            "version": __version__, "stats": stats, "keys": [*map(tuple, self._session.answers)],
            "prompt": _prompt(await self._report(stats)), "quiet": stats["quiet"],
            "advice": await self._update_advice(),
            "requests": self._routes.counts, "refused": self.refused,
        }  # fmt: skip
        return respond(now)

    def note_refused(self, why: str) -> bool:
        """Count a request that was refused; return whether it is the first one with this reason."""
        self.refused[why] += 1
        return self.refused[why] == 1

    async def _report(self, stats: dict[str, object]) -> PromptReport:
        """
        Return the report on the prompt at the place of the last request; measured once per change.
        """
        uri = self._session.last_uri
        if not uri:
            return PromptReport("nothing yet: type something in your editor")
        document = self._session.document(uri)
        done = ("requests", "warmSteps", "streams", "streamsAhead", "tokens")
        now = (uri, document and document.version, *(stats[name] for name in done))
        if self._shown is None or self._shown[0] != now:
            self._shown = now, await self._session.report(uri)
        return self._shown[1]

    async def _update_advice(self) -> list[Advice]:
        now = asyncio.get_running_loop().time()
        if self._advise and now >= self._advised_s + ADVICE_S:
            self._advised_s = now
            self._advice = await self._advise()
        return self._advice


def _prompt(report: PromptReport) -> dict[str, object]:
    """
    Return the parts in order, each with how many of its tokens the model has evaluated already.
    """
    counts = [part.tokens or 0 for part in report.segments]
    starts = [0, *accumulate(counts)]
    parts = [
        part._asdict() | {"cached": max(0, min(n, report.cached - start))}
        for part, n, start in zip(report.segments, counts, starts, strict=False)
    ]
    return {"note": report.note, "parts": parts}

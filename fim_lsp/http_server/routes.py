"""
Requests of other programs' clients into the session's answers: the table of paths. And the page at
`/`.

Only a completion at a cursor is answered, and what such clients look at before they ask. The page
is files of this package, and what the session does now as JSON for them. It has no secrets in it
and needs no token; what it shows is asked for with the token behind the # of its address.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import cache as cached
from itertools import accumulate
from pathlib import Path, PurePath
from typing import Any

from fim_lsp import __version__
from fim_lsp.events import Snoozed
from fim_lsp.http_server import dialects
from fim_lsp.http_server.completions import Completions, Insertion
from fim_lsp.http_server.connections import HttpRequest, Response
from fim_lsp.http_server.dialects import Body, ClientRequest
from fim_lsp.prompt.report import PromptReport
from fim_lsp.session.session import Session
from server_bridge.protocol import Health

JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream", "cache-control": "no-store"}
DOWN = 503
NO_COMPLETION = (
    "fim-lsp answers only completions at a cursor: "
    "point chats and all else at the model server itself"
)
OPENAI = {"/v1/completions"}
DONE = b"data: [DONE]\n\n"
READERS: dict[str, Callable[[Body], ClientRequest | None]] = {
    "/infill": dialects.read_infill,
    "/completion": dialects.read_completion,
    "/completions": dialects.read_completion,
    "/v1/completions": dialects.read_completion,
}


class Routes:
    """See the module. *counts* are requests by their path."""

    def __init__(self, session: Session, completions: Completions) -> None:
        self.counts: Counter[str] = Counter()
        self._session = session
        self._completions = completions

    async def answer(self, request: HttpRequest) -> Response:
        """Return the answer to a request that may be answered."""
        if request.method == "GET":
            return self._get(request.target)
        if request.method != "POST":
            return error(405, "only GET and POST are understood")
        try:
            body = json.loads(request.body)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return error(400, "the body is not a JSON object")
        return await self._post(request.target, body)

    async def _post(self, path: str, body: dict[str, Any]) -> Response:
        if (read := READERS.get(path)) is None:
            return error(404, NO_COMPLETION)
        if (question := read(body)) is None:
            return error(400, NO_COMPLETION)
        self.counts[path] += 1
        if body.get("stream") is True:
            return Response(200, EVENTS, pieces=self._pieces(path, body, question))
        done = await self._completions.complete(question, dialects.read_limits(body))
        return respond(self._answer(path, body, done))

    def _answer(self, path: str, body: Body, done: Insertion) -> object:
        model = self._session.status().state.model
        if path in OPENAI:
            return dialects.write_completion(done.text, done.cost, model)
        return dialects.write_infill(body, done.text, done.cost, model)

    async def _pieces(
        self, path: str, body: Body, question: ClientRequest
    ) -> AsyncGenerator[bytes, None]:
        """
        Yield the events of an answer: text as it becomes certain, then the rest with what it cost.
        """
        texts = asyncio.Queue[str | None]()
        limits = dialects.read_limits(body)
        task = asyncio.create_task(self._completions.complete(question, limits, texts.put_nowait))
        task.add_done_callback(lambda _: texts.put_nowait(None))
        sent, model = "", self._session.status().state.model
        spelled = dialects.write_completion_piece if path in OPENAI else dialects.write_infill_piece
        try:
            while (text := await texts.get()) is not None:
                if question.region is None and text.startswith(sent) and text != sent:
                    piece, sent = text[len(sent) :], text
                    yield _event(spelled(piece, model))
            done = await task
            rest = done.text[len(sent) :] if done.text.startswith(sent) else ""
            last = self._answer(path, {**body, "n_cmpl": 1}, done._replace(text=rest))
            yield _event(last) + (DONE if path in OPENAI else b"")
        finally:
            task.cancel()

    def _get(self, path: str) -> Response:
        state = self._session.status().state
        if path in {"/health", "/v1/health"}:
            if state.health is Health.READY:
                return respond({"status": "ok"})
            self._session.start_connecting()
            return error(DOWN, state.message or "the model is not ready yet")
        if path in {"/v1/models", "/models"}:
            model = {"id": state.model, "object": "model", "created": 0, "owned_by": "fim-lsp"}
            return respond({"object": "list", "data": [model]})
        if path == "/props":
            props = {
                "default_generation_settings": {"n_ctx": state.n_ctx}, "total_slots": state.slots,
                "model_alias": PurePath(state.model).name, "build_info": f"fim-lsp {__version__}",
            }  # fmt: skip
            return respond(props)
        return error(404, "not found")


def _event(data: object) -> bytes:
    return b"data: " + _encode(data) + b"\n\n"


def respond(answer: object) -> Response:
    """Return an answer as JSON."""
    return Response(200, JSON, _encode(answer))


def error(status: int, says: str) -> Response:
    """Return an error in the shape that llama.cpp and OpenAI's servers give theirs."""
    body = {"error": {"code": status, "message": says, "type": "fim_lsp_error"}}
    return Response(status, JSON, _encode(body))


def _encode(answer: object) -> bytes:
    """
    Encode as JSON without blanks, as llama.cpp does: llama.vim does not take any other for an
    answer.
    """
    return json.dumps(answer, separators=(",", ":")).encode()


# -- the page --------------------------------------------------------------------------------

FILES = Path(__file__).parent / "page_files"
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGES = {"/": "index.html", "/page.css": "page.css", "/page.js": "page.js", "/icon.svg": "icon.svg"}
OWN = STATE, SNOOZE = "/page/state", "/page/snooze"  # what the page asks for, with its own key
SNOOZE_MINUTES = 10
ADVICE_S = 60.0  # between two looks at the server by the doctor


# A finding of the doctor: its check, a level (ok, warn, bad), what it says, how to fix it.
Advice = dict[str, str]
Advise = Callable[[], Awaitable[list[Advice]]]


class Page:
    """See the module. *advise* has the doctor look at the session."""

    def __init__(self, session: Session, routes: Routes, advise: Advise | None) -> None:
        self.refused: Counter[str] = Counter()
        self._session = session
        self._routes = routes
        self._advise = advise
        self._advice: list[Advice] = []
        self._advised_s = -ADVICE_S
        self._shown: tuple[object, PromptReport] | None = None

    @staticmethod
    def static(request: HttpRequest) -> Response | None:
        """Return one of the page's files, None for another path."""
        name = PAGES.get(request.target) if request.method == "GET" else None
        if name is None:
            return None
        kind = KINDS[name.rpartition(".")[2]]
        headers = {"content-type": f"{kind}; charset=utf-8", "content-security-policy": POLICY}
        return Response(200, headers, _file(name))

    async def live(self, request: HttpRequest) -> Response | None:
        """Return what the page shows now, or act on its one button; None for another path."""
        if request.method == "POST" and request.target == SNOOZE:
            minutes = 0 if self._session.status().quiet_until else SNOOZE_MINUTES
            self._session.handle(Snoozed(minutes))
            return respond({"until": self._session.status().quiet_until})
        if request.method != "GET" or request.target != STATE:
            return None
        stats, answers = self._session.stats(), self._session.counters.answers
        now = {
            "version": __version__, "stats": stats, "keys": [*map(tuple, answers)],
            "prompt": _prompt(await self._report()), "quiet": stats["quiet"],
            "days": await self._session.by_day(), "advice": await self._update_advice(),
            "requests": self._routes.counts, "refused": self.refused,
        }  # fmt: skip
        return respond(now)

    async def _report(self) -> PromptReport:
        """
        Return the report on the prompt at the place of the last request; measured once per change.
        """
        uri = self._session.last_uri
        if not uri:
            return PromptReport("nothing yet: type something in your editor")
        document = self._session.document(uri)
        counters = self._session.counters
        now = (uri, document and document.version, counters.n_steps, counters.outcomes.total())
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


@cached
def _file(name: str) -> bytes:
    return (FILES / name).read_bytes()

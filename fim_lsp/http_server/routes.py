"""
Requests of other programs' clients into the session's answers: the table of paths.

Only a completion at a cursor is answered, and what such clients look at before they ask.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from pathlib import PurePath
from typing import Any

from fim_lsp import __version__
from fim_lsp.http_server import answers, requests
from fim_lsp.http_server.completions import Completion, Completions
from fim_lsp.http_server.connections import Request, Response
from fim_lsp.http_server.requests import Asked, Body
from fim_lsp.session.session import Session
from server_bridge.protocol import Health

JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream", "cache-control": "no-store"}
DOWN = 503
NO_COMPLETION = "fim-lsp answers only completions at a cursor: point chats and all else at the model server itself"
OPENAI = {"/v1/completions"}
DONE = b"data: [DONE]\n\n"
READERS: dict[str, Callable[[Body], Asked | None]] = {
    "/infill": requests.infill,
    "/completion": requests.completion,
    "/completions": requests.completion,
    "/v1/completions": requests.completion,
}


class Routes:
    """See the module. *counts* are requests by their path."""

    def __init__(self, session: Session, completions: Completions) -> None:
        self.counts: Counter[str] = Counter()
        self._session = session
        self._completions = completions

    async def answer(self, request: Request) -> Response:
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
        if (asked := read(body)) is None:
            return error(400, NO_COMPLETION)
        self.counts[path] += 1
        if body.get("stream") is True:
            return Response(200, EVENTS, pieces=self._pieces(path, body, asked))
        done = await self._completions.complete(asked, requests.limits(body))
        return respond(self._answer(path, body, done))

    def _answer(self, path: str, body: Body, done: Completion) -> object:
        model = self._session.connection.state.model
        if path in OPENAI:
            return answers.completion(done.text, done.cost, model)
        return answers.infill(body, done.text, done.cost, model)

    async def _pieces(self, path: str, body: Body, asked: Asked) -> AsyncGenerator[bytes, None]:
        """Yield the events of an answer: text as it becomes certain, then the rest with what it cost."""
        texts = asyncio.Queue[str | None]()
        limits = requests.limits(body)
        task = asyncio.create_task(self._completions.complete(asked, limits, texts.put_nowait))
        task.add_done_callback(lambda _: texts.put_nowait(None))
        sent, model = "", self._session.connection.state.model
        spelled = answers.completion_piece if path in OPENAI else answers.infill_piece
        try:
            while (text := await texts.get()) is not None:
                if asked.region is None and text.startswith(sent) and text != sent:
                    piece, sent = text[len(sent) :], text
                    yield _event(spelled(piece, model))
            done = await task
            rest = done.text[len(sent) :] if done.text.startswith(sent) else ""
            last = self._answer(path, {**body, "n_cmpl": 1}, done._replace(text=rest))
            yield _event(last) + (DONE if path in OPENAI else b"")
        finally:
            task.cancel()

    def _get(self, path: str) -> Response:
        state = self._session.connection.state
        if path in {"/health", "/v1/health"}:
            if state.health is Health.READY:
                return respond({"status": "ok"})
            self._session.connection.reach()
            return error(DOWN, state.message or "the model is not ready yet")
        if path in {"/v1/models", "/models"}:
            model = {"id": state.model, "object": "model", "created": 0, "owned_by": "fim-lsp"}
            return respond({"object": "list", "data": [model]})
        if path == "/props":
            generation = {"n_ctx": state.n_ctx}
            return respond(
                {
                    "default_generation_settings": generation,
                    "total_slots": state.slots,
                    "model_alias": PurePath(state.model).name,
                    "build_info": f"fim-lsp {__version__}",
                }
            )
        return error(404, "not found")


def _event(said: object) -> bytes:
    return b"data: " + _encode(said) + b"\n\n"


def respond(answer: object) -> Response:
    """Return an answer as JSON."""
    return Response(200, JSON, _encode(answer))


def error(status: int, says: str) -> Response:
    """Return an error in the shape that llama.cpp and OpenAI's servers give theirs."""
    body = {"error": {"code": status, "message": says, "type": "fim_lsp_error"}}
    return Response(status, JSON, _encode(body))


def _encode(answer: object) -> bytes:
    """Encode as JSON without blanks, as llama.cpp does: llama.vim does not take any other for an answer."""
    return json.dumps(answer, separators=(",", ":")).encode()

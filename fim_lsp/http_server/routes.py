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
from fim_lsp.http_server import dialects
from fim_lsp.http_server.completions import Completions, Insertion
from fim_lsp.http_server.connections import HttpRequest, Response
from fim_lsp.http_server.dialects import Body, ClientRequest
from fim_lsp.session.session import Session

JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream", "cache-control": "no-store"}
DOWN = 503
NO_COMPLETION = (
    "fim-lsp answers only completions at a cursor (in Zed any prompt_format but zeta2): "
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
    """The paths that other programs ask. *counts* are requests by their path."""

    def __init__(self, session: Session, completions: Completions) -> None:
        self.counts: Counter[str] = Counter()
        self._session = session
        self._completions = completions

    async def answer(self, request: HttpRequest) -> Response:
        """Return the answer to a request that may be answered."""
        if request.method == "GET":
            return self._get(plain_path(request.target))
        if request.method != "POST":
            return error(405, "only GET and POST are understood")
        try:
            body = json.loads(request.body)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return error(400, "the body is not a JSON object")
        return await self._post(plain_path(request.target), body)

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
        sent = ""
        model = self._session.status().state.model
        spelled = dialects.write_completion_piece if path in OPENAI else dialects.write_infill_piece
        try:
            while (text := await texts.get()) is not None:
                if text.startswith(sent) and text != sent:
                    piece = text[len(sent) :]
                    sent = text
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
            if state.is_ready:
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


def plain_path(target: str) -> str:
    """
    Return the path that a client means that joins an address to it with a slash or a `/v1` too
    many.
    """
    parts = [part for part in target.partition("?")[0].split("/") if part]
    n_same = next((n for n, part in enumerate(parts) if part != "v1"), len(parts))
    return "/" + "/".join(parts[max(0, n_same - 1) :])


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

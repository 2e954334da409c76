"""
A trace into what a client asked the server, and when its user got an answer.

`replay` lets steps happen at their times and asks where the editor asks. A client is either ours, a
real `Session` in this process, or llama.vim's prompt, with an exact-match cache and one request under
way at a time; of the others the newest waits and the rest are dropped. Its ring never changes and it has
no debounce, which is in its favour.
Unpaced, the next key waits for the answer, and a pause is as long as there is background work.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from typing import Any, NamedTuple, Protocol

from benchmarks.deployment.wire import Wire, request_number
from benchmarks.traces import Step, Trace
from fim_lsp.documents import Document, Position, apply_edits, body, open_document, unix
from fim_lsp.events import Changed, Event, Opened
from fim_lsp.session.session import Session
from server_bridge.protocol import Chunk

IDLE_MS = 300.0  # a pause as long lets a client begin to work ahead
CACHED = 250  # llama.vim's `max_cache_keys`
# llama.vim (January 2026): lines sent around the cursor, and bytes right of it that silence it
PREFIX_LINES = 256
SUFFIX_LINES = 64
RIGHT_BYTES = 8
COMMON: dict[str, object] = {
    "temperature": 0,
    "cache_prompt": True,
    "return_tokens": True,
    "response_fields": ["content", "tokens", "timings"],
}


class Answer(NamedTuple):
    """What became of a request: *how* is shown, empty, superseded or silent (the client never asks)."""

    step: int
    how: str
    ms: float


class Client(Protocol):
    """Something between an editor and a server."""

    def handle(self, event: Event) -> None:
        """Take in an event."""

    async def complete(self, uri: str, position: Position) -> str | None:
        """Return a suggestion; "" for none, None where this client would not ask. Cancelled: superseded."""

    async def wait_idle(self) -> None:
        """Wait until no work is left to be done ahead."""


class Ours:
    """Our session; as in `server`, a newer request cancels the one before."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._task: asyncio.Task[object] | None = None
        self.handle = session.handle
        self.wait_idle = session.wait_idle

    async def complete(self, uri: str, position: Position) -> str | None:
        """See `Client`."""
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.current_task()
        answer = await self._session.complete(uri, position, invoked=False)
        return answer.suggestions[0].text if answer.suggestions else ""


class Peer:
    """llama.vim's prompts, sent to the server."""

    def __init__(self, wire: Wire, ring: tuple[Chunk, ...], n_predict: int) -> None:
        self._wire = wire
        self._ring = ring
        self._common = {**COMMON, "n_predict": n_predict}
        self._documents: dict[str, Document] = {}
        self._answers: OrderedDict[str, str] = OrderedDict()
        self._line = asyncio.Lock()
        self._newest = 0

    def handle(self, event: Event) -> None:
        """See `Client`."""
        if isinstance(event, Opened):
            self._documents[event.uri] = open_document(*event)
        elif isinstance(event, Changed):
            document = self._documents[event.uri]
            self._documents[event.uri] = apply_edits(document, event.edits, event.version)

    async def complete(self, uri: str, position: Position) -> str | None:
        """See `Client`."""
        request = llama_vim(self._documents[uri], position, self._ring)
        if request is None:
            return None
        key = json.dumps(request)
        self._newest = number = self._newest + 1
        if key not in self._answers:
            async with self._line:
                if number != self._newest:
                    raise asyncio.CancelledError
                answer = await self._wire.ask("/infill", request | self._common)
            self._answers[key] = answer["content"]
            if len(self._answers) > CACHED:
                self._answers.popitem(last=False)
        return self._answers[key]

    async def wait_idle(self) -> None:
        """See `Client`; nothing is ever done ahead."""


def llama_vim(
    document: Document, position: Position, ring: tuple[Chunk, ...]
) -> dict[str, Any] | None:
    """Return the body for `/infill`: lines around the cursor, the typed part apart; None: no request."""
    line = body(document.lines[position.line])
    left = line[: position.column]
    right = line[position.column :]
    if len(right.encode()) > RIGHT_BYTES:
        return None
    blank = not (left + right).strip()  # a blank line is left out of the prompt
    y = position.line
    lines = document.lines
    above = "".join(lines[max(0, y - PREFIX_LINES) : y]) or "\n"
    below = [body(line) for line in lines[y + 1 : y + 1 + SUFFIX_LINES]]
    return {
        "input_prefix": unix(above),
        "prompt": "" if blank else left,
        "input_suffix": ("" if blank else right) + "\n" + "\n".join(below) + "\n",
        "input_extra": [{"filename": chunk.name, "text": chunk.text} for chunk in ring],
        "n_indent": 0 if blank else len(left + right) - len((left + right).lstrip(" \t")),
    }


async def replay(trace: Trace, client: Client) -> list[Answer]:
    """Return all of *trace*, at its own pace if it has one."""
    waiting: list[asyncio.Task[Answer]] = []
    now = asyncio.get_running_loop().time
    due = now()
    for n, step in enumerate(trace.steps):
        due += step.wait_ms / 1e3
        if trace.paced:
            await asyncio.sleep(max(0.0, due - now()))
        elif step.wait_ms >= IDLE_MS:
            await _idle(client, step.wait_ms / 1e3)
        for event in step.events:
            client.handle(event)
        if step.asks:
            request_number.set(n)
            waiting.append(asyncio.create_task(_answer(client, n, step)))
            if not trace.paced:
                await asyncio.wait(waiting[-1:])
    answers = await asyncio.gather(*waiting)
    await client.wait_idle()
    return answers


async def _answer(client: Client, n: int, step: Step) -> Answer:
    started = time.perf_counter()
    try:
        text = await client.complete(step.uri, step.position)
    except asyncio.CancelledError:
        return Answer(n, "superseded", 0.0)
    how = "silent" if text is None else "shown" if text.strip() else "empty"
    return Answer(n, how, (time.perf_counter() - started) * 1e3)


async def _idle(client: Client, seconds: float) -> None:
    try:
        await asyncio.wait_for(client.wait_idle(), seconds)
    except TimeoutError:
        return

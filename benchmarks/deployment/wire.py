"""
What goes over the wire to llama.cpp, recorded: every row of every table is made of this.

`Wire` is the bridge's own HTTP client and keeps a list of calls. Token counts are the server's
(`timings`), times are the client's. The task that sends says which lane caused a call: the background
lane runs in a task of that name, and a request's number is in a context variable.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, NamedTuple

from server_bridge.http.client import UNTAGGED, Http, Tags
from server_bridge.http.responses import Object, Unproven

request_number = contextvars.ContextVar("request_number", default=-1)
# What begins a part of a prompt, as Qwen2.5-Coder and the bundled model spell it.
PATIENCE_S = 300.0  # long prompts on slow machines are measured, not given up


class Call(NamedTuple):
    """One `/completion` or `/infill`: for which request, when (seconds), and tokens by the server."""

    request: int
    background: bool
    started: float
    ended: float
    evaluated: int
    cached: int
    predicted: int
    prompt: list[int]  # token ids, where the client sent ids
    made: list[int]


class Wire(Http):
    """
    The bridge's HTTP client; keeps a `Call` of every completion and counts round trips. *texts*: prompts
    and answers, where it reads them.
    """

    def __init__(self, url: str, tags: Tags = UNTAGGED, **more: Any) -> None:
        super().__init__(url, patience_s=PATIENCE_S, tags=tags, **more)
        self._more = {"tags": tags, **more}
        self.calls: list[Call] = []
        self.texts: list[tuple[str, str]] = []
        self.counts = Counter[str]()

    async def post(self, path: str, body: bytes) -> Object:
        """Send as `Http.post` does, and note what came of it."""
        started = time.perf_counter()
        answer = await super().post(path, body)
        self.counts["posts"] += 1
        if "timings" in answer:
            self.calls.append(self._call(json.loads(body), answer, started))
        return answer

    def another(self, *guards: Callable[[], Awaitable[object]]) -> Wire:  # noqa: ARG002
        """Return the second connection of a client; its calls are noted here."""
        other = type(self)(self.url, **self._more)
        other.calls = self.calls
        other.counts = self.counts
        other.texts = self.texts
        return other

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """
        Send as `Http.stream` does, and note what it cost, also where it is closed early.

        llama.cpp tells with each event; what ends the answer of an OpenAI-style server tells it, or, if it
        was closed before, it is not known and counts as 0: its own metrics tell then.
        """
        started = time.perf_counter()
        timings: Object = {"prompt_n": 0, "cache_n": 0, "predicted_n": 0}
        made: list[int] = []
        begun = False
        try:
            async with aclosing(super().stream(path, body)) as events:
                async for event in events:
                    begun = True
                    timings = event.get("timings") or _read_usage(event) or timings
                    made += event.get("tokens", [])
                    yield event
        finally:
            if begun:
                self.counts["posts"] += 1
                answer = {"timings": timings, "tokens": made}
                self.calls.append(self._call(json.loads(body), answer, started))

    async def ask(self, path: str, body: dict[str, Any]) -> Object:
        """Send, opening a connection first where none is open (llama.cpp closes idle ones)."""
        data = json.dumps(body).encode()
        try:
            return await self.post(path, data)
        except Unproven:
            await self.get("/health")
            return await self.post(path, data)

    async def forget(self) -> None:
        """Empty the server's slots, so that a row does not depend on the one before."""
        for slot in range((await self.get("/props"))["total_slots"]):
            await self.ask(f"/slots/{slot}?action=erase", {})

    def _call(self, question: Any, answer: Object, started: float) -> Call:
        timings = answer["timings"]
        return Call(
            request=request_number.get(),
            background=is_background(),
            started=started,
            ended=time.perf_counter(),
            evaluated=timings["prompt_n"],
            cached=timings["cache_n"],
            predicted=timings["predicted_n"],
            prompt=question["prompt"] if isinstance(question["prompt"], list) else [],
            made=answer.get("tokens", []),
        )


def _read_usage(event: Object) -> Object:
    """Return what the usage of an OpenAI-style server says; empty without one."""
    if not (usage := event.get("usage")):
        return {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return {
        "prompt_n": usage["prompt_tokens"] - cached,
        "cache_n": cached,
        "predicted_n": usage["completion_tokens"],
    }


def is_background() -> bool:
    """Return whether the background lane's own task runs now."""
    task = asyncio.current_task()
    return task is not None and task.get_name() == "background"


class Blocks:
    """An exact-prefix cache of whole blocks, as vLLM and SGLang have; it forgets nothing."""

    def __init__(self, size: int = 16) -> None:
        self._size = size
        self._known: set[int] = set()

    def evaluate(self, prompt: list[int], made: list[int]) -> int:
        """Return how many of the prompt's tokens are evaluated, the last one always; then keep all blocks."""
        hashes = self._hashes(prompt + made[:-1])
        reused = 0
        for block in hashes[: (len(prompt) - 1) // self._size]:
            if block not in self._known:
                break
            reused += self._size
        self._known.update(hashes)
        return len(prompt) - reused

    def _hashes(self, tokens: list[int]) -> list[int]:
        """Return a hash per whole block, each of all tokens up to its end."""
        hashes = []
        last = 0
        for end in range(self._size, len(tokens) + 1, self._size):
            last = hash((last, *tokens[end - self._size : end]))
            hashes.append(last)
        return hashes

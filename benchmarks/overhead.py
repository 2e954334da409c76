"""
What we add to a completion ourselves, and what starting costs.

    python -m benchmarks.overhead

Types into files of 1,000 and 10,000 lines with the bundled model and takes, per request that reached
the model, the time of the whole request less the server's own computing (`prompt_ms` and
`predicted_ms` of its answers). What is left is all of ours (decisions, prompt, token bookkeeping,
filters), httpx, the loopback and the server's HTTP side. Our own code alone is the CPU time of the event loop's
thread less that spent in exchanges with the server. Then starts the real server process some times: milliseconds to the answer to
`initialize`, resident memory, and the time until the embedded llama.cpp is ready.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import psutil

from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.session.session import Session
from fim_lsp.settings.config import CompletionConfig, Config
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.client import Http
from server_bridge.http.shapes import Object

CODE = inspect.getsource(argparse).splitlines(keepends=True)
TYPED = "".join(CODE[900:912])
STARTS = 7
QUICK = Config(completion=CompletionConfig(debounce_ms=0, min_confidence=0.0))
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}


class Clock:
    """Milliseconds of CPU spent in exchanges with the server (*calls*), and those it says it computed (*computing*)."""

    def __init__(self) -> None:
        self.calls = self.computing = 0.0
        self._send, self._stream = Http._send, Http.stream  # noqa: SLF001

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what is waited for in every client."""

        async def send(http: Http, *arguments: Any) -> Any:
            with self._counted():
                return await self._send(http, *arguments)

        async def stream(http: Http, *arguments: Any, **how: Any) -> AsyncGenerator[Object, None]:
            events = self._stream(http, *arguments, **how)
            try:
                while True:
                    with self._counted():
                        event = await anext(events, None)
                    if event is None:
                        return
                    self._hear(event)
                    yield event
            finally:
                with self._counted():
                    await events.aclose()

        with mock.patch.object(Http, "_send", send), mock.patch.object(Http, "stream", stream):
            yield

    @contextmanager
    def _counted(self) -> Iterator[None]:
        began = time.thread_time()
        try:
            yield
        finally:
            self.calls += (time.thread_time() - began) * 1e3

    def _hear(self, event: Object) -> None:
        if timings := event.get("timings"):
            self.computing = timings["prompt_ms"] + timings["predicted_ms"]


async def typing(n_lines: int) -> list[tuple[float, float]]:
    """Return milliseconds of CPU outside of HTTP, and beside the model's computing, per request that needed it."""
    clock = Clock()
    with clock.running():
        session = Session(QUICK, lambda _: open_backend(BackendSettings(kind="embedded")))
        await session.connection.wait_ready()
        found = [
            (spent - calls, took - computing)
            async for took, spent, calls, computing in _typed(session, n_lines, clock)
        ]
        await session.wait_idle()
        await session.aclose()
    return found[2:]  # the first ones meet an empty cache


async def _typed(
    session: Session, n_lines: int, clock: Clock
) -> AsyncGenerator[tuple[float, float, float, float], None]:
    """Yield what each request took that needed the model."""
    lines = (CODE * (n_lines // len(CODE) + 1))[:n_lines]
    uri, line, column = "untitled:big.py", n_lines // 2, 0
    lines.insert(line, "\n")
    session.handle(events.Opened(uri, "python", 1, "".join(lines)))
    for version, key in enumerate(TYPED, 2):
        at = Position(line, column)
        session.handle(events.Changed(uri, version, (Edit(at, at, key),)))
        line, column = (line + 1, 0) if key == "\n" else (line, column + 1)
        clock.computing = clock.calls = 0.0
        streams = session.stats()["streams"]
        started, began = time.perf_counter(), time.thread_time()
        await session.complete(uri, Position(line, column), invoked=False)
        spent, took = time.thread_time() - began, time.perf_counter() - started
        if session.stats()["streams"] == int(str(streams)) + 1:
            yield took * 1e3, spent * 1e3, clock.calls, clock.computing


def starting() -> tuple[float, float]:
    """Return milliseconds from starting the process to the answer to `initialize`, and megabytes then."""
    body = json.dumps(HELLO).encode()
    started = time.perf_counter()
    command = [sys.executable, "-m", "fim_lsp", "--stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        server.stdin.flush()
        server.stdout.readline()
        ms = (time.perf_counter() - started) * 1e3

        megabytes = psutil.Process(server.pid).memory_info().rss / 1e6
        server.kill()
    return ms, megabytes


async def ready() -> float:
    """Return seconds until the embedded engine can complete."""
    backend = open_backend(BackendSettings(kind="embedded"))
    started = time.perf_counter()
    await backend.connect()
    seconds = time.perf_counter() - started
    await backend.aclose()
    return seconds


def main() -> None:
    """Print the figures as a table."""
    print("| what | p50 | p99 |\n| --- | ---: | ---: |")
    for n_lines in (1_000, 10_000):
        columns = zip(*asyncio.run(typing(n_lines)), strict=True)
        for name, column in zip(("our own code", "beside the computing"), columns, strict=True):
            spent = sorted(column)
            p99 = spent[int(0.99 * (len(spent) - 1))]
            what = f"{name}, {n_lines:,} lines, {len(spent)} requests"
            print(f"| {what} | {statistics.median(spent):.1f} ms | {p99:.1f} ms |")
    starts = [starting() for _ in range(STARTS)]
    print(f"| start to `initialize` answer | {statistics.median(s[0] for s in starts):.0f} ms | |")
    print(f"| resident memory then | {statistics.median(s[1] for s in starts):.0f} MB | |")
    seconds = [asyncio.run(ready()) for _ in range(3)]
    print(f"| embedded llama.cpp ready | {statistics.median(seconds):.2f} s | |")


if __name__ == "__main__":
    main()

"""
What we add to a completion ourselves, and what starting costs.

    python -m benchmarks.overhead

Types into files of 1,000 and 10,000 lines with the bundled model and takes, per request that reached
the model, the time of the whole request less the server's own computing (`prompt_ms` and
`predicted_ms` of its answers). What is left is all of ours (decisions, prompt, token bookkeeping,
filters), httpx, the loopback and the server's HTTP side: an upper bound of our part. Then starts the
real server process some times: milliseconds to the answer to `initialize`, resident memory, and the
time until the embedded llama.cpp is ready.
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

import psutil

from fim_lsp import events
from fim_lsp.config import CompletionConfig, Config
from fim_lsp.documents import Edit, Position
from fim_lsp.session import Session
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Reply, Request

CODE = inspect.getsource(argparse).splitlines(keepends=True)
TYPED = "".join(CODE[900:912])
STARTS = 7
QUICK = Config(completion=CompletionConfig(debounce_ms=0, min_confidence=0.0))
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}


async def typing(n_lines: int) -> list[float]:
    """Milliseconds beside the model's computing, per request that needed it."""
    session = Session(QUICK, lambda _: open_backend(BackendSettings(kind="embedded")))
    await session.link.wait_ready()
    computing = 0.0
    complete = session.link.backend.complete

    async def timed(request: Request) -> Reply:
        nonlocal computing
        reply = await complete(request)
        computing += reply.timings.prompt_ms + reply.timings.predicted_ms
        return reply

    session.link.backend.complete = timed  # type: ignore[method-assign]
    lines = (CODE * (n_lines // len(CODE) + 1))[:n_lines]
    uri, line, column, version = "untitled:big.py", n_lines // 2, 0, 1
    session.handle(events.Opened(uri, "python", version, "".join(lines)))
    spent: list[float] = []
    for key in TYPED:
        version += 1
        at = Position(line, column)
        session.handle(events.Changed(uri, version, (Edit(at, at, key),)))
        line, column = (line + 1, 0) if key == "\n" else (line, column + 1)
        computing, bursts = 0.0, session.stats()["bursts"]
        started = time.perf_counter()
        await session.complete(uri, Position(line, column), invoked=False)
        took = (time.perf_counter() - started) * 1e3
        if session.stats()["bursts"] == int(str(bursts)) + 1:  # one burst, so one round trip
            spent.append(took - computing)
    await session.wait_idle()
    await session.aclose()
    return spent[2:]  # the first ones meet an empty cache


def starting() -> tuple[float, float]:
    """Milliseconds from starting the process to the answer to `initialize`, and megabytes then."""
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
    """Seconds until the embedded engine can complete."""
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
        spent = sorted(asyncio.run(typing(n_lines)))
        p99 = spent[int(0.99 * (len(spent) - 1))]
        name = f"beside the model's computing, {n_lines:,} lines, {len(spent)} requests"
        print(f"| {name} | {statistics.median(spent):.1f} ms | {p99:.1f} ms |")
    starts = [starting() for _ in range(STARTS)]
    print(f"| start to `initialize` answer | {statistics.median(s[0] for s in starts):.0f} ms | |")
    print(f"| resident memory then | {statistics.median(s[1] for s in starts):.0f} MB | |")
    seconds = [asyncio.run(ready()) for _ in range(3)]
    print(f"| embedded llama.cpp ready | {statistics.median(seconds):.2f} s | |")


if __name__ == "__main__":
    main()

"""
The seconds from a request by hand to its first answer, with the settings that a user has by default, beside another checkout.

    git worktree add /tmp/before f7b65c4e
    python -m benchmarks.by_hand --beside /tmp/before                  # at 30 ms a token, in virtual time
    python -m benchmarks.by_hand --beside /tmp/before --model GGUF     # the bundled engine, one thread

Each place is opened, rested at until nothing is left to evaluate ahead, and asked about once. The two checkouts take
turns, each in a process of its own, so that both have the same machine.
"""

# ruff: noqa: PLC0415 (which checkout the imports are of is known when it runs)

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parents[1]
TOKEN_S = 0.03
REST_S = 120.0
N_LINES = 400  # of the file
BODIES = ("def __init__", "def _get_kwargs", "def format_help", "def add_usage")


def places() -> list[tuple[str, int, int]]:
    """Return texts of a module of Python's, and where the body of a method is to be written in each."""
    lines = inspect.getsource(argparse).splitlines()
    found = []
    for name in BODIES:
        row = next(n for n, line in enumerate(lines) if name in line and line.endswith(":"))
        first = max(0, row - N_LINES // 2)
        shown = [*lines[first : row + 1], " " * 8, *lines[row + 4 : first + N_LINES]]
        found.append(("\n".join(shown), row - first + 1, 8))
    return found


async def ask(model: str, place: tuple[str, int, int]) -> tuple[float, list[str]]:
    """Return the seconds that a request takes, and the texts that it gets."""
    from fim_lsp import events
    from fim_lsp.documents import Position
    from fim_lsp.session.session import Session
    from fim_lsp.settings.config import Config

    text, line, column = place
    session = Session(Config(), lambda _: open_model(model))
    uri = "untitled:a.py"
    at = Position(line, column)
    loop = asyncio.get_running_loop()
    try:
        session.handle(events.Opened(uri, "python", 1, text))
        session.handle(events.CursorMoved(uri, at))
        await session.connection.wait_ready(REST_S)
        with suppress(TimeoutError):
            await asyncio.wait_for(session.wait_idle(), REST_S)
        began = loop.time()
        answer = await session.complete(uri, at, invoked=True)
        return loop.time() - began, [each.text for each in answer.suggestions]
    finally:
        await session.aclose()


def open_model(path: str) -> Any:
    """Return the bundled engine with a model, "" for one that takes `TOKEN_S` for each token."""
    from server_bridge.bridge import BackendSettings, open_backend
    from tests.fake_backend import FakeBackend

    if path:
        return open_backend(BackendSettings(kind="embedded", model=path))

    class Slow(FakeBackend):
        async def _decode(self, request: Any) -> AsyncGenerator[Any, None]:
            async with aclosing(super()._decode(request)) as replies:
                async for reply in replies:
                    await asyncio.sleep(TOKEN_S)
                    yield reply

    return Slow()


def measure(root: str, model: str, n: int) -> None:
    """Print what the checkout at *root* does at place number *n*."""
    sys.path.insert(0, root)
    from tests.clock import Loop

    factory = None if model else Loop
    with asyncio.Runner(loop_factory=factory) as runner:
        if factory:
            loop = runner.get_loop()
            time.perf_counter = time.monotonic = loop.time
        print(json.dumps(runner.run(ask(model, places()[n]))))


def run(root: Path, model: str, n: int) -> tuple[float, list[str]]:
    """Return the same, from a process of its own."""
    command = [sys.executable, "-P", __file__, "--one", str(root), model, str(n)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    seconds, texts = json.loads(done.stdout.splitlines()[-1])
    return seconds, texts


def main() -> None:
    """Print the seconds of both at each place, and the share of the medians."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    from benchmarks.progress import tell

    parser = argparse.ArgumentParser("benchmarks.by_hand", description=__doc__)
    parser.add_argument("--beside", type=Path, required=True, help="the other checkout")
    parser.add_argument("--model", default="", help="a GGUF file")
    args = parser.parse_args()
    now: list[float] = []
    before: list[float] = []
    for n, name in tell(enumerate(BODIES), len(BODIES)):
        for root, all_of in ((args.beside.resolve(), before), (HERE, now)):
            seconds, texts = run(root, args.model, n)
            all_of.append(seconds)
            print(
                f"{name:18} {root.name:12} {seconds:6.2f} s  {len(texts)} {texts[:1]}", flush=True
            )
    print(
        f"medians {median(before):.2f} and {median(now):.2f} s: {median(now) / median(before):.2f}"
    )


if __name__ == "__main__":
    main()

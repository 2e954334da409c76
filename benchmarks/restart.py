"""
What a restart costs: the first completion of a session with and without what the last one saved.

    python -m benchmarks.restart                    # the bundled model
    python -m benchmarks.restart --model mid.gguf   # 180M parameters: python tests/models.py mid.gguf mid

Three files of the standard library are opened, and some lines typed into one of them until ring and
window are warm. Then the session ends, and others begin at the same place. "until warm" counts what
is evaluated until the next key would cost nothing, all but the first part of it in the background.
"""

from __future__ import annotations

import argparse
import asyncio
import configparser
import inspect
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from fim_lsp.session.session import Session
from fim_lsp.settings.config import CompletionConfig, Config
from server_bridge.bridge import BackendSettings, open_backend
from tests.typist import Typist

CONFIG = Config(completion=CompletionConfig(debounce_ms=0, candidates=1, max_tokens=16))
FILES = {"args.py": argparse, "config.py": configparser, "look.py": inspect}
TYPED = "\n\ndef total(items, rate):\n    price = sum(item.price for item in items)\n    re"
ROUNDS = 3  # of asking and resting, until the ring stays as it is
N_LINES = 1000  # of each file


class Figures(NamedTuple):
    """Tokens evaluated before the first answer and until warm; milliseconds to that answer, to end."""

    first: int
    warm: int
    answer_ms: float
    end_ms: float


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="a GGUF file with FIM tokens")
    model = parser.parse_args().model
    print("| start | tokens before the answer | until warm | ms to answer | ms to end |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, module in FILES.items():
            lines = inspect.getsource(module).splitlines(keepends=True)[:N_LINES]
            (folder / file).write_text("".join(lines))
        for title, cache in (("cold", "new"), ("restored", "new"), ("restored again", "new")):
            found = await measure(folder, folder / cache, model)
            print(
                f"| {title} | {found.first} | {found.warm} | {found.answer_ms:.0f} | {found.end_ms:.0f} |"
            )


async def measure(folder: Path, cache: Path, model: str) -> Figures:
    """One session: files opened, one request, idle until it is warm, another request, ended."""
    async with session(cache, model) as ours:
        for file in FILES:
            uri = (folder / file).as_uri()
            text = (folder / file).read_text() + (TYPED if file == "args.py" else "")
            typist = Typist(ours, text, uri=uri, root=folder.as_uri())
            if file == "args.py":
                asked = typist
        await ours.connection.wait_ready()
        ready = time.perf_counter()
        await asked.ask(invoked=True)
        answered = time.perf_counter()
        first = asked.counted("tokens", "evaluated") - asked.counted("streams")
        for _ in range(ROUNDS):
            await ours.wait_idle()
            asked.type("x")
            await asked.ask()
            asked.backspace()
            await asked.ask(invoked=True)
        await ours.wait_idle()
        warm = sum(asked.counted("tokens", kind) for kind in ("evaluated", "background"))
        warm -= asked.counted("streams")
        left = time.perf_counter()
        await ours.aclose()
        end = time.perf_counter()
    return Figures(first, warm, 1e3 * (answered - ready), 1e3 * (end - left))


@asynccontextmanager
async def session(cache: Path, model: str) -> AsyncIterator[Session]:
    """A session as a new process would have it."""
    settings = BackendSettings(kind="embedded", model=model, slots_dir=str(cache / "slots"))
    ours = Session(CONFIG, lambda _: open_backend(settings), cache)
    try:
        yield ours
    finally:
        await ours.aclose()


if __name__ == "__main__":
    asyncio.run(main())

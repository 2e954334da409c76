"""
CPU time of the event loop: per event of the editor, and per answer that is known already.

    python -m benchmarks.events

Everything happens in a file of 1,000 and in one of 10,000 lines, with others open beside it and the
bundled model as the backend. Times are CPU times of the loop's thread, so a busy machine does not
matter much. "known" are requests answered from earlier answers of the model: typing through a suggestion, taking a
letter back and typing it again. "one chunk among 64" is the comparison that keeps doubles out of the
ring, against four times the ring's default size.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.figures import at
from benchmarks.traces import neighbours
from fim_lsp import events
from fim_lsp.context.similarity import features, like
from fim_lsp.documents import Edit, Position, after
from fim_lsp.session.session import Session
from fim_lsp.settings.config import CompletionConfig, Config
from server_bridge.bridge import BackendSettings, open_backend

CODE = inspect.getsource(argparse).splitlines(keepends=True)
URI = "file:///demo/big.py"
QUICK = Config(completion=CompletionConfig(debounce_ms=0, min_confidence=0.0, candidates=1))
TIMES = 200  # of each kind
PLACES = 40  # where a suggestion is typed through
RING = 64  # chunks
HALF = "    def _get_"  # what a suggestion follows

Times = defaultdict[str, list[float]]


def main() -> None:
    """Print the figures as a table."""
    print("| what | times | p50 | p95 |\n| --- | ---: | ---: | ---: |")
    for n_lines in (1_000, 10_000):
        for name, ms in asyncio.run(_busy(n_lines)).items():
            _print(f"{name}, {n_lines:,} lines", ms)
    _print(f"one chunk among {RING}", _compared())


async def _busy(n_lines: int) -> Times:
    session = Session(QUICK, lambda _: open_backend(BackendSettings(kind="embedded")))
    await session.connection.wait_ready()
    for event in neighbours():
        session.handle(event)
    lines = (CODE * (n_lines // len(CODE) + 1))[:n_lines]
    session.handle(events.Opened(URI, "python", 1, "".join(lines)))
    await session.complete(URI, Position(n_lines // 2, 0), invoked=True)
    await session.wait_idle()
    times: Times = defaultdict(list)
    _events(session, n_lines, times)
    await _known(session, n_lines, times)
    await session.aclose()
    return times


def _events(session: Session, n_lines: int, times: Times) -> None:
    """Each kind of event, all over the file."""
    for n in range(TIMES):
        line = n * 37 % n_lines
        here = Position(line, 0)
        pasted = "".join(CODE[line % 900 :][:12])
        kinds: dict[str, events.Event] = {
            "a key": events.Changed(URI, 7 * n + 2, (Edit(here, here, "x"),)),
            "12 lines pasted": events.Changed(URI, 7 * n + 3, (Edit(here, here, pasted),)),
            "yank": events.Yanked(URI, "".join(CODE[line % 900 :][:20])),
            "save": events.Saved(URI),
            "focus": events.Focused(URI),
            "cursor": events.CursorMoved(URI, here),
            "file changed on disk": events.FilesChanged((URI,), ()),
        }
        for name, event in kinds.items():
            with _timed(times[name]):
                session.handle(event)


async def _known(session: Session, n_lines: int, times: Times) -> None:
    """Requests while a suggestion is typed through, one letter taken back and typed again; then accepted."""
    editing = Editing(session)
    for n in range(PLACES):
        line = 50 + n * 211 % (n_lines - 100)
        editing.replace(Position(line, 0), Position(line, 0), f"{HALF}\n")
        start = Position(line, len(HALF))
        text = await editing.suggested(start)
        for idx, key in enumerate(text.split("\n")[0][:8]):
            at = start._replace(column=start.column + idx)
            if idx == 1:  # back and again
                await editing.asks(editing.replace(at, at, key), times["typed along"])
                behind = at._replace(column=at.column + 1)
                await editing.asks(editing.replace(at, behind, ""), times["typed along"])
            await editing.asks(editing.replace(at, at, key), times["typed along"])
        end = start._replace(column=start.column + min(8, len(text.split("\n")[0])))
        editing.replace(start, end, "")
        text = await editing.suggested(start)
        await editing.asks(editing.replace(start, start, text), times["after accepting"])


class Editing:
    """A user of the big file; *version* of it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._version = 10_000

    def replace(self, start: Position, end: Position, text: str) -> Position:
        """Edit; returns the end of what is new."""
        self._version += 1
        edit = Edit(start, end, text)
        self._session.handle(events.Changed(URI, self._version, (edit,)))
        return after(start, text)

    async def suggested(self, at: Position) -> str:
        """Return the suggestion, after all work that it causes is done."""
        found = (await self._session.complete(URI, at, invoked=True)).suggestions
        await self._session.wait_idle()
        return found[0].text if found else ""

    async def asks(self, at: Position, times: list[float]) -> None:
        """An automatic request; its time counts if it was answered from what is known."""
        before = self._session.stats()["cacheHits"]
        spent: list[float] = []
        with _timed(spent):
            await self._session.complete(URI, at, invoked=False)
        if self._session.stats()["cacheHits"] != before:
            times += spent


def _compared() -> list[float]:
    ring = [features("".join(CODE[n * 16 :][:64])) for n in range(RING)]
    times: list[float] = []
    for n in range(TIMES):
        text = "".join(CODE[900 + n * 5 :][:64])
        with _timed(times):
            like(features(text), ring)
    return times


@contextmanager
def _timed(times: list[float]) -> Iterator[None]:
    began = time.thread_time()
    yield
    times.append((time.thread_time() - began) * 1e3)


def _print(name: str, ms: list[float]) -> None:
    print(f"| {name} | {len(ms)} | {at(ms, 0.5):.2f} ms | {at(ms, 0.95):.2f} ms |", flush=True)


if __name__ == "__main__":
    main()

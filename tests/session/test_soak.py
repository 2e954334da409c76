"""An hour's events in no time: what a session holds does not grow with them, and then it rests."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import tracemalloc
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session.session import Session
from fim_lsp.suggest.request import Requester
from server_bridge.protocol import BackendTimeout, Request
from tests.clock import run
from tests.fuzz import FUZZ
from tests.real_code import OTHER, read_code
from tests.session.test_prefill import Slow
from tests.typist import QUICK, ROOT, Typist

DEEP = FUZZ > 1  # scripts/test-security: the whole hour, and another one
HOUR_S = 3600.0 if DEEP else 120.0
REST_S = 600.0
PAUSES_S = (0.05, 0.3, 1.0, 3.0, 10.0, 30.0)
FILES = 12
CODE = read_code(OTHER).splitlines()
TASKS = FILES + 12  # of the session, at any moment: one for each file, and for each kind of work
# What was made in the second half of the hour, and is held at its end: caches of bounded size, which
# a change of the rules, every ten events here, emptied before frames and texts outlived it.
MIB_LATE = 7.0 if DEEP else 5.0
LINES = 2.0  # of the log, for each event


class Failing(Slow):
    """Fails now and then."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng = rng

    async def stream(self, request: Request):
        if self.rng.random() < 0.05:
            raise BackendTimeout("it takes too long")
        async for reply in super().stream(request):
            yield reply


class User:
    """Does something at random, in one of some files."""

    def __init__(self, session: Session, rng: random.Random) -> None:
        self.session = session
        self.rng = rng
        self.typists: dict[str, Typist] = {}
        self.asked: set[asyncio.Task[object]] = set()

    def act(self) -> None:
        rng = self.rng
        session = self.session
        uri = f"{ROOT}/file{rng.randrange(FILES)}.py"
        if uri not in self.typists:
            first = rng.randrange(0, 600)
            self.typists[uri] = Typist(session, "\n".join(CODE[first : first + 300]), uri)
        typist = self.typists[uri]
        row = rng.randrange(len(typist.document.lines))
        typist.cursor = Position(row, len(typist.document.lines[row].rstrip("\n")))
        match rng.randrange(11):
            case 0:
                session.handle(events.Closed(uri))
                del self.typists[uri]
            case 1:
                session.handle(events.Saved(uri))
            case 2:
                session.handle(events.Yanked(uri, "\n".join(CODE[row : row + 9])))
            case 3:
                session.handle(events.RulesChanged())
            case 4:
                news = (f"{ROOT}/new{row}.py",), (f"{ROOT}/old{row}.py",)
                session.handle(events.FilesChanged(*news))
            case 5:
                session.handle(events.CursorMoved(uri, typist.cursor))
            case _:
                typist.type(rng.choice(("\n", "x", "\n    return ", "(", " = ")))
                self._ask(typist)

    def _ask(self, typist: Typist) -> None:
        client = Requester(offers=False, cancels=True)
        work = self.session.complete(
            typist.uri, typist.cursor, invoked=self.rng.random() < 0.2, client=client
        )
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self.asked.add(task)
        task.add_done_callback(self.asked.discard)
        if self.rng.random() < 0.3:
            asyncio.get_running_loop().call_later(self.rng.choice(PAUSES_S[:3]), task.cancel)


@pytest.mark.promise("bounded-work")
@pytest.mark.parametrize("seed", range(1 + DEEP))
def test_an_hour_leaves_nothing_behind(seed: int, tmp_path: Path, monkeypatch, caplog):
    """Tasks, memory, files and lines of the log are bounded, and after it nothing runs."""
    rng = random.Random(seed)

    async def hour() -> tuple[int, float]:
        session = Session(QUICK, lambda _: Failing(rng), tmp_path)
        user = User(session, rng)
        loop = asyncio.get_running_loop()
        n_events = 0
        while loop.time() < HOUR_S:
            user.act()
            n_events += 1
            assert len(asyncio.all_tasks()) - len(user.asked) <= TASKS
            await asyncio.sleep(rng.choice(PAUSES_S))
            if loop.time() > HOUR_S / 2 and not tracemalloc.is_tracing():
                tracemalloc.start()
        await asyncio.gather(*user.asked, return_exceptions=True)
        await asyncio.sleep(REST_S)
        assert session._lane.idle
        assert asyncio.all_tasks() == {asyncio.current_task()}
        gc.collect()
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*fim_lsp*")])
        n_bytes = sum(line.size for line in ours.statistics("filename"))
        tracemalloc.stop()
        await session.aclose()
        return n_events, n_bytes / (1 << 20)

    with caplog.at_level(logging.INFO):
        n_events, mib = run(hour(), monkeypatch)
    assert mib <= MIB_LATE
    assert len(caplog.records) <= LINES * n_events
    assert len([*tmp_path.rglob("*")]) <= 2 * FILES

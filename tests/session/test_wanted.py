"""Nothing works for what is not wanted: withdrawn at any step, work calls the backend no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import NamedTuple

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.instruct.dialogue import Instruction
from fim_lsp.session.session import Session
from fim_lsp.settings.config import RingConfig
from server_bridge.protocol import Prompt, Reply, Request
from tests.clock import run
from tests.fake_backend import FakeBackend
from tests.typist import QUICK, ROOT, Typist, wait_judged

ABOVE = "".join(f"def area_{n}(width, height):\n    return width * height\n\n\n" for n in range(8))
TEXTS = ["sum(items)\nprint(items)\n", "len(items)", "max(items)"]
CONFIG = replace(
    QUICK,
    completion=replace(QUICK.completion, candidates=3, long_tokens=12),
    ring=RingConfig(chunks=0),
)
HOUR_S = 3600.0
FIRST = Position(0, 0)


class Watched(FakeBackend):
    """Counts calls, also each further piece of a text; *happen* is run within call number *at*."""

    def __init__(self) -> None:
        super().__init__(_say)
        self.state = replace(self.state, prefill_per_s=200.0)
        self.n = 0
        self.at = 0
        self.happen: Callable[[], object] = lambda: None

    def begin(self, at: int, happen: Callable[[], object]) -> None:
        self.n = 0
        self.at = at
        self.happen = happen

    def _count(self) -> None:
        self.n += 1
        if self.n == self.at:
            self.happen()

    async def _pass(self, call: str) -> None:
        self._count()
        await asyncio.sleep(0.001)

    async def _decode(self, request: Request) -> AsyncGenerator[Reply, None]:
        async with aclosing(super()._decode(request)) as replies:
            yield await anext(replies)  # which the call waits for
            async for reply in replies:
                self._count()
                yield reply


def _say(prompt: Prompt, sample: int) -> str:
    if prompt.turns:
        return "def area(width, height):\n    return 1\n```"
    typed = (prompt.middle + prompt.forced).rpartition("return ")[2]
    return TEXTS[min(sample, 2)].removeprefix(typed)


class World(NamedTuple):
    typist: Typist
    backend: Watched
    is_cancelled: list[bool]  # by the client of an edit, or of a long text

    @property
    def session(self) -> Session:
        return self.typist.session

    def goes_on(self, _: object) -> bool:
        return not self.is_cancelled


async def type_on(world: World) -> None:
    await world.typist.ask()


async def by_hand(world: World) -> None:
    await world.typist.ask(invoked=True)


async def long_text(world: World) -> None:
    await world.session.continue_long(world.typist.uri, world.typist.cursor, world.goes_on)


async def edit(world: World) -> None:
    wanted = Instruction(Position(4, 0), Position(6, 0), "shorten it")
    await world.session.edit(world.typist.uri, wanted, world.goes_on)


async def prepare(world: World) -> None:
    await world.session.prepare_edit(world.typist.uri, Position(4, 0), Position(6, 0))


async def rest(world: World) -> None:
    """Move the cursor, and have what requests there will need evaluated."""
    world.session.handle(events.CursorMoved(world.typist.uri, Position(20, 4)))
    await world.session.wait_idle()


async def look_at_it(world: World) -> None:
    """Have what comes after the suggestion on screen decoded."""
    await world.typist.ask()
    await world.session.wait_idle()


# Each with how often it is done before.
WORK: dict[str, tuple[Callable[[World], Awaitable[None]], int]] = {
    "typing": (type_on, 0),
    "by hand": (by_hand, 0),
    "other texts": (by_hand, 1),
    "a long text": (long_text, 0),
    "an edit": (edit, 0),
    "an edit prepared": (prepare, 0),
    "evaluated ahead": (rest, 0),
    "decoded ahead": (look_at_it, 0),
}  # fmt: skip


def press_key(world: World) -> None:
    before = world.typist.cursor._replace(column=4)
    world.typist.replace(before, before, "§")


def close(world: World) -> None:
    world.session.handle(events.Closed(world.typist.uri))


def cancel(world: World) -> None:
    world.is_cancelled.append(True)


def leave(world: World) -> None:
    world.session.handle(events.CursorMoved(f"{ROOT}/app/other.py", FIRST))


ENDS: dict[str, tuple[Callable[[World], None], str]] = {
    "a key that says something else": (press_key, ""),
    "the document is closed": (close, ""),
    "the client cancels it": (cancel, "a long text, an edit"),
    "the user goes to another document": (leave, "evaluated ahead"),
}
CASES = [(kind, why) for kind in WORK for why in ENDS if kind in (ENDS[why][1] or kind).split(", ")]


async def work(kind: str, end: Callable[[World], None], at: int) -> tuple[int, int]:
    """Do work of a *kind* that has its *end* within call *at*; return its calls, and those behind."""
    backend = Watched()
    session = Session(CONFIG, lambda _: backend)
    Typist(session, "x = 1\n", f"{ROOT}/app/other.py")
    world = World(Typist(session, f"{ABOVE}def total(items):\n    return "), backend, [])
    do, n_before = WORK[kind]
    await session.connection.wait_ready()
    await wait_judged(session)
    session.handle(events.CursorMoved(world.typist.uri, FIRST))
    for _ in range(n_before):
        await do(world)
        await asyncio.sleep(HOUR_S)

    def happen() -> None:
        end(world)
        session._lane._jobs.clear()  # what is evaluated next is for where the user is now

    backend.begin(at, happen)
    with suppress(TimeoutError):
        await asyncio.wait_for(do(world), HOUR_S)
    n = backend.n
    await asyncio.sleep(HOUR_S)
    await session.aclose()
    return n, backend.n - at


@pytest.mark.parametrize(("kind", "why"), CASES)
def test_withdrawn_work_calls_the_backend_no_more(kind: str, why: str, monkeypatch) -> None:
    """Withdrawn within any call, or any piece of a text, no call and no piece comes behind that."""
    end = ENDS[why][0]
    n_calls, _ = run(work(kind, end, 0), monkeypatch)
    assert n_calls >= 4
    behind = {at: run(work(kind, end, at), monkeypatch)[1] for at in range(1, n_calls + 1)}
    assert {at: n for at, n in behind.items() if n} == {}

"""When another program's call is made: never before the editor's, and to its end once it has begun."""

from __future__ import annotations

import asyncio

import msgspec

from fim_lsp.session.lending import Lending
from fim_lsp.session.scheduler import Scheduler
from server_bridge.protocol import Health, Prompt, Request, State
from tests.session.test_scheduler import Work, settled
from tests.typist import faked

ASKED = msgspec.json.encode(Request(Prompt("shop", (), "a.py", "", ""), 400))


class Engine:
    """A model whose answers wait until they are *let*; *asked* are the calls."""

    def __init__(self) -> None:
        self.state = State(Health.READY, "embedded", model_path="/a.gguf", prefill_per_s=100.0)
        self.let = asyncio.Event()
        self.asked: list[tuple[str, int, bool]] = []

    async def warm(self, prompt: Prompt, step: int) -> None:
        self.asked.append(("warm", step, prompt.apart))
        await self.let.wait()

    async def complete(self, request: Request) -> None:
        self.asked.append(("complete", request.n_predict, request.prompt.apart))
        await self.let.wait()

    async def connect(self) -> Engine:
        return self


class Port:
    async def aclose(self) -> None:
        """Nothing listens."""


async def lent(engine: Engine) -> tuple[Lending, Scheduler]:
    """Return what lends *engine*, and the scheduler that it shares with an editor."""

    async def open_port(*_: object) -> Port:
        return Port()

    session = faked()
    session.connection.backend = engine  # type: ignore[assignment]
    scheduler = Scheduler(())
    lending = Lending(session.connection, scheduler, open_port)
    lending.follow(engine.state)
    await settled()
    return lending, scheduler


async def test_the_editors_requests_come_first() -> None:
    """Also one that comes while another program waits; that one waits for a single step."""
    work, engine = Work(), Engine()
    lending, scheduler = await lent(engine)
    first = asyncio.create_task(scheduler.foreground(work.step("first")))
    await settled()
    other = asyncio.create_task(lending.answer("warm", ASKED))
    await settled()
    second = asyncio.create_task(scheduler.foreground(work.step("second")))
    await settled()
    work.gates["first"].set()
    await settled()
    assert (work.ran, engine.asked) == (["first", "second"], [])
    work.gates["second"].set()
    await settled()
    assert engine.asked == [("warm", 25, True)]
    third = asyncio.create_task(scheduler.foreground(work.step("third")))
    engine.let.set()
    work.gates["third"].set()
    await asyncio.gather(first, second, other, third)
    await lending.aclose()


async def test_a_step_is_short_however_much_is_asked_for() -> None:
    """The editor's next key waits for it."""
    engine = Engine()
    engine.let.set()
    lending, _ = await lent(engine)
    for call in ("warm", "complete", "erase"):
        said = await lending.answer(call, ASKED)
    assert engine.asked == [("warm", 25, True), ("complete", 8, True)]
    assert b"no such call" in said
    endless = msgspec.json.encode(
        Request(Prompt("", (), "", "x", "", ""), -1)
    )  # llama.cpp's way to say so
    for call in ("warm", "complete"):
        await lending.answer(call, endless)
    assert engine.asked[2:] == [("warm", 1, True), ("complete", 0, True)]
    assert b"error" in await lending.answer("warm", b'{"prompt": 3}')
    await lending.aclose()


async def test_a_client_that_hangs_up_leaves_no_half_step() -> None:
    """The slot would be busy still when the editor names it. What has not begun is not done."""
    work, engine = Work(), Engine()
    lending, scheduler = await lent(engine)
    begun = asyncio.create_task(lending.answer("warm", ASKED))
    await settled()
    waiting = asyncio.create_task(lending.answer("complete", ASKED))
    await settled()
    for client in (begun, waiting):
        client.cancel()
    key = asyncio.create_task(scheduler.foreground(work.step("key")))
    await settled()
    assert work.ran == []
    engine.let.set()
    work.gates.setdefault("key", asyncio.Event()).set()
    await key
    await settled()
    assert [call for call, *_ in engine.asked] == ["warm"]
    assert scheduler.idle
    await lending.aclose()


async def test_nothing_is_lent_of_another_server() -> None:
    """Text that was meant for this machine's engine does not go to one that the editor changed over to."""
    engine = Engine()
    lending, _ = await lent(engine)
    assert b'"kind":"embedded"' in await lending.answer("state", b"")
    engine.state = State(Health.READY, "llama-server", "https://llm.example.org")
    assert b"no such engine" in await lending.answer("complete", ASKED)
    assert engine.asked == []
    await lending.aclose()

"""A completion is one stream: joined, closed, shown before its end, and never waited for too long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from fim_lsp.session.session import Session
from fim_lsp.suggest.request import Requester
from server_bridge.protocol import Prompt, Reply, Request, Stop, Timings, Token
from tests.asked import model_of
from tests.typist import QUICK, ROOT, Typist, faked

CODE = (
    "class Cart:\n"
    "    def __init__(self, width, height):\n"
    "        self.width = width\n"
    "        self.height = height\n\n"
    "    def area(self):\n"
    "        return self.width * self.height\n\n"
)
BLOCK = CODE + "    def __init__(self, name, value):"
TYPED = "\n        zebra"
HOUR_S = 3600.0
PATIENCE_S = 60.0


class Slow:
    """Lets one piece of a stream through whenever it is told so; *n* have come."""

    def __init__(self, session: Session) -> None:
        self.n = 0
        self.closed = 0
        self.let = asyncio.Semaphore(0)
        self._stream = model_of(session).stream
        model_of(session).stream = self._slowly  # type: ignore[method-assign]

    async def _slowly(self, request: Request) -> AsyncGenerator[Reply, None]:
        try:
            async with aclosing(self._stream(request)) as replies:
                async for reply in replies:
                    await self.let.acquire()
                    self.n += 1
                    yield reply
        finally:
            self.closed += 1


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    completion = replace(QUICK.completion, patience_ms=0, deadline_ms=30_000)
    session = faked(replace(QUICK, completion=completion))
    yield session
    await session.aclose()


async def until(slow: Slow, n: int) -> None:
    """Let pieces through, one at a time, until *n* have come."""
    while slow.n < n and not slow.closed:
        if slow.let.locked():
            slow.let.release()
        await asyncio.sleep(0.01)


async def test_a_line_is_shown_before_the_text_is_whole(session: Session) -> None:
    """What is whole is shown when patience ends, the rest with the next key, all of it in one request."""
    [whole] = await Typist(session, BLOCK, uri=f"{ROOT}/whole.py").ask(invoked=True)
    await session.wait_idle()
    slow = Slow(session)
    typist = Typist(session, BLOCK)
    before = typist.counted("streams")
    asked = asyncio.create_task(typist.ask())
    while not asked.done():
        await until(slow, slow.n + 1)
    [first] = await asked
    assert 0 < len(first.text) < len(whole.text)
    assert "\n" in first.text  # the block's header has no rest: the first line of the body
    typist.type(first.text[0])
    for _ in range(200):
        slow.let.release()
    [rest] = await typist.ask(invoked=True)
    assert first.text[0] + rest.text == whole.text
    assert typist.counted("streams") - before == 1


async def test_a_client_that_hears_lines_gets_all_of_them(session: Session) -> None:
    """One as soon as it is there, whatever the patience; the answer is all of the text."""
    [whole] = await Typist(session, BLOCK, uri=f"{ROOT}/whole.py").ask(invoked=True)
    await session.wait_idle()
    slow = Slow(session)
    typist = Typist(session, BLOCK)
    before = typist.counted("streams"), typist.counted("requests")
    heard: list[str] = []
    client = Requester(on_progress=lambda suggestion: heard.append(suggestion.text))
    asked = asyncio.create_task(
        session.complete(typist.uri, typist.cursor, invoked=False, client=client)
    )
    while not heard:
        await until(slow, slow.n + 1)
    assert not asked.done()
    for _ in range(200):
        slow.let.release()
    [all_of_it] = (await asked).suggestions
    assert all_of_it.text == whole.text
    assert whole.text.startswith(heard[0])
    assert len(heard[0]) < len(whole.text)
    assert (typist.counted("streams"), typist.counted("requests")) == (before[0] + 1, before[1] + 1)


async def test_what_is_not_sure_is_not_waited_for(session: Session) -> None:
    """Once no more than a beginning can be shown, that is the answer, and the model writes on."""
    completion = replace(session.config.completion, min_confidence=0.999, patience_ms=20_000)
    session.configure(replace(session.config, completion=completion))
    slow = Slow(session)
    typist = Typist(session, BLOCK)
    asked = asyncio.create_task(typist.ask())
    while not asked.done():
        await until(slow, slow.n + 1)
    assert slow.n < 8  # of twenty and more
    assert not slow.closed


async def test_a_key_that_agrees_makes_the_rest_certain_again(session: Session) -> None:
    """The first word is unlikely; typed by the user it is not, and a request that joins is shown what follows."""
    config = session.config
    session.configure(replace(config, completion=replace(config.completion, min_confidence=0.5)))
    typist = Typist(session, BLOCK)
    let = asyncio.Semaphore(0)

    async def unlikely_first(request: Request) -> AsyncGenerator[Reply, None]:
        said = {request.prompt.forced: 0.0, TYPED: -9.0, " = name": -0.01, "\n": -0.01}
        for text, logprob in said.items():
            await let.acquire()
            token = Token(-1, text.encode(), logprob)
            yield Reply(text, (token,), (), Stop.LIMIT, Timings(predicted_n=1))
        await asyncio.sleep(HOUR_S)

    model_of(session).stream = unlikely_first  # type: ignore[method-assign]
    asked = asyncio.create_task(typist.ask())
    for _ in range(2):
        let.release()
    assert await asyncio.wait_for(asked, PATIENCE_S) == []
    for key in TYPED:
        typist.type(key)
    asked = asyncio.create_task(typist.ask())
    for _ in range(2):
        let.release()
    [suggestion] = await asyncio.wait_for(asked, PATIENCE_S)
    assert suggestion.text == " = name"


async def test_a_key_that_contradicts_closes_the_stream(session: Session) -> None:
    """The next piece is the last, and the newer request has the model to itself."""
    slow = Slow(session)
    typist = Typist(session, BLOCK)
    older = asyncio.create_task(typist.ask())
    await until(slow, 4)  # what was forced, and more
    typist.type("§")
    await until(slow, 5)
    await asyncio.wait_for(older, PATIENCE_S)
    while not slow.closed:
        await until(slow, slow.n + 1)
    assert slow.n <= 8  # of twenty and more


async def test_keys_ahead_of_the_stream_that_it_contradicts(session: Session) -> None:
    """The request that joined it is answered by another stream, and the first one writes no more."""
    slow = Slow(session)
    typist = Typist(session, BLOCK)
    first = asyncio.create_task(typist.ask())
    while not typist.counted("streams"):
        await asyncio.sleep(0.01)
    first.cancel()
    typist.type("\n        print(wid")  # the stream has said nothing yet
    second = asyncio.create_task(typist.ask())
    while not second.done():
        await until(slow, slow.n + 1)
        slow.closed = 0
    [suggestion] = await second
    assert suggestion.text.startswith("th, height)")
    assert typist.counted("streams") == 2


async def test_a_cursor_ahead_of_the_stream_that_it_contradicts() -> None:
    """In the same text, where no key tells it: after the piece that says so the request has another stream."""

    def says(prompt: Prompt, _: int) -> str:
        return "name" if prompt.middle.endswith("= ") else "+ 1" * 20

    session = faked(QUICK, says)
    slow = Slow(session)
    typist = Typist(session, f"{BLOCK}\n        self.name = ")
    end = typist.cursor
    typist.cursor = end._replace(column=end.column - 1)
    first = asyncio.create_task(typist.ask(invoked=True))
    while not typist.counted("streams"):
        await asyncio.sleep(0.01)
    first.cancel()
    typist.cursor = end
    second = asyncio.create_task(typist.ask(invoked=True))
    while typist.counted("streams") < 2:
        await until(slow, slow.n + 1)
    assert slow.n <= 4  # of sixty: what was forced, the piece that says so, and one more
    second.cancel()
    await session.aclose()


@pytest.mark.parametrize("invoked", [True, False])
async def test_nothing_is_too_late_while_the_model_computes(session: Session, invoked: bool):
    """The deadline is past, and the request is answered with the first line that there is."""
    completion = replace(session.config.completion, deadline_ms=50)
    session.configure(replace(session.config, completion=completion))
    slow = Slow(session)
    typist = Typist(session, BLOCK)
    asked = asyncio.create_task(typist.ask(invoked=invoked))
    await asyncio.wait({asked}, timeout=0.3)
    assert not asked.done()
    while not asked.done():
        await until(slow, slow.n + 1)
    assert [each.text for each in await asked] != []

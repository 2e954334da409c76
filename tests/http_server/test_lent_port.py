"""An editor's session lends its engine, the real one, to another program: what that costs the editor."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from fim_lsp.documents import Position
from fim_lsp.http_server.lent_port import open_lent_port
from fim_lsp.session import lending
from fim_lsp.session.lending import Lending
from fim_lsp.session.session import Session
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.lent_engine import LentEngine
from server_bridge.machine.announcements import find_announced
from server_bridge.protocol import (
    BackendUnavailable,
    Health,
    PromptTooLong,
    Request,
    State,
    Stop,
    Timings,
)
from tests.asked import model_of
from tests.models import BUNDLED
from tests.server_bridge.prompts import LINES, TYPED, prompt, short
from tests.typist import QUICK, Typist

pytestmark = pytest.mark.engine

ABOVE = "".join(LINES[:300])
OTHER = "".join(LINES[500:700])
URI = "file:///home/me/shop/app/"
REQUEST = Request(short("    def "), n_predict=4)


async def announced(folder: Path, n: int) -> None:
    """Return when *n* engines are announced."""
    while len(find_announced(folder)) != n:
        await asyncio.sleep(0.02)


@asynccontextmanager
async def lending_editor(folder: Path) -> AsyncIterator[Session]:
    """A session with the engine inside, which it has announced in *folder*."""
    session = Session(
        QUICK,
        lambda _: open_backend(BackendSettings("embedded")),
        open_lent_port=partial(open_lent_port, folder),
    )
    try:
        await session.connection.wait_ready()
        await announced(folder, 1)
        yield session
    finally:
        await session.aclose()


def borrower(folder: Path) -> Session:
    """A session as that of `fim-lsp complete`."""
    return Session(QUICK, lambda _: open_backend(BackendSettings("embedded", lent_dir=str(folder))))


async def borrow(folder: Path, name: str, text: str, at: Position) -> str:
    """Ask for one suggestion as `fim-lsp complete` does; returns it."""
    session = borrower(folder)
    await session.connection.wait_ready()
    typist = Typist(session, text, uri=URI + name)
    typist.cursor = at
    found = await typist.ask(invoked=True)
    assert session.connection.state.kind == "editor"
    assert typist.counted("tokens", "evaluated") > 0
    await session.aclose()
    return found[0].text if found else ""


def costs_of(session: Session) -> list[Timings]:
    """Return what each stream that *session* asks for from now on cost to begin."""
    model, costs = model_of(session), list[Timings]()
    stream = model.stream

    async def noting(request: Request):
        async with aclosing(stream(request)) as replies:
            first = await anext(replies)
            costs.append(first.timings)
            yield first
            async for reply in replies:
                yield reply

    model.stream = noting  # type: ignore[method-assign]
    return costs


async def type_on(typist: Typist, text: str) -> None:
    for key in text:
        typist.type(key)
        await typist.ask()


async def test_the_editor_pays_nothing_and_foresees_all(tmp_path: Path) -> None:
    """Others ask in another file, elsewhere in the same one, and at the same place; its next keys cost as ever."""
    async with lending_editor(tmp_path) as session:
        typist = Typist(session, ABOVE, uri=f"{URI}main.py")
        await type_on(typist, TYPED[:40])
        await session.wait_idle()
        costs = costs_of(session)
        for name, text, at in (
            ("other.py", OTHER, Position(120, 0)),
            ("main.py", ABOVE, Position(90, 0)),
            ("main.py", ABOVE, typist.cursor._replace(column=0)),
        ):
            asked = asyncio.create_task(borrow(tmp_path, name, text, at))
            await type_on(typist, "\n        zebra = 7")  # while it is asked
            await asked
            await type_on(typist, "\n        quux(3)")  # and afterwards
        assert len(costs) > 10
        assert max(cost.prompt_n for cost in costs) <= 8
        assert all(cost.expected_n in (None, cost.cache_n) for cost in costs)
        assert session.connection.state.cache_problem == ""


async def test_the_answers_are_those_of_an_engine_of_its_own(tmp_path: Path) -> None:
    """The same text, token by token, with what it cost."""
    own = open_backend(BackendSettings("embedded"))
    alone = await (await own.connect()).complete(Request(prompt("    def "), 12))
    await own.aclose()
    async with lending_editor(tmp_path):
        lent = LentEngine(tmp_path, BUNDLED)
        asked = Request(prompt("    def "), 12)
        measure = await (await lent.connect()).measure(asked.prompt)
        while (await lent.warm(asked.prompt, 200)).left:
            pass
        replies = [reply async for reply in lent.stream(asked)]
        await lent.aclose()
    assert "".join(reply.text for reply in replies) == alone.text
    assert [t.id for reply in replies for t in reply.tokens] == [t.id for t in alone.tokens]
    assert replies[0].timings.prompt_n < 20 < measure.total
    assert replies[-1].stop in (Stop.LIMIT, Stop.END)


async def test_a_prompt_that_is_too_long_is_that_here_too(tmp_path: Path) -> None:
    """So that the window is made smaller, and no other server is asked."""
    async with lending_editor(tmp_path):
        lent = LentEngine(tmp_path, BUNDLED)
        with pytest.raises(PromptTooLong) as caught:
            await lent.complete(Request(prompt("x = 1\n" * 3000), 4))
        await lent.aclose()
    assert caught.value.n_prompt > caught.value.n_ctx > 0


async def test_an_editor_that_closes_costs_no_completion(tmp_path: Path) -> None:
    """The call that finds it gone goes on with an engine of its own."""
    async with lending_editor(tmp_path):
        backend = open_backend(BackendSettings("auto", lent_dir=str(tmp_path), usual_urls=()))
        model = await backend.connect()
        before = (await model.complete(REQUEST)).text
        assert backend.state.kind == "editor"
    assert (await model.complete(REQUEST)).text == before
    assert (backend.state.kind, backend.state.health) == ("embedded", Health.READY)
    await backend.aclose()


async def test_what_was_announced_is_private_and_withdrawn(tmp_path: Path) -> None:
    """The file is for this user, and there while the engine is; without its key nothing is answered."""
    async with lending_editor(tmp_path) as session:
        [there] = find_announced(tmp_path)
        assert stat.S_IMODE(there.file.stat().st_mode) == 0o600
        async with httpx.AsyncClient(base_url=there.url, trust_env=False) as client:
            key = {"authorization": f"Bearer {there.token}"}
            page = {"origin": "https://evil.example", **key}
            assert [
                (await client.get("/state", headers=each)).status_code
                for each in ({}, {"authorization": "Bearer x"}, page, key)
            ] == [401, 401, 403, 200]
        await session.connection.backend.aclose()
        session.connection.tell()
        await announced(tmp_path, 0)
        with pytest.raises(BackendUnavailable):
            await LentEngine(tmp_path, BUNDLED).connect()


async def test_only_what_was_announced_is_lent(tmp_path: Path) -> None:
    """Not the server that the editor changed over to, to which the text may not go."""
    async with lending_editor(tmp_path) as session:
        lent = LentEngine(tmp_path, BUNDLED)
        await lent.connect()
        port: Lending = session._lending
        port._model = "/another.gguf"
        with pytest.raises(BackendUnavailable, match="no such engine"):
            await lent.complete(REQUEST)
        await lent.aclose()


@pytest.mark.parametrize(
    ("kind", "health"),
    [("llama-server", Health.READY), ("editor", Health.READY), ("embedded", Health.LOADING)],
)
def test_only_an_engine_of_ours_that_is_ready_is_lent(kind: str, health: Health) -> None:
    """A server has an address of its own, and what is lent is not lent on."""
    assert lending.lent_model(State(health, kind, model_path="/a.gguf")) == ""
    assert lending.lent_model(State(Health.READY, "embedded", model_path="/a.gguf")) == "/a.gguf"

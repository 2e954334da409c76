"""A server that loads its model at the first request gets to load it, whatever is typed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.client import Http
from server_bridge.http.responses import Loading, ServerError
from server_bridge.openai import beside, waking
from server_bridge.openai.backend import OpenAiServer
from server_bridge.openai.text_client import TextServer
from server_bridge.protocol import BackendError, BackendTimeout, Health, Request
from tests.server_bridge.cold_server import ColdServer, cold_server
from tests.server_bridge.prompts import prompt
from tests.server_bridge.waiting import until

pytestmark = pytest.mark.promise("answers-are-bounded")

REQUEST = Request(prompt("    def "), n_predict=4)
TEXT = "value_one + value_two"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that says nothing for a moment is taken for one that loads."""
    monkeypatch.setattr(waking, "FIRST_S", 0.1)


@pytest.fixture
async def cold() -> AsyncIterator[ColdServer]:
    async with cold_server() as server:
        yield server


@pytest.fixture
async def backend(cold: ColdServer) -> AsyncIterator[OpenAiServer]:
    async with aclosing(OpenAiServer(Http(cold.url))) as backend:
        yield backend


async def ask_in_vain(backend: OpenAiServer) -> None:
    with pytest.raises(Loading, match="may be loading its model"):
        await backend.complete(REQUEST)


CALLS: dict[str, Callable[[OpenAiServer], Awaitable[object]]] = {
    "complete": lambda backend: backend.complete(REQUEST),
    "stream": lambda backend: anext(backend.stream(REQUEST)),
    "warm": lambda backend: backend.warm(REQUEST.prompt, 100),
}


@pytest.mark.parametrize("how", CALLS)
async def test_a_request_of_our_own_waits_for_it(how: str, cold: ColdServer, backend) -> None:
    """One load is given up, for the first request; whatever is asked meanwhile fails at once."""
    with pytest.raises(Loading):
        await CALLS[how](backend)
    for _ in range(5):
        await ask_in_vain(backend)
    state = backend.state
    assert (state.health, "s so far" in state.message) == (Health.LOADING, True)
    connecting = asyncio.create_task(backend.connect())
    await until(lambda: cold.n_begun == 2)
    assert not connecting.done()
    cold.finish_loading()
    await connecting
    assert (backend.state.health, backend.state.message) == (Health.READY, "")
    assert (await backend.complete(REQUEST)).text == TEXT
    assert (cold.n_begun, cold.n_given_up) == (2, 1)
    # What may be shown to a model can change while it loads.
    assert cold.bodies[1] == {"model": "qwen2.5-coder-7b", "prompt": " ", "max_tokens": 1}


async def test_one_that_says_that_it_waits_its_turn_does_not_load(cold, backend) -> None:
    """A gateway's comment is heard before the answer: no second request, no word of loading."""
    cold.queues = True
    asked = asyncio.create_task(backend.complete(REQUEST))
    await cold.asked.wait()
    await asyncio.sleep(3 * waking.FIRST_S)
    assert (cold.n_begun, backend.state.health) == (1, Health.READY)
    cold.finish_loading()
    assert (await asked).text == TEXT


async def test_a_model_that_fell_asleep_is_woken_again(cold, monkeypatch) -> None:
    """After a while without an answer; a server that answered lately has all its time."""
    cold.is_loaded = True
    async with aclosing(OpenAiServer(Http(cold.url, patience_s=0.5))) as backend:
        assert (await backend.complete(REQUEST)).text == TEXT
        cold.unload()
        monkeypatch.setattr(waking, "FIRST_S", 0.0)
        slow = asyncio.create_task(backend.complete(REQUEST))
        await cold.asked.wait()
        assert not slow.done()
        cold.finish_loading()
        assert (await slow).text == TEXT
        cold.unload()
        monkeypatch.setattr(waking, "HEARD_S", 0.0)
        await ask_in_vain(backend)
        assert backend.state.health is Health.LOADING


async def test_it_does_not_wait_for_ever(cold, monkeypatch, backend) -> None:
    """A server that hangs does not answer in time, in the end; then it is tried again."""
    monkeypatch.setattr(waking, "LOAD_S", 0.1)
    for _ in range(2):
        await ask_in_vain(backend)
        with pytest.raises(BackendTimeout):
            await backend.connect()
        assert backend.state.health is not Health.LOADING


@pytest.mark.parametrize("n_silent", [1, 2, 3, 4])
async def test_connections_that_are_dead_end_with_the_next_one(
    n_silent: int, cold, backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    However many requests in a row get no byte, a further one is answered; the first of ours stays
    open, as a server that loads needs it, and there are two of ours at most.
    """
    monkeypatch.setattr(beside, "SOON_S", 0.05)
    monkeypatch.setattr(beside, "AGAIN_S", (0.1, 0.2))
    open_now: list[int] = []

    async def say_nothing(reader: asyncio.StreamReader, _: object) -> None:
        cold.n_begun += 1
        open_now.append(cold.n_begun - cold.n_given_up)
        if cold.n_begun <= n_silent:
            await reader.read(1)  # until the client hangs up
            cold.n_given_up += 1
        else:
            cold.is_loaded = True

    monkeypatch.setattr(cold, "_load", say_nothing)
    await ask_in_vain(backend)
    await backend.connect()
    assert (await backend.complete(REQUEST)).text == TEXT
    assert max(open_now) <= 2
    assert cold.n_begun == n_silent + 1
    await until(lambda: cold.n_given_up == n_silent)


async def test_a_further_request_that_fails_leaves_the_first(cold, backend, monkeypatch) -> None:
    """A server that takes one request at a time refuses the others while it loads."""
    monkeypatch.setattr(beside, "AGAIN_S", (0.02, 0.02))
    real = Http.stream
    n_asked = []

    def stream(http: Http, *given: object) -> object:
        n_asked.append(1)
        if len(n_asked) > 2:
            raise ServerError("503: busy")
        return real(http, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Http, "stream", stream)
    await ask_in_vain(backend)
    connecting = asyncio.create_task(backend.connect())
    await until(lambda: len(n_asked) > 4)
    assert not connecting.done()
    cold.finish_loading()
    await connecting
    assert backend.state.health is Health.READY


async def test_where_both_write_at_once_the_further_request_is_closed(monkeypatch) -> None:
    """It has answered, and no reader takes that: its connection does not stay."""
    monkeypatch.setattr(beside, "SOON_S", 0.0)
    write = asyncio.Event()
    begun = list[str]()
    closed = list[str]()

    async def events(name: str, *texts: str) -> AsyncIterator[dict[str, object]]:
        try:
            for text in texts:
                yield {"choices": [{"text": text}]}
            begun.append(name)
            await write.wait()
            yield {"choices": [{"text": name}]}
        finally:
            closed.append(name)

    async def aclose() -> None:
        closed.append("connection")

    another = SimpleNamespace(stream=lambda *_: events("further"), aclose=aclose)
    http: Any = SimpleNamespace(url="", another=lambda: another)
    first: Any = events("first", "")
    read = beside.first_to_write(first, http, "", b"")
    await anext(read)
    coming = asyncio.ensure_future(anext(read))
    await until(lambda: len(begun) == 2)
    write.set()
    assert await coming == {"choices": [{"text": "first"}]}
    await read.aclose()
    assert sorted(closed) == ["connection", "first", "further"]


@pytest.mark.parametrize(("status", "error"), [(500, ServerError), (400, None)])
async def test_what_comes_of_it_is_told(
    status: int, error: type[BackendError] | None, cold: ColdServer, backend
) -> None:
    """A failure is one of connecting; a refusal shows that it is awake."""
    await ask_in_vain(backend)
    cold.status = status
    cold.finish_loading()
    if error:
        with pytest.raises(error):
            await backend.connect()
    else:
        await backend.connect()
        assert backend.state.health is Health.READY


async def test_closing_gives_it_up(cold: ColdServer) -> None:
    """Settings that name another server end it, and no task is left."""
    backend = OpenAiServer(Http(cold.url))
    await ask_in_vain(backend)
    await backend.aclose()
    await until(lambda: cold.n_given_up == cold.n_begun)
    assert backend.state.health is not Health.LOADING


async def test_another_server_is_used_meanwhile(cold: ColdServer) -> None:
    """Where several are named the next one answers, and the first when it has loaded."""
    async with cold_server(says="other") as other:
        other.is_loaded = True
        servers = tuple(BackendSettings("openai", server.url) for server in (cold, other))
        backend = open_backend(BackendSettings(endpoints=servers))
        assert (await backend.complete(REQUEST)).text == "other"
        cold.finish_loading()
        while (await backend.complete(REQUEST)).text == "other":
            await asyncio.sleep(0)
        assert (await backend.complete(REQUEST)).text == TEXT
        await backend.aclose()
    assert (cold.n_begun, cold.n_given_up) == (2, 1)


async def test_the_model_of_next_edits_gets_to_load_too(cold: ColdServer) -> None:
    """By a request of its own."""
    model = TextServer(Http(cold.url), "qwen2.5-coder-7b")
    for _ in range(3):
        with pytest.raises(Loading):
            await model.continue_text("x", 8, ())
    await until(lambda: cold.n_begun == 2)
    cold.finish_loading()

    async def answers() -> bool:
        with suppress(Loading):
            return await model.continue_text("x", 8, ()) == TEXT
        return False

    await until(answers)
    assert cold.bodies[1]["prompt"] == " "
    await model.aclose()

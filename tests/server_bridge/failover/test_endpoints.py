"""Everything that can happen to a server, on the wire, with a real one behind and beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover.endpoint import Endpoint, Server
from server_bridge.failover.endpoints import Endpoints
from server_bridge.protocol import (
    BackendError,
    BackendUnavailable,
    Health,
    Prompt,
    Reply,
    Request,
    State,
    Stop,
    Timings,
    Warmed,
    rest,
)
from tests.clock import run
from tests.fault_proxy import ANSWERS, FaultProxy, fault_proxy
from tests.fuzz import in_turn
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import short
from tests.server_bridge.recorder import recorder
from tests.server_bridge.waiting import until

REQUEST = Request(short("    def "), n_predict=4)
FAULTS = ["kill", "hang", "drip", "half", *ANSWERS]


@pytest.fixture(scope="module")
def other_url() -> Iterator[str]:
    """Return a second server."""
    with llama_server(BUNDLED) as url:
        yield url


async def begin(proxy: FaultProxy, fault: str) -> None:
    proxy.fault = fault
    if fault == "kill":
        await proxy.stop()


async def end(proxy: FaultProxy, fault: str) -> None:
    proxy.fault = ""
    await proxy.stop()  # what hung then hangs for ever
    await proxy.start()


async def serves(backend: Endpoints, url: str) -> bool:
    """Return whether a completion is made by the server at *url*."""
    with suppress(BackendError):
        await backend.complete(REQUEST)
        return backend.state.url == url
    return False


@pytest.mark.parametrize(("fault", "kind"), in_turn(FAULTS, ["llama-server", "openai"]))
async def test_a_bad_day_costs_no_completion_where_there_are_two(
    fault: str, kind: Literal["llama-server", "openai"], url: str, other_url: str
) -> None:
    """The other server answers the same completion, and the first serves again when it is back."""
    async with fault_proxy(url) as proxy:
        first, second = BackendSettings(kind, proxy.url), BackendSettings(kind, other_url)
        backend = open_backend(BackendSettings(endpoints=(first, second)))
        await until(lambda: serves(backend, proxy.url))
        good = await backend.complete(REQUEST)
        await begin(proxy, fault)

        async def is_told() -> bool:
            assert (await backend.complete(REQUEST)).text == good.text
            assert backend.state.url == other_url
            return proxy.url in backend.state.message

        await until(is_told)
        await end(proxy, fault)
        await until(lambda: serves(backend, proxy.url))
        assert backend.state.message == ""
        await backend.aclose()


async def test_a_name_that_is_unknown_is_an_endpoint_that_is_down(other_url: str) -> None:
    """A DNS failure is like any other: the next endpoint serves, and the message names the address."""
    nowhere = BackendSettings("llama-server", "http://no-such-host.invalid:8012")
    backend = open_backend(
        BackendSettings(endpoints=(nowhere, BackendSettings("llama-server", other_url)))
    )
    assert (await backend.complete(REQUEST)).text
    assert "no-such-host.invalid" in backend.state.message
    await backend.aclose()


async def test_tokens_of_one_server_are_not_sent_to_another(url: str, other_url: str) -> None:
    """A tape of another server is tokenised again: its ids have no meaning here."""
    one, other = (open_backend(BackendSettings("llama-server", u)) for u in (url, other_url))
    made = await one.complete(REQUEST)
    forged = tuple(token._replace(id=7) for token in made.middle)
    plain = await other.complete(REQUEST)
    taped = await other.complete(replace(REQUEST, prompt=replace(REQUEST.prompt, tape=forged)))
    assert taped.middle == plain.middle == made.middle
    await one.aclose()
    await other.aclose()


class Slow:
    """A server that is well and slow to read: *left* tokens, of which each step takes its share."""

    def __init__(self, name: str, left: int) -> None:
        self.state = State(Health.READY, "fake", name)
        self.left, self.fails = left, False

    async def connect(self) -> Slow:
        return self

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        await asyncio.sleep(0.4)
        before, self.left = self.left, max(0, self.left - step)
        return Warmed(before - self.left, self.left)

    async def complete(self, request: Request) -> Reply:
        if self.fails:
            raise BackendUnavailable(self.state.url)
        return Reply(self.state.url, (), (), Stop.END, Timings())

    async def disconnect(self) -> None:
        pass

    aclose = disconnect


def test_moving_to_a_cold_server_warms_it_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the other server has long to read, the completion is given up, and what was read stays."""

    async def move() -> None:
        first, second = Slow("a", 0), Slow("b", 1000)
        backend = Endpoints([Endpoint(cast("Server", each)) for each in (first, second)])
        assert (await backend.complete(REQUEST)).text == "a"
        first.fails = True
        with pytest.raises(BackendError, match="still evaluating"):
            await backend.complete(REQUEST)
        while second.left:
            await second.warm(REQUEST.prompt, 125)
        assert (await backend.complete(REQUEST)).text == "b"
        await backend.aclose()

    run(move(), monkeypatch)


class Breaking(Slow):
    """A server that says a text word by word, and breaks off after *n_words*, if that is not 0."""

    def __init__(self, name: str, n_words: int) -> None:
        super().__init__(name, 0)
        self.n_words = n_words
        self.asked: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        self.asked.append(request)
        said = len(request.prompt.middle.split())
        for n, word in enumerate(TEXT[said:], 1):
            stop = Stop.END if word == TEXT[-1] else Stop.LIMIT
            yield Reply(word, (), (), stop, Timings(predicted_n=1))
            if n == self.n_words:
                raise BackendUnavailable("it broke off")


TEXT = ["one ", "two ", "three ", "four "]


async def test_a_text_that_breaks_off_is_gone_on_with_by_the_next_server() -> None:
    """What the first server said counts; the second is asked for the rest."""
    first, second = Breaking("a", 2), Breaking("b", 0)
    backend = Endpoints([Endpoint(cast("Server", each)) for each in (first, second)])
    request = replace(REQUEST, prompt=replace(REQUEST.prompt, middle="", tape=()), n_predict=9)
    said = [reply.text async for reply in backend.stream(request)]
    assert said == TEXT
    assert [each.prompt.middle for each in second.asked] == ["one two "]
    assert second.asked[0].n_predict == 7
    await backend.aclose()


class Closing(Slow):
    """A server that takes a minute to close; *is_closing* while it does."""

    is_closing = False

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        return Warmed(0, 0)

    async def connect(self) -> Closing:
        assert not self.is_closing
        self.state = replace(self.state, health=Health.READY)
        return self

    async def disconnect(self) -> None:
        self.is_closing = True
        await asyncio.sleep(60.0)
        self.is_closing, self.state = False, replace(self.state, health=Health.UNKNOWN)

    aclose = disconnect


def test_no_completion_waits_for_a_server_to_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for one that failed, nor for the one that was used meanwhile."""

    async def complete() -> None:
        first, last = Closing("a", 0), Closing("b", 0)
        resort = Endpoint(cast("Server", last), last=True)
        backend, clock = Endpoints([Endpoint(cast("Server", first)), resort]), time.monotonic
        first.fails = True
        assert ((await backend.complete(REQUEST)).text, clock()) == ("b", 0.0)
        await asyncio.sleep(1.0)
        assert first.is_closing
        first.fails = False
        await asyncio.sleep(99.0)
        assert (await backend.complete(REQUEST)).text == "b"  # while the first connects
        await asyncio.sleep(0.1)
        assert ((await backend.complete(REQUEST)).text, round(clock(), 1)) == ("a", 100.1)
        await asyncio.sleep(1.0)
        assert last.is_closing
        await backend.aclose()
        assert not last.is_closing

    run(complete(), monkeypatch)


class Starting(Slow):
    """A server that is there after a second."""

    async def connect(self) -> Starting:
        await asyncio.sleep(1.0)
        self.state = replace(self.state, health=Health.READY)
        return self


def test_what_failed_before_a_server_was_reached_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An engine was killed, is started again, and only then a request notes that it failed."""

    async def complete() -> None:
        server = Starting("a", 0)
        server.state = replace(server.state, health=Health.DOWN)
        endpoint = Endpoint(cast("Server", server))
        backend, reaching = Endpoints([endpoint]), endpoint.connect()
        await asyncio.sleep(0.9)
        endpoint.note_failure(BackendUnavailable("cannot connect"), at_work=True)
        await reaching
        assert (await backend.complete(REQUEST)).text == "a"
        await backend.aclose()

    run(complete(), monkeypatch)


async def test_a_text_that_breaks_off_at_its_last_token_is_whole() -> None:
    """Nothing is left to ask the second server for."""
    first, second = Breaking("a", 3), Breaking("b", 0)
    backend = Endpoints([Endpoint(cast("Server", each)) for each in (first, second)])
    request = replace(REQUEST, prompt=replace(REQUEST.prompt, middle="", tape=()), n_predict=3)
    assert [reply.text async for reply in backend.stream(request)] == TEXT[:3]
    assert second.asked == []
    await backend.aclose()


@given(st.integers(1, 4), st.lists(st.integers(0, 3), max_size=8))
def test_what_is_left_of_a_request_is_a_request(n_predict: int, counted: list[int]) -> None:
    """One for a token or more, whatever a server says of what it made; else nothing is left."""
    pieces = [Reply("x", (), (), Stop.LIMIT, Timings(predicted_n=n)) for n in counted]
    left = rest(replace(REQUEST, n_predict=n_predict), *pieces)
    n_made = sum(max(1, n) for n in counted)
    assert (left.n_predict if left else 0) == max(0, n_predict - n_made)


@pytest.mark.parametrize("n_predict", [0, -1])
def test_no_request_is_for_no_tokens(n_predict: int) -> None:
    """To llama.cpp -1 means without end."""
    with pytest.raises(ValueError, match="tokens"):
        Request(REQUEST.prompt, n_predict)


async def test_a_text_that_breaks_off_everywhere_is_an_error() -> None:
    """The user gets what came, and then the reason."""
    backend = Endpoints([Endpoint(cast("Server", Breaking("a", 1)))])
    replies = backend.stream(REQUEST)
    assert (await anext(replies)).text
    with pytest.raises(BackendError):
        await anext(replies)
    await backend.aclose()


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_with_too_much_to_do_is_left_alone_as_long_as_it_asks(status: int) -> None:
    """Not a request more, of whatever kind, however often the user types."""
    answer = {
        "/v1/models": b'{"data": [{"id": "qwen", "owned_by": "vllm", "max_model_len": 4096}]}'
    }
    with recorder(answer=answer) as server:
        backend = open_backend(BackendSettings("openai", server.url))
        await backend.connect()
        server.answer, server.status, server.headers = b"{}", status, {"Retry-After": "60"}
        with pytest.raises(BackendUnavailable, match=str(status)):
            await backend.complete(REQUEST)
        n_heard = len(server.heard)
        for _ in range(20):
            with pytest.raises(BackendUnavailable):
                await backend.complete(REQUEST)
            with pytest.raises(BackendUnavailable):
                await backend.connect()
        assert len(server.heard) == n_heard
        await backend.aclose()

"""Everything that can happen to a server, on the wire, with a real one behind and beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover.endpoints import Endpoints
from server_bridge.protocol import (
    BackendError,
    BackendUnavailable,
    Measure,
    Model,
    Prompt,
    Reply,
    Request,
    Stop,
    Timings,
    Warmed,
    rest,
)
from tests.clock import run
from tests.fault_proxy import ANSWERS, fault_proxy
from tests.fuzz import in_turn
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.failover.test_order import Fake, endpoint
from tests.server_bridge.prompts import short
from tests.server_bridge.recorder import recorder
from tests.server_bridge.waiting import until

pytestmark = pytest.mark.promise("answers-are-bounded")

# Both servers are sure of its text: they round differently.
REQUEST = Request(short("    def __init__(se"), n_predict=4)
FAULTS = ["kill", "hang", "drip", "half", *ANSWERS]


@pytest.fixture(scope="module")
def other_url() -> Iterator[str]:
    """Return a second server."""
    with llama_server(BUNDLED) as url:
        yield url


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
        first = BackendSettings(kind, proxy.url)
        second = BackendSettings(kind, other_url)
        backend = open_backend(BackendSettings(endpoints=(first, second)))
        await until(lambda: serves(backend, proxy.url))
        good = await backend.complete(REQUEST)
        proxy.fault = fault
        if fault == "kill":
            await proxy.stop()

        async def is_told() -> bool:
            assert (await backend.complete(REQUEST)).text == good.text
            assert backend.state.url == other_url
            return proxy.url in backend.state.message

        await until(is_told)
        proxy.fault = ""
        await proxy.stop()  # what hung then hangs for ever
        await proxy.start()
        await until(lambda: serves(backend, proxy.url))
        assert backend.state.message == ""
        await backend.aclose()


class Slow(Fake):
    """A server that is well and slow to read: *left* tokens, of which each step takes its share."""

    left = 1000

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        await asyncio.sleep(0.4)
        before = self.left
        self.left = max(0, self.left - step)
        return Warmed(before - self.left, self.left)


def test_moving_to_a_cold_server_warms_it_for_a_moment_only(monkeypatch) -> None:
    """Where the other server has long to read, the completion is given up, and what was read stays."""

    async def move() -> None:
        first = Fake("a", is_ready=True)
        second = Slow("b", is_ready=True)
        backend = Endpoints([endpoint(first), endpoint(second)])
        assert (await backend.complete(REQUEST)).text == "a"
        first.fails = True
        with pytest.raises(BackendError, match="still evaluating"):
            await backend.complete(REQUEST)
        while second.left:
            await second.warm(REQUEST.prompt, 125)
        assert (await backend.complete(REQUEST)).text == "b"
        await backend.aclose()

    run(move(), monkeypatch)


class Breaking(Fake):
    """A server that says a text word by word, and breaks off after *n_words*, if that is not 0."""

    def __init__(self, name: str, n_words: int) -> None:
        super().__init__(name, is_ready=True)
        self.n_words = n_words
        self.asked: list[tuple[str, int]] = []

    async def measure(self, _: Prompt) -> Measure:
        return Measure.of([], 0)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        self.asked.append((request.prompt.middle, request.n_predict))
        said = len(request.prompt.middle.split())
        for n, word in enumerate(TEXT[said:], 1):
            stop = Stop.END if word == TEXT[-1] else Stop.LIMIT
            yield Reply(word, (), (), stop, Timings(predicted_n=1))
            if n == self.n_words:
                raise BackendUnavailable("it broke off")


TEXT = ["one ", "two ", "three ", "four "]
EMPTY = replace(REQUEST.prompt, middle="", tape=())


@pytest.mark.parametrize(
    ("n_predict", "n_words", "said", "left"),
    [(9, (2, 0), TEXT, [("one two ", 7)]), (3, (3, 0), TEXT[:3], []), (9, (1,), TEXT[:1], [])],
)
async def test_a_text_that_breaks_off_is_gone_on_with_by_the_next_server(
    n_predict: int, n_words: tuple[int, ...], said: list[str], left: list[tuple[str, int]]
) -> None:
    """What the first server said counts; the second is asked for the rest, if there is one; else it is an error."""
    servers = [Breaking(f"{n}", n) for n in n_words]
    found = list[str]()
    backend = Endpoints([endpoint(each) for each in servers])
    with nullcontext() if len(servers) > 1 else pytest.raises(BackendError):
        async for reply in backend.stream(Request(EMPTY, n_predict)):
            found.append(reply.text)
    assert found == said
    assert [asked for each in servers[1:] for asked in each.asked] == left
    await backend.aclose()


class Closing(Fake):
    """A server that takes a minute to close; *is_closing* while it does."""

    is_closing = False

    async def connect(self) -> Model:
        assert not self.is_closing
        return await super().connect()

    async def disconnect(self) -> None:
        self.is_closing = True
        await asyncio.sleep(60.0)
        await super().disconnect()
        self.is_closing = False

    aclose = disconnect


def test_no_completion_waits_for_a_server_to_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for one that failed, nor for the one that was used meanwhile."""

    async def complete() -> None:
        first = Closing("a", is_ready=True)
        last = Closing("b", is_ready=True)
        backend = Endpoints([endpoint(first), endpoint(last, last=True)])
        clock = time.monotonic
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


async def test_what_failed_before_a_server_was_reached_holds_nothing_up() -> None:
    """An engine was killed, is started again, and only then a request notes that it failed."""
    server = Fake("a")
    server.may_connect.clear()
    one = endpoint(server)
    backend = Endpoints([one])
    reaching = one.connect()
    await asyncio.sleep(0)
    one.note_failure(BackendUnavailable("cannot connect"), at_work=True)
    server.may_connect.set()
    await reaching
    assert (await backend.complete(REQUEST)).text == "a"
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


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_with_too_much_to_do_is_left_alone_as_long_as_it_asks(status: int) -> None:
    """Not a request more, of whatever kind, however often the user types."""
    with recorder(answer=b'{"data": [{"id": "qwen", "owned_by": "vllm"}]}') as server:
        backend = open_backend(BackendSettings("openai", server.url))
        await backend.connect()
        server.answer = b"{}"
        server.status = status
        server.headers = {"Retry-After": "60"}
        with pytest.raises(BackendUnavailable, match=str(status)):
            await backend.complete(REQUEST)
        n_heard = len(server.heard)
        for _ in range(20):
            for ask in (backend.complete(REQUEST), backend.connect()):
                with pytest.raises(BackendUnavailable):
                    await ask
        assert len(server.heard) == n_heard
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

"""An answer that is late: the server is looked at, and what is seen decides what follows."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from server_bridge.http.client import Http
from server_bridge.http.responses import Lost
from server_bridge.llama import backend, link
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import BackendTimeout, Health, Request
from tests.fault_proxy import FaultProxy, fault_proxy
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import prompt
from tests.server_bridge.waiting import until

pytestmark = pytest.mark.engine

PATIENCE_S = 0.3
CALM_S = 1.0
FIRST, NEXT = (Request(prompt(middle), n_predict=4) for middle in ("    def ", "    return "))


@pytest.fixture(autouse=True)
def _early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks come as soon as `PATIENCE_S`, and no other server waits; some looks later it is calm."""
    monkeypatch.setattr(link, "LOOK_S", PATIENCE_S)
    monkeypatch.setattr(link, "CALM_S", CALM_S)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with llama_server(BUNDLED, endpoint_slots=True) as url:
        yield url


@asynccontextmanager
async def connected(
    url: str, *, must_fill: bool = False
) -> AsyncIterator[tuple[FaultProxy, LlamaServer, list[Health]]]:
    """A llama.cpp server behind a proxy, the connection to it, and the states it told."""
    async with fault_proxy(url) as proxy:
        http = Http(proxy.url, patience_s=PATIENCE_S)
        told = list[Health]()
        server = LlamaServer(http, must_fill=must_fill)
        server.on_change = lambda: told.append(server.state.health)
        await server.complete(FIRST)
        await until_calm(told)  # a busy machine may be late there, too
        told.clear()
        yield proxy, server, told
        await server.aclose()


async def until_calm(told: list[Health]) -> None:
    """Return once answers came in time for a while."""
    await until(lambda: told[-1:] != [Health.BUSY])


def n_sent(proxy: FaultProxy) -> int:
    return sum(request.startswith(b"POST /completion") for request in proxy.heard)


async def test_a_request_that_the_server_lost_is_asked_again(url: str) -> None:
    """Idle slots in two looks mean that it computes for no request of ours (llama.cpp#16448)."""
    async with connected(url) as (proxy, server, told):
        before = n_sent(proxy)
        proxy.swallowed["/completion"] = 1
        assert (await server.complete(NEXT)).timings.predicted_n
        assert n_sent(proxy) == before + 2
        await until_calm(told)
        assert [*dict.fromkeys(told)] == [Health.BUSY, Health.READY]


async def test_one_that_ends_while_the_user_rests_is_not_called_ready(url, monkeypatch) -> None:
    """It is looked at without a request: a look that it answers late says nothing, no answer all."""
    monkeypatch.setattr(backend, "REST_S", 0.2)
    async with connected(url) as (proxy, _, told):
        proxy.swallowed["/props"] = 2
        await until(lambda: proxy.swallowed["/props"] == 0)
        assert Health.DOWN not in told
        await proxy.stop()
        await until(lambda: Health.DOWN in told)


async def test_one_that_is_left_is_looked_at_no_more(url: str) -> None:
    """Nothing waits for the next look once its connection is closed."""
    async with connected(url) as (_, server, _):
        await server.aclose()
        await asyncio.sleep(0)
        assert not [task for task in asyncio.all_tasks() if "look at" in task.get_name()]


async def test_one_that_loses_all_is_given_up_and_the_next_is_sent(url: str) -> None:
    """The request fails after twice two looks, and holds up none of those that come after it."""
    async with connected(url) as (proxy, server, _):
        proxy.swallowed["/completion"] = 2
        with pytest.raises(Lost, match="works on nothing"):
            await server.complete(NEXT)
        assert (await server.complete(NEXT)).timings.predicted_n


async def test_one_that_is_deaf_while_it_computes_is_waited_for(url: str) -> None:
    """ik_llama.cpp answers neither /slots nor /health meanwhile: one request waits, and says so."""
    async with connected(url) as (proxy, server, told):
        before = n_sent(proxy)
        proxy.swallowed["/slots"] = proxy.swallowed["/health"] = math.inf
        proxy.slow_s["/completion"] = 5 * PATIENCE_S
        assert (await server.complete(NEXT)).timings.predicted_n
        assert n_sent(proxy) == before + 1
        await until_calm(told)
        assert [*dict.fromkeys(told)] == [Health.BUSY, Health.READY]
        assert server.state.message == ""


async def test_beside_another_one_it_is_not(url: str) -> None:
    """After one look the other one is asked."""
    async with connected(url, must_fill=True) as (proxy, server, _):
        proxy.swallowed["/slots"] = proxy.swallowed["/completion"] = math.inf
        with pytest.raises(BackendTimeout, match="in time"):
            await server.complete(NEXT)

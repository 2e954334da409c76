"""A cluster on a bad day: what a user who types meanwhile loses, which is next to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from deploy.tests import vllm_server
from deploy.tests.cluster.worker import Worker
from deploy.tests.test_deploy import DEPLOY, read
from deploy.tests.vllm_server import Running, running
from tests.llama_server import free_port

LINES = ["\n\ndef total(items):\n    ", "count = len(items)\n    ", "average = total / count\n    "]
# Tokens per key: a partial block for each completion, and the work ahead. A line evaluates the window of the next one
# once, some 40 per key; each pause that a slow machine makes between two keys may add such a one.
CACHED = 3 * 32.0
BACK_S = 60.0
DEAD_S = 5.0  # while one replica of two is dead


@pytest.fixture
def router(pair: list[Running]) -> Iterator[Running]:
    """vllm-router by session, with the health checks of deploy/."""
    words = read(DEPLOY / "vllm/compose.yaml")["services"]["router"]["command"].split()
    often = words[words.index("--health-check-interval-secs") :][:8]
    router = vllm_server.router("vllm-router", "consistent_hash", pair, free_port(), *often)
    with running(router):
        yield router


async def recovered(worker: Worker, seconds: float = BACK_S) -> None:
    """Types until a suggestion comes from the model again."""
    end = asyncio.get_running_loop().time() + seconds
    n_known = worker.typist.counted("streams")
    while asyncio.get_running_loop().time() < end:
        await worker.types("x")
        await asyncio.sleep(0.5)
        if worker.typist.counted("streams") > n_known and worker.session.connection.state.model:
            return
    raise AssertionError("it does not come back")


async def test_a_replica_is_killed_while_a_user_types(router: Running, pair: list[Running]) -> None:
    """No document is lost, one message at most, and ten keys after its return a key costs what it did."""
    worker = Worker(router.url, "X-Session-ID")
    try:
        await worker.types(LINES[0])
        before = await worker.cost(LINES[1], pair)
        for replica in pair:  # whichever serves
            replica.kill()
            await recovered(worker, DEAD_S)
            await worker.types(LINES[2])
            replica.start()
            await asyncio.to_thread(replica.wait)
            await asyncio.sleep(3)  # the router looks
            await recovered(worker)
        await worker.types("= items[0]")
        assert await worker.cost(LINES[1], pair) <= max(before * 1.5, CACHED)
        assert len(worker.news) <= 2  # one for each
    finally:
        await worker.session.aclose()


async def test_the_router_starts_again(router: Running, pair: list[Running]) -> None:
    """The replicas have kept what was evaluated."""
    worker = Worker(router.url, "X-Session-ID")
    try:
        await worker.types(LINES[0])
        before = await worker.cost(LINES[1], pair)
        router.kill()
        await worker.types("count = ")
        router.start()
        await asyncio.to_thread(router.wait)
        await recovered(worker)
        await worker.types("= items[0]\n    ")
        assert await worker.cost(LINES[1], pair) <= max(before * 1.5, CACHED)
        assert len(worker.news) <= 1
    finally:
        await worker.session.aclose()


async def test_a_replica_comes_back_with_another_model() -> None:
    """The one that is there then is asked, under its name."""
    port = free_port()
    first = vllm_server.replica(port)
    second = vllm_server.replica(port, name="fim-tiny-next")
    worker = Worker(first.url, model="")
    try:
        with running(first):
            await worker.types(LINES[0])
            assert worker.session.connection.state.model == "fim-tiny"
        with running(second):
            await recovered(worker)
            assert worker.session.connection.state.model == "fim-tiny-next"
        assert len(worker.news) <= 2
    finally:
        await worker.session.aclose()


@pytest.mark.parametrize("kind", vllm_server.ROUTERS)
async def test_a_router_that_sheds_is_left_alone(kind: str, pair: list[Running]) -> None:
    """Where more come than it takes at a time the others are refused, and come again later; none hangs."""
    few = ("--max-concurrent-requests", "1", "--queue-size", "0")
    router = vllm_server.router(kind, "round_robin", pair, free_port(), *few)
    with running(router):
        workers = [Worker(router.url) for _ in range(6)]
        try:
            await asyncio.gather(*(worker.types(LINES[0]) for worker in workers))
            refused = [state.message for worker in workers for state in worker.news]
            assert any("429" in message or "503" in message for message in refused)
            for worker in workers:  # one after the other
                await recovered(worker)
        finally:
            await asyncio.gather(*(worker.session.aclose() for worker in workers))

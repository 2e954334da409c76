"""Which header each router reads, and what its rule costs; the table of docs/scaling.md."""

from __future__ import annotations

import math
import secrets
import time
from argparse import Namespace
from pathlib import Path

import httpx
import pytest

from benchmarks import metrics
from benchmarks.deployment import cluster
from benchmarks.deployment.cluster import ROWS, Found
from benchmarks.figures import at
from deploy.tests import vllm_server
from deploy.tests.edge.test_monitoring import compared
from deploy.tests.prometheus import PROGRAMS, prometheus
from deploy.tests.test_deploy import expressions
from deploy.tests.vllm_server import Running, running
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import BackendUnusable
from tests.llama_server import free_port

READ = {
    ("vllm-router", "consistent_hash"): {"X-Session-ID", "X-User-ID", "X-Tenant-ID", "X-Request-ID"},
    ("vllm-router", "sticky_least_loaded"): {"X-Session-ID", "X-User-ID", "X-Tenant-ID", "X-Request-ID"},
    ("vllm-router", "round_robin"): set[str](),
    ("sglang-router", "manual"): {"X-SMG-Routing-Key"},
    ("sglang-router", "round_robin"): set[str](),
}  # fmt: skip
HEADERS = (
    "X-Session-ID",
    "X-User-ID",
    "X-Tenant-ID",
    "X-Request-ID",
    "X-SMG-Routing-Key",
    "X-Other",
)
VALUES_S = 120.0  # for two looks at each replica, and requests between them
N_REQUESTS = 8  # chance sends all of them to one of two replicas once in 128 times


@pytest.mark.parametrize(("kind", "policy"), READ)
async def test_the_header_that_a_router_reads(kind: str, policy: str, pair: list[Running]) -> None:
    """Requests that have nothing else in common go to one replica, or not."""
    router = vllm_server.router(kind, policy, pair, free_port())
    with running(router):
        kept = {header for header in HEADERS if await is_kept(router, header, pair)}
    assert kept == READ[kind, policy]


async def is_kept(router: Running, header: str, pair: list[Running]) -> bool:
    """Return whether requests with one value of *header* reach one replica only."""
    body = {"model": vllm_server.MODEL, "max_tokens": 1}
    before = [await metrics.total([replica.url]) for replica in pair]
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        headers = {header: secrets.token_hex(16)}
        for _ in range(N_REQUESTS):
            asked = {**body, "prompt": f"# {secrets.token_hex(32)}"}
            answer = await client.post(f"{router.url}/v1/completions", json=asked, headers=headers)
            assert answer.status_code == 200
    after = [await metrics.total([replica.url]) for replica in pair]
    return sum(a > b for a, b in zip(after, before, strict=True)) == 1


async def test_sglangs_gateway_needs_the_models_name(pair: list[Running]) -> None:
    """It lists a model called unknown; the message names the setting, and with it everything works."""
    router = vllm_server.router("sglang-router", "manual", pair, free_port())
    with running(router):
        backend = open_backend(BackendSettings("openai", router.url))
        with pytest.raises(BackendUnusable, match=r"fim\.backend\.model"):
            await backend.connect()
        await backend.aclose()
        settings = BackendSettings("openai", router.url, vllm_server.MODEL, context_tokens=4096)
        backend = open_backend(settings)
        state = (await backend.connect()).state
        assert (state.model, state.n_ctx) == (vllm_server.MODEL, 4096)
        await backend.aclose()


async def measured(name: str, pair: list[Running], n_clients: int = 1) -> Found:
    n_requests = 40 if n_clients == 1 else 10
    options = Namespace(keystrokes="", requests=n_requests, pace=1.0, patient=True)
    with cluster.front(ROWS[name], pair) as url:
        return await cluster.measure(ROWS[name], url, pair, n_clients, options)


@pytest.mark.parametrize("name", ["session", "sticky", "prefix", "smg-session", "smg-prefix"])
async def test_a_good_rule_costs_what_a_replica_of_ones_own_does(
    name: str, pair: list[Running]
) -> None:
    """Whether it reads a header or the beginnings of prompts."""
    assert_like_alone(await measured(name, pair))


async def test_round_robin_costs_several_times_as_much(pair: list[Running]) -> None:
    """Every other request finds half of what it needs."""
    found = await measured("round-robin", pair)
    assert sum(found.evaluated) > 1.5 * sum(found.own)


@pytest.mark.parametrize("n_clients", [16, 48])
async def test_many_at_once_cost_what_each_does_alone(n_clients: int, pair: list[Running]) -> None:
    """Each has one request under way at most, so a queue is never longer than there are users."""
    found = await measured("session", pair, n_clients)
    assert_like_alone(found)
    assert found.most_waiting <= n_clients


def assert_like_alone(found: Found) -> None:
    for share in (0.5, 0.95):
        assert at(found.evaluated, share) <= 1.5 * at(found.own, share)


@pytest.mark.skipif(not PROGRAMS, reason="needs Prometheus: scripts/tools/install-prometheus")
async def test_every_expression_has_a_value(pair: list[Running], tmp_path: Path) -> None:
    """Those of vLLM's dashboard and of its alerts, asked of a real Prometheus; while nothing is asked, two are 0 / 0."""
    addresses = {f"vllm-{n}:8000": replica.url[7:] for n, replica in enumerate(pair)}
    wanted = expressions("vllm") + compared("vllm:")
    with prometheus("vllm", {**addresses, "tls:443": "127.0.0.1:1"}, tmp_path) as watched:
        empty = wanted
        deadline = time.monotonic() + VALUES_S
        while empty and time.monotonic() < deadline:
            for replica in pair:
                await is_kept(replica, "X-Session-ID", [replica])
            values = {each: watched.ask(each) for each in wanted}
            empty = [
                each for each, found in values.items() if not found or any(map(math.isnan, found))
            ]
    assert empty == []

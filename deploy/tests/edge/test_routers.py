"""Real routers behind deploy/'s nginx: their control paths, which ask for no key, are out of reach."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deploy.tests.edge.nginx import KEY, LOGIN, PATIENCE_S, SERVER_KEY, Edge, edge
from deploy.tests.edge.spellings import absolute, spelled
from deploy.tests.edge.upstream import MODEL, N_CTX, Upstream, upstream
from deploy.tests.test_deploy import DEPLOY, read
from deploy.tests.vllm_server import Running, running
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover.endpoints import Endpoints
from server_bridge.http.api_key import Key
from server_bridge.protocol import BackendError, Request
from tests.llama_server import free_port
from tests.server_bridge.prompts import short

PYTHON = os.environ.get("FIM_TEST_ROUTERS", "")
STACK = os.environ.get(
    "FIM_TEST_STACK", ""
)  # a Python with production-stack's router, see scripts/test-edge
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="needs the routers: scripts/test-edge"),
    pytest.mark.promise("a-team-server"),
]

ADDRESS = "127.0.0.2"  # nginx listens on another one
ELSEWHERE = "127.0.0.3"
N_REQUESTS = 16
BODY = json.dumps({"model": MODEL, "prompt": "secret = 1"}).encode()

# From their help, their strings and their answers. {evil} is a server of the attacker's, {team} one of the team's.
CONTROL = {
    "vllm-router": """
        /add_worker?url={evil} /remove_worker?url={team} /list_workers /workers /workers/{team} /flush_cache /get_loads
        /get_server_info /get_model_info /health_generate /liveness /readiness /scheduling/diagnostics
        /finish_session?session_id=1 /generate /inference/v1/generate /rerank /v1/rerank /v1/chat/completions
        /v1/chat/completions/render /v1/completions/render /v1/embeddings /v1/responses /v1/responses/render
        /v1/responses/1 /v1/responses/1/cancel /v1/responses/1/input /metrics
        /tokenize /detokenize /invocations /v1/load_lora_adapter /sleep /wake_up /reset_prefix_cache /collective_rpc
        /start_profile /server_info /anything
    """,  # the last two lines are of vLLM: the router passes on what it does not know
    "sglang-router": """
        /workers /workers/1 /add_worker?url={evil} /flush_cache /get_loads /get_server_info /server_info /get_model_info
        /model_info /health_generate /liveness /readiness /engine_metrics /metrics /generate /rerank /v1/rerank
        /v1/classify /v1/chat/completions /v1/embeddings /v1/responses /v1/responses/1 /v1/responses/1/cancel
        /v1/responses/1/input_items /v1/conversations /v1/conversations/1 /v1/conversations/1/items
        /v1/conversations/1/items/1 /v1/tokenize /v1/detokenize /v1/tokenizers /v1/tokenizers/1
        /v1/tokenizers/1/status /parse/function_call /parse/reasoning /wasm /wasm/1 /ha/status /ha/health /ha/workers
        /ha/workers/1 /ha/policies /ha/policies/1 /ha/config/1 /ha/rate-limit /ha/rate-limit/stats /ha/shutdown
    """,
}
CONTROL["smg"] = (
    CONTROL["sglang-router"] + " /v1/loads /v1/messages /v1/interactions /v1/realtime /ready /live"
)
CONTROL["production-stack"] = """
    /sleep /sleep?id=1 /wake_up /is_sleeping /engines /version /metrics /docs /openapi.json /tokenize /detokenize /score
    /rerank /v1/score /v1/rerank /v1/chat/completions /v1/embeddings /v1/messages /v1/responses /v1/files /v1/files/1
    /v1/files/1/content /v1/batches /v1/batches/1 /v1/audio/transcriptions /v1/images/generations
"""  # all of its source (0.1.12); the last ones where its interface of batches is on


@dataclass(frozen=True)
class Cluster:
    """A team's router and its two workers, nginx before it, and a server of an attacker's."""

    router: Running
    front: Edge
    team: tuple[Upstream, Upstream]
    evil: Upstream

    @property
    def workers(self) -> set[str]:
        """Whom the router would send a completion to, by address; production-stack names numbers of its own."""
        if "vllm_router.app" in self.router.command:
            with urllib.request.urlopen(f"{self.router.url}/engines") as answer:
                return {each["engine_id"] for each in json.load(answer)}
        with urllib.request.urlopen(f"{self.router.url}/workers") as answer:
            return {each["url"] for each in json.load(answer)["workers"] if each["is_healthy"]}

    def paths(self, kind: str) -> list[str]:
        """Return the control paths with addresses in them."""
        return CONTROL[kind].format(evil=self.evil.url, team=self.team[0].url).split()

    def add_evil(self, ask: Any) -> None:
        """Every way to add a worker, through *ask*."""
        ask("POST", f"/add_worker?url={self.evil.url}", b"")
        ask("POST", "/workers", json.dumps({"url": self.evil.url}).encode())


@pytest.fixture(params=CONTROL)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "production-stack" and not STACK:
        pytest.skip("needs production-stack's router: FIM_TEST_STACK")
    return str(request.param)


@pytest.fixture
def cluster(kind: str, tmp_path: Path) -> Iterator[Cluster]:
    """Return everything started for one test."""
    with ExitStack() as stack:
        one, two, evil = (stack.enter_context(upstream()) for _ in range(3))
        router = _router(kind, [one.url, two.url])
        stack.enter_context(running(router))
        front = stack.enter_context(edge("vllm", router.url.removeprefix("http://"), tmp_path))
        found = Cluster(router, front, (one, two), evil)
        until(lambda: len(found.workers) == len(found.team))  # the gateway is ready before
        yield found


def _stack(*logic: str, workers: list[str]) -> Running:
    """Return production-stack's router, with replicas that it is told of."""
    options = [
        "--host", ADDRESS, "--port", str(port := free_port()), "--service-discovery", "static",
    ]  # fmt: skip
    options += ["--static-backends", ",".join(workers), "--static-models", ",".join([MODEL] * 2)]
    command = [STACK, "-m", "vllm_router.app", "--routing-logic", *logic, *options]
    return Running(command, f"http://{ADDRESS}:{port}")


def _router(kind: str, workers: list[str]) -> Running:
    """vllm-router and production-stack's as deploy/ starts them, the others as docs/scaling.md says; at addresses of this test."""
    if kind == "production-stack":
        values = read(DEPLOY / "vllm/values.yaml")["routerSpec"]
        return _stack(
            values["routingLogic"], "--session-key", values["sessionKey"], workers=workers
        )
    options = ["--host", ADDRESS, "--port", str(port := free_port())]
    options += ["--prometheus-host", ADDRESS, "--prometheus-port", str(free_port())]
    options += ["--worker-urls", *workers]
    if kind == "vllm-router":
        flags = shlex.split(read(DEPLOY / "vllm/compose.yaml")["services"]["router"]["command"])
        module, *own = "vllm_router.launch_router", *flags[1 : flags.index("--worker-urls")]
    elif kind == "smg":
        module, *own = "smg.launch_router", "--policy", "consistent_hashing"
        own += ["--routing-key-headers", "X-Session-ID"]
    else:
        module, *own = "sglang_router.launch_router", "--policy", "manual"
    return Running([PYTHON, "-m", module, *own, *options], f"http://{ADDRESS}:{port}")


def until(check: Callable[[], bool]) -> None:
    """Ask again and again; each time is a request, which takes its time."""
    deadline = time.monotonic() + PATIENCE_S
    while not check():
        assert time.monotonic() < deadline


def a_session() -> dict[str, str]:
    return {"X-Session-ID": secrets.token_hex(), "X-SMG-Routing-Key": secrets.token_hex()}


def test_no_control_path_answers(kind: str, cluster: Cluster) -> None:
    """With a key or without: 404; the workers are the team's, and so are the completions that follow."""
    workers = cluster.workers
    with closing(cluster.front.connection()) as connection:

        def refused(method: str, target: str, headers: dict[str, str], body: bytes = BODY) -> None:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status in {404, 400}, (method, target)

        for path in cluster.paths(kind):
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                refused(method, path, LOGIN)
                refused(method, path, {})
            for target in (*spelled(path), *absolute(path)):
                refused("POST", target, LOGIN)
        cluster.add_evil(lambda method, target, body: refused(method, target, LOGIN, body))
    assert cluster.workers == workers
    for _ in range(N_REQUESTS):
        obeyed = {"X-SMG-Target-Worker": cluster.evil.url}
        status, _ = cluster.front.ask("POST", "/v1/completions", LOGIN | a_session() | obeyed, BODY)
        assert status == 200
    assert not cluster.evil.seen
    assert sum(len(each.completions) for each in cluster.team) == N_REQUESTS


def test_the_workers_get_their_own_key(kind: str, cluster: Cluster) -> None:
    """And never an editor's, so that a worker that is not the team's could do nothing with it."""
    for target, body in [("/v1/models", None), ("/health", None), ("/v1/completions", BODY)]:
        assert cluster.front.ask("POST" if body else "GET", target, body=body)[0] == 200
    seen = [request for each in cluster.team for request in each.seen]
    assert KEY not in str(seen)
    [completion] = [request for each in cluster.team for request in each.completions]
    found = {name.lower(): value for name, value in completion.headers.items()}
    assert found["authorization"] == f"Bearer {SERVER_KEY}"


def test_a_session_stays_on_its_worker(kind: str, cluster: Cluster) -> None:
    """The header that the router reads comes through nginx, and is enough."""
    header = "X-SMG-Routing-Key" if kind == "sglang-router" else "X-Session-ID"
    session = {header: secrets.token_hex()}
    for _ in range(N_REQUESTS):
        cluster.front.ask("POST", "/v1/completions", LOGIN | session, BODY)
    assert sorted(len(each.completions) for each in cluster.team) == [0, N_REQUESTS]


CONTEXTS = {"vllm-router": N_CTX, "sglang-router": 4096, "smg": 4096, "production-stack": 4096}


async def test_the_context_that_a_router_tells(kind: str, cluster: Cluster, tmp_path: Path) -> None:
    """One that leaves out the replicas' context needs `fim.backend.contextTokens`, or 4,096 are used."""
    (tmp_path / "key").write_text(KEY, "utf-8")
    settings = BackendSettings(
        "openai", cluster.front.url, MODEL, key=Key(file=f"{tmp_path}/key"),
        ca_file=cluster.front.authority, template="qwen",
    )  # fmt: skip
    backend = open_backend(settings)
    assert (await backend.connect()).state.n_ctx == CONTEXTS[kind]
    await backend.aclose()


DEAD_S = 5.0  # for which one dead worker of two may stop anyone


@pytest.mark.parametrize("kind", ["vllm-router"], indirect=True)
async def test_a_dead_worker_stops_its_users_for_seconds(kind: str, cluster: Cluster, tmp_path):
    """Those whose session was there, and those who begin only then; with the router's health checks of deploy/."""
    (tmp_path / "key").write_text(KEY, "utf-8")
    before = _client(cluster.front, tmp_path)
    after = _client(cluster.front, tmp_path)
    assert await _is_served(before)
    [dead] = [each for each in cluster.team if each.completions]
    dead.stop()
    began = time.monotonic()
    while not await _is_served(before):
        assert time.monotonic() < began + DEAD_S
    while not await _is_served(after):
        assert time.monotonic() < began + 2 * DEAD_S
    await before.aclose()
    await after.aclose()


def _client(front: Edge, folder: Path) -> Endpoints:
    settings = BackendSettings(
        "openai", front.url, MODEL, key=Key(file=f"{folder}/key"), ca_file=front.authority, template="qwen",
        headers=(("X-Session-ID", secrets.token_hex()),), context_tokens=4096,
    )  # fmt: skip
    return open_backend(settings)


async def _is_served(backend: Endpoints) -> bool:
    try:
        async with aclosing(backend.stream(Request(short(), n_predict=4))) as replies:
            await anext(replies)
            return True
    except BackendError:
        await asyncio.sleep(0.1)
        return False


def test_a_router_listens_on_its_address_only(kind: str, cluster: Cluster) -> None:
    """Its paths and its metrics, with the flags of the deployment."""
    words = cluster.router.command[::-1]  # the last of two counts
    for option in {"--port", "--prometheus-port"} & {*words}:
        port = int(words[words.index(option) - 1])
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((ELSEWHERE, port))

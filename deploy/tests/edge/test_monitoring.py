"""Every expression of the dashboards and alerts, asked of a real Prometheus that watches real programs."""

from __future__ import annotations

import json
import math
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from deploy.tests.edge.nginx import SERVER_KEY, Edge, edge
from deploy.tests.edge.test_routers import PYTHON, _router
from deploy.tests.edge.upstream import Upstream, upstream
from deploy.tests.prometheus import PROGRAMS, Watched, program, prometheus
from deploy.tests.test_deploy import MONITORING, alerts, expressions
from deploy.tests.vllm_server import running
from tests.llama_server import free_port, llama_server
from tests.models import BUNDLED

pytestmark = [
    pytest.mark.edge,
    pytest.mark.skipif(not PROGRAMS, reason="needs Prometheus: scripts/test-edge"),
]
PATIENCE_S = 60.0
BODY = json.dumps({"model": "coder", "prompt": "def f", "n_predict": 8, "max_tokens": 8}).encode()


@contextmanager
def exporters(front: Edge) -> Iterator[dict[str, str]]:
    """Run those of nginx and of its certificate; yields their addresses by those of the deployment."""
    uri = f"--nginx.scrape-uri=http://127.0.0.1:{front.counts}/stub_status"
    config = f"--config.file={MONITORING}/blackbox.yaml"
    with (
        program("prometheus-nginx-exporter", free_port(), uri) as nginx,
        program("prometheus-blackbox-exporter", free_port(), config) as blackbox,
    ):
        own = f"127.0.0.1:{front.port}"
        yield {"nginx-exporter:9113": nginx, "blackbox:9115": blackbox, "tls:443": own}


def ask_until_known(watched: Watched, wanted: list[str], front: Edge, path: str) -> list[str]:
    """Send requests until each of *wanted* has a value; return those that have none."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for _ in range(5):
            front.ask("POST", path, body=BODY)
        values = {each: watched.ask(each) for each in wanted}
        empty = [each for each, found in values.items() if not found or any(map(math.isnan, found))]
        if not empty or time.monotonic() > deadline:
            return empty
        time.sleep(1)


def compared(kinds: str) -> list[str]:
    """Return the left sides of the alerts' comparisons whose series begin with one of *kinds*."""
    parts = [part for rule in alerts() for part in rule["expr"].split(" or ")]
    sides = [re.split(r" (?:==|<|>) ", part)[0] for part in parts]
    return [side for side in sides if re.search(rf"\b({kinds})", side)]


def test_llama_and_nginx(tmp_path: Path) -> None:
    """With a key, as in the deployment; no alert fires, and each could be computed."""
    (tmp_path / "server_key").write_text(SERVER_KEY, "utf-8")
    with ExitStack() as stack:
        settings = {"api_keys": [SERVER_KEY], "endpoint_metrics": True}
        url = stack.enter_context(llama_server(BUNDLED, **settings))
        front = stack.enter_context(edge("llama.cpp", url.removeprefix("http://"), tmp_path))
        found = stack.enter_context(exporters(front))
        found["llama-0:8012"] = url.removeprefix("http://")
        watched = stack.enter_context(prometheus("llama", found, tmp_path))
        wanted = expressions("llama") + expressions("nginx")
        wanted += compared("llamacpp:|up|nginx_up|probe_")
        assert ask_until_known(watched, wanted, front, "/completion") == []
        assert {state for state, _ in watched.rules().values()} == {"inactive"}
        assert {health for _, health in watched.rules().values()} == {"ok"}


@pytest.mark.skipif(not PYTHON, reason="needs the routers: scripts/test-edge")
def test_the_router(tmp_path: Path) -> None:
    """Real vllm-router before stand-ins; what fails is empty until a replica is dead, which an alert tells."""
    with ExitStack() as stack:
        workers = [stack.enter_context(upstream()) for _ in range(2)]
        router = _router("vllm-router", [each.url for each in workers])
        stack.enter_context(running(router))
        front = stack.enter_context(edge("vllm", router.url.removeprefix("http://"), tmp_path))
        found = stack.enter_context(exporters(front))
        words = router.command
        last = len(words) - 1 - words[::-1].index("--prometheus-port")
        host = words[len(words) - words[::-1].index("--prometheus-host")]
        found["router:29000"] = f"{host}:{words[last + 1]}"
        watched = stack.enter_context(prometheus("vllm", found, tmp_path))
        failures, *others = sorted(
            expressions("router"), key=lambda each: 'outcome="failure"' not in each
        )
        others += compared("vllm_router")
        assert ask_until_known(watched, others, front, "/v1/completions") == []
        assert watched.ask(failures) == []
        stop_while_asked(workers, router.url)
        assert ask_until_known(watched, [failures], front, "/v1/completions") == []
        deadline = time.monotonic() + PATIENCE_S
        while watched.rules()["ReplicaUnused"][0] == "inactive":
            assert time.monotonic() < deadline
            time.sleep(1)


def stop_while_asked(workers: list[Upstream], url: str) -> None:
    """End all workers at once; requests that the router has for them fail until it looks."""
    for worker in workers:
        worker.dead = True
    for worker in workers:
        for _ in range(4):
            asked = urllib.request.Request(
                f"{url}/v1/completions", BODY, {"Content-Type": "application/json"}
            )
            with suppress(OSError):
                urllib.request.urlopen(asked, timeout=PATIENCE_S).close()
        worker.stop()

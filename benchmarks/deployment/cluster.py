r"""
What routing costs on a real cluster: typists on two vLLM replicas behind real routers.

    FIM_TEST_VLLM=$(sh scripts/tools/install-vllm) python -m benchmarks.deployment.cluster                # one typist, each router
    … python -m benchmarks.deployment.cluster --clients 16,48 --rows session,prefix --requests 30   # many at once

Every client types in files of its own (`benchmarks.deployment.load`) and has a session header of its own. Each row begins with
nothing evaluated: it has a cache salt that no other has, and a router started for it. Token counts are vLLM's: a
stream that the client closes is read to its end here, for only the end tells them. So a closed stream costs the
replica up to a line more of decoding than it does at work; what is evaluated of prompts is the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

import httpx

from benchmarks import arguments, metrics
from benchmarks.clients import Ours, replay
from benchmarks.deployment.load import N_PREDICT, PACE, person
from benchmarks.deployment.wire import Blocks, Call, Wire
from benchmarks.figures import at
from benchmarks.progress import tell
from benchmarks.traces import Trace
from deploy.tests import vllm_server
from deploy.tests.vllm_server import Running
from fim_lsp.session.session import Session
from fim_lsp.settings.merge import make_config
from server_bridge.http.client import Tags
from server_bridge.http.responses import Object
from server_bridge.openai.backend import OpenAiServer
from tests.llama_server import free_port

N_CTX = 4096  # of the bundled model
BLOCK = 32  # tokens; vLLM's smallest on a CPU
TOKENIZE_S = 60.0
LOOK_S = 0.5  # between two looks at the queues


class Row(NamedTuple):
    """A way to the replicas: *kind* of router ("" for none), its *policy*, the session header."""

    kind: str
    policy: str
    header: str = ""


ROWS = {
    "alone": Row("", "one replica, no router"),
    "session": Row("vllm-router", "consistent_hash", "X-Session-ID"),
    "no-session": Row("vllm-router", "consistent_hash"),
    "sticky": Row("vllm-router", "sticky_least_loaded", "X-Session-ID"),
    "prefix": Row("vllm-router", "cache_aware"),
    "round-robin": Row("vllm-router", "round_robin"),
    "smg-session": Row("sglang-router", "manual", "X-SMG-Routing-Key"),
    "smg-no-session": Row("sglang-router", "manual"),
    "smg-prefix": Row("sglang-router", "cache_aware"),
    "smg-load": Row("sglang-router", "power_of_two"),
    "smg-round-robin": Row("sglang-router", "round_robin"),
}


class Found(NamedTuple):
    """
    Of one row: evaluated tokens per completion that was waited for, what they would be on a replica of the
    client's *own*, and per such those evaluated *ahead*.
    """

    evaluated: list[int]
    own: list[int]
    ahead: float
    cached: float  # share of all prompt tokens
    most_waiting: int  # requests that a replica had not begun, at most


class ToTheEnd(Wire):
    """
    A wire that reads streams to their end, also those that its client closes, and notes their texts.
    """

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """See `Wire`."""
        n_calls = len(self.calls)
        answer = ""
        try:
            async with aclosing(super().stream(path, body)) as events:
                try:
                    async for event in events:
                        answer += _text(event)
                        yield event
                except GeneratorExit:
                    async for event in events:
                        answer += _text(event)
                    raise
        finally:
            if len(self.calls) > n_calls:
                self.texts.append((json.loads(body)["prompt"], answer))


def _text(event: Object) -> str:
    return "".join(choice["text"] for choice in event.get("choices", ()))


def main() -> None:
    """Measure, print, write."""
    options = _options()
    if not vllm_server.PYTHON:
        raise SystemExit(
            "no vLLM: put FIM_TEST_VLLM=$(sh scripts/tools/install-vllm) before the command"
        )
    print(HEAD, flush=True)
    with replicas(2) as pair:
        rows = [*product(options.rows.split(","), map(int, options.clients.split(",")))]
        for name, n_clients in tell(rows, len(rows), lambda row: f"{row[1]} × {row[0]}"):
            with front(ROWS[name], pair) as url:
                outcome = asyncio.run(measure(ROWS[name], url, pair, n_clients, options))
            print(line(ROWS[name], n_clients, outcome), flush=True)


@contextmanager
def replicas(n: int, block: int = BLOCK) -> Iterator[list[Running]]:
    """So many replicas with the bundled model."""
    servers = [vllm_server.replica(free_port(), block=block) for _ in range(n)]
    with vllm_server.running(*servers):
        yield servers


@contextmanager
def front(row: Row, pair: Sequence[Running]) -> Iterator[str]:
    """The address that clients use: a new router's, or that of the first replica."""
    if not row.kind:
        yield pair[0].url
        return
    router = vllm_server.router(row.kind, row.policy, pair, free_port())
    with vllm_server.running(router):
        yield router.url


async def measure(
    row: Row, url: str, pair: Sequence[Running], n_clients: int, options: argparse.Namespace
) -> Found:
    """Return all clients at once, on replicas that have evaluated nothing for them."""
    salt = secrets.token_hex(16)
    urls = [replica.url for replica in pair]
    wires = []
    for _ in range(n_clients):
        headers = {row.header: secrets.token_hex(16)} if row.header else {}
        wires.append(ToTheEnd(url, Tags(headers, {"cache_salt": salt})))
    ended = asyncio.Event()
    watch = asyncio.create_task(_most_waiting(urls, ended))
    await asyncio.gather(*(_one(n, wire, options) for n, wire in enumerate(wires)))
    ended.set()
    calls = [(n, call) for n, wire in enumerate(wires) for call in wire.calls]
    return _count_load(calls, await watch, await _own(wires, pair))


async def _own(wires: Sequence[ToTheEnd], pair: Sequence[Running]) -> list[int]:
    """Return what each of these requests evaluates where its client has a replica of its own."""
    own = list[int]()
    async with httpx.AsyncClient(trust_env=False, timeout=TOKENIZE_S) as client:

        async def ids(text: str) -> list[int]:
            question = {"model": vllm_server.MODEL, "prompt": text, "add_special_tokens": False}
            answer = await client.post(f"{pair[0].url}/tokenize", json=question)
            return list(answer.json()["tokens"])

        for wire in wires:
            replica = Blocks(BLOCK)
            own += [
                replica.evaluate(await ids(prompt), await ids(answer))
                for prompt, answer in wire.texts
            ]
    return own


def _count_load(calls: Sequence[tuple[int, Call]], waiting: int, own: Sequence[int]) -> Found:
    total = max(1, sum(call.evaluated for _, call in calls))
    reused = sum(call.cached for _, call in calls)
    evaluated = _by_request(calls, [call.evaluated for _, call in calls])
    ahead = sum(call.evaluated for _, call in calls if call.background) / max(1, len(evaluated))
    share = reused / (total + reused)
    return Found(evaluated, _by_request(calls, own), ahead, share, waiting)


def _by_request(calls: Sequence[tuple[int, Call]], tokens: Sequence[int]) -> list[int]:
    """Return the tokens of each client's requests that were waited for, in all of the calls that each took."""
    sums: dict[tuple[int, int], int] = {}
    for (client, call), n in zip(calls, tokens, strict=True):
        if not call.background:
            sums[client, call.request] = sums.get((client, call.request), 0) + n
    return [*sums.values()]


async def _one(n: int, wire: Wire, options: argparse.Namespace) -> None:
    """One client on its trace."""
    server = OpenAiServer(wire, vllm_server.MODEL, n_ctx=N_CTX)
    await server.connect()
    session = Session(make_config({"completion.maxTokens": N_PREDICT}), lambda _: server)
    trace = person(n, options)
    await replay(Trace(trace.name, trace.steps, paced=not options.patient), Ours(session))
    await session.aclose()


async def _most_waiting(urls: Sequence[str], ended: asyncio.Event) -> int:
    """Return how many requests waited at a replica at most, until all is *ended*."""
    most = 0
    while not ended.is_set():
        for url in urls:
            most = max(most, await _waiting(url))
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended.wait(), LOOK_S)
    return most


async def _waiting(url: str) -> int:
    """Return how many requests the vLLM at *url* has not begun."""
    async with httpx.AsyncClient(trust_env=False) as client:
        samples = metrics.SAMPLE.findall((await client.get(f"{url}/metrics")).text)
    return sum(int(float(value)) for name, value in samples if name == "vllm:num_requests_waiting")


HEAD = """\
| router | policy | header | clients | tokens p50 | p95 | mean | on one's own | ahead | cached | waiting at most |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def line(row: Row, n_clients: int, outcome: Found) -> str:
    """Return a row of the table."""
    tokens = outcome.evaluated
    cells = [
        row.kind or "none", row.policy, row.header or "none", str(n_clients), f"{at(tokens, 0.5):.0f}",
        f"{at(tokens, 0.95):.0f}", f"{sum(tokens) / max(1, len(tokens)):.0f}",
        ", ".join(f"{at(outcome.own, share):.0f}" for share in (0.5, 0.95)), f"{outcome.ahead:.0f}",
        f"{outcome.cached:.1%}", str(outcome.most_waiting),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.deployment.cluster", __doc__)
    add = parser.add_argument
    add("--rows", default=",".join(ROWS), help=", ".join(ROWS))
    add("--clients", default="1", help="how many at once, one row each")
    add("--requests", type=int, default=100, help="of each client's editor")
    add("--keystrokes", type=Path, metavar="FILE", help="what each types (benchmarks/traces.py)")
    add("--pace", type=float, default=PACE, help="times slower than a fast typist without pauses")
    add(
        "--patient",
        action="store_true",
        help="each key waits for its answer, and pauses for all work ahead",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()

r"""
Many clients on one llama.cpp: any number of them type at once, each in files of its own.

    python -m benchmarks.load                               # 1 and 16 clients, 4 slots, the bundled model
    python -m benchmarks.load --clients 16 --kinds ours --requests 60 --pace 8
    python -m benchmarks.load --url http://127.0.0.1:8012   # your own; restart it between two kinds

Prints, per kind of client and number of clients, the tokens evaluated in the foreground and the times. All clients are in this process and have a connection each; a client's
waiting time includes the others' requests. Tokens depend on the order in which requests come, so
they vary a little from run to run; times are of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks import arguments
from benchmarks.clients import Answer, Client, Ours, Peer, replay
from benchmarks.figures import Row, row, table
from benchmarks.serve import BUNDLED, N_CTX, serving
from benchmarks.traces import NEIGHBOURS, Trace, mix
from benchmarks.wire import Call, Wire
from fim_lsp import events
from fim_lsp.events import Event
from fim_lsp.session.session import Session
from fim_lsp.settings.merge import make_config
from server_bridge.llama.backend import LlamaServer

OURS = "ours"
N_SLOTS = 4
N_PREDICT = 16  # tokens to decode at most, for every client: about a line
REQUESTS = 100  # of each editor: 20 seconds of typing
# Times slower than the fast typist of the traces, who types without pauses: sixteen of those would
# request 80 completions a second from a machine with two cores. People at work type a quarter of the time.
PACE = 4.0


def main() -> None:
    """Measure, print, write."""
    options = _options()
    rows = []
    for kind in options.kinds.split(","):
        for n_clients in map(int, options.clients.split(",")):
            with _server(options) as url:
                rows.append(asyncio.run(_measure(kind, n_clients, url, options)))
            print(table(rows[-1:]), rows[-1].ends, rows[-1].mirror, flush=True)


def person(n: int, n_requests: int, pace: float) -> Trace:
    """Return the mix of user *n*: two files, a pace and a folder that no other user has."""
    files = NEIGHBOURS[n % len(NEIGHBOURS)], NEIGHBOURS[(n + 3) % len(NEIGHBOURS)]
    trace = mix(n_requests, seed=100 + n, files=files)
    steps = []
    for step in trace.steps:
        moved = tuple(_moved(event, n) for event in step.events)
        steps.append(
            step._replace(uri=_moved_uri(step.uri, n), events=moved, wait_ms=step.wait_ms * pace)
        )
    return Trace(trace.name, steps, trace.paced)


def _moved(event: Event, n: int) -> Event:
    """Return an event of the trace, all of which are about one document."""
    assert isinstance(event, events.Opened | events.InDocument), event
    return event._replace(uri=_moved_uri(event.uri, n))


def _moved_uri(uri: str, n: int) -> str:
    return uri.replace("/demo/", f"/project{n}/")


async def _measure(kind: str, n_clients: int, url: str, options: argparse.Namespace) -> Row:
    """Return all of them at once, as one row."""
    traces = [person(n, options.requests, options.pace) for n in range(n_clients)]
    wires = [Wire(url) for _ in traces]
    for wire in wires:
        await wire.get("/health")
    runs = [_one(kind, trace, wire) for trace, wire in zip(traces, wires, strict=True)]
    results = await asyncio.gather(*runs)
    everything = Trace(f"{n_clients} clients", [step for trace in traces for step in trace.steps])
    calls: list[Call] = []
    answers: list[Answer] = []
    offset, mirror = 0, Counter[str]()
    for trace, wire, (found, about) in zip(traces, wires, results, strict=True):
        calls += [call._replace(request=call.request + offset) for call in wire.calls]
        answers += [answer._replace(step=answer.step + offset) for answer in found]
        offset += len(trace.steps)
        mirror += about
        await wire.aclose()
    calls.sort(key=lambda call: call.started)
    return row(
        everything, f"{n_clients} x {kind}", calls, answers, n_posts=sum(w.counts["posts"] for w in wires),
        server_total=0, mirror=mirror,
    )  # fmt: skip


async def _one(kind: str, trace: Trace, wire: Wire) -> tuple[list[Answer], Counter[str]]:
    """One client on its trace: its answers, and how many of its predictions were right."""
    if kind != OURS:
        peer: Client = Peer(wire, (), N_PREDICT)
        return await replay(trace, peer), Counter()
    server = LlamaServer(wire)
    await server.connect()
    session = Session(make_config({"completion.maxTokens": N_PREDICT}), lambda _: server)
    answers = await replay(trace, Ours(session))
    about = session.stats()["mirror"]
    await session.aclose()
    assert isinstance(about, dict)
    return answers, Counter(right=about["right"], wrong=about["wrong"])


@contextlib.contextmanager
def _server(options: argparse.Namespace) -> Iterator[str]:
    """The user's server, or one with as many slots as asked for."""
    if options.url:
        yield options.url
        return
    n = options.slots
    with serving(options.model, n_parallel=n, n_ctx=n * N_CTX, kv_unified=options.unified) as url:
        yield url


def _options() -> argparse.Namespace:
    parser = arguments.parser("load", __doc__)
    add = parser.add_argument
    add("--clients", default="1,16", help="how many at once, one row each")
    add("--kinds", default=f"{OURS},llama.vim", help="clients, separated by commas")
    add("--requests", type=int, default=REQUESTS, help="of each client's editor")
    add("--pace", type=float, default=PACE, help="times slower than a fast typist without pauses")
    add("--slots", type=int, default=N_SLOTS, help="of the server")
    add("--unified", action="store_true", help="all slots share one cache, as with -np auto")
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--url", help="measure on a server that runs already")
    return parser.parse_args()


if __name__ == "__main__":
    main()

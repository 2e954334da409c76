r"""
Many typists on one server or cluster: each types at its own pace in files of its own.

    python -m benchmarks.deployment.load                               # 1 and 16 clients, 4 slots, the bundled model
    python -m benchmarks.deployment.load --clients 16 --clients-of ours --requests 60 --pace 8
    python -m benchmarks.deployment.load --url http://127.0.0.1:8012   # your own; restart it between two rows
    python -m benchmarks.deployment.load --kind openai --url https://llm.example.org --served-model NAME --ca-file CA \
        --keys keys.txt --session-header X-Session-ID --clients 6,12,24 --clients-of ours \
        --metrics http://vllm-0:8000,http://vllm-1:8000     # a team's cluster
    python -m benchmarks.deployment.load --keystrokes FILE             # what was recorded (benchmarks/traces.py has the format)

Prints, per kind of client and number of clients, the prompt tokens that the servers of --metrics evaluated by their own
count, ahead of keys or for them, and what typists waited. --keys has a line `name key` for each typist, as deploy/
has. Tokens depend on the order in which requests come, so they vary a little; times are of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks import arguments, traces
from benchmarks.clients import Answer, Client, Ours, Peer, replay
from benchmarks.deployment.wire import Wire
from benchmarks.figures import at
from benchmarks.keystrokes import OPENAI
from benchmarks.metrics import UNKNOWN, total
from benchmarks.progress import tell
from benchmarks.serve import BUNDLED, N_CTX, serving
from benchmarks.traces import TYPISTS, Trace
from fim_lsp import events
from fim_lsp.events import Event
from fim_lsp.session.session import Session
from fim_lsp.settings.merge import make_config
from server_bridge.http.client import Tags, Trust
from server_bridge.llama.backend import LlamaServer
from server_bridge.openai.backend import OpenAiServer
from server_bridge.protocol import BackendError
from tests.places import place

OURS = "ours"
N_SLOTS = 4
N_PREDICT = 16  # tokens to decode at most, for every client: about a line
REQUESTS = 100  # of each editor: 20 seconds of typing
# Times slower than the fast typist of the traces, who types without pauses: sixteen of those would
# request 80 completions a second from a machine with two cores. People at work type a quarter of the time.
PACE = 4.0


class Load(NamedTuple):
    """All typists of a row: their keys and answers, requests sent, and prompt tokens evaluated."""

    n_keys: int
    answers: list[Answer]
    n_requests: int
    evaluated: int


def main() -> None:
    """Measure, print."""
    options = _options()
    print(HEAD)
    rows = [*product(options.clients_of, map(int, options.clients.split(",")))]
    for kind, n_clients in tell(rows, len(rows), lambda row: f"{row[1]} × {row[0]}"):
        with _server(options) as url:
            load = asyncio.run(_measure(kind, n_clients, url, options))
        print(_line(kind, n_clients, load), flush=True)


def person(n: int, options: argparse.Namespace) -> Trace:
    """Return what typist *n* does: two files, a pace and a folder that no other has, or what was recorded."""
    file = options.keystrokes
    trace = traces.read(file) if file else traces.load(f"typist{n % TYPISTS}").cut(options.requests)
    steps = [
        step._replace(
            uri=_move_uri(step.uri, n),
            events=tuple(_move(event, n) for event in step.events),
            wait_ms=step.wait_ms * options.pace,
        )
        for step in trace.steps
    ]
    return Trace(trace.name, steps, trace.paced)


def _move(event: Event, n: int) -> Event:
    """Return an event of the trace, all of which are about one document."""
    assert isinstance(event, events.Opened | events.InDocument), event
    return event._replace(uri=_move_uri(event.uri, n))


def _move_uri(uri: str, n: int) -> str:
    return f"{place('typists', str(n), 'demo')}/{uri.rpartition('/')[2]}"


async def _measure(kind: str, n_clients: int, url: str, options: argparse.Namespace) -> Load:
    """Return all of them at once."""
    traces = [person(n, options) for n in range(n_clients)]
    wires = [_wire(n, url, options) for n in range(n_clients)]
    servers = options.metrics or [url]
    before = await total(servers)
    runs = [_one(kind, *both, options) for both in zip(traces, wires, strict=True)]
    answers = [answer for some in await asyncio.gather(*runs) for answer in some]
    after = await total(servers)
    for wire in wires:
        await wire.aclose()
    n_requests = sum(wire.counts["posts"] for wire in wires)
    evaluated = UNKNOWN if UNKNOWN in (before, after) else after - before
    return Load(sum(trace.n_keys for trace in traces), answers, n_requests, evaluated)


def _wire(n: int, url: str, options: argparse.Namespace) -> Wire:
    """Return the connection of typist *n*, with a session and a key of its own."""
    header = options.session_header
    tags = Tags({header: secrets.token_hex(16)} if header else {})

    async def key() -> str:
        return str(options.keys[n % len(options.keys)]) if options.keys else ""

    return Wire(url, tags, key=key, trust=Trust(options.ca_file))


async def _one(kind: str, trace: Trace, wire: Wire, options: argparse.Namespace) -> list[Answer]:
    """Return the answers of one client on its trace."""
    if kind != OURS:
        await wire.get("/health")
        peer: Client = Peer(wire, (), N_PREDICT)
        return await replay(trace, peer)
    is_openai = options.kind == OPENAI
    server = OpenAiServer(wire, options.served_model) if is_openai else LlamaServer(wire)
    with contextlib.suppress(BackendError):  # the session tries again
        await server.connect()
    session = Session(make_config({"completion.maxTokens": N_PREDICT}), lambda _: server)
    answers = await replay(trace, Ours(session))
    await session.aclose()
    return answers


@contextlib.contextmanager
def _server(options: argparse.Namespace) -> Iterator[str]:
    """The user's server, or one with as many slots as asked for."""
    if options.url:
        yield options.url
        return
    n = options.slots
    with serving(options.model, n_parallel=n, n_ctx=n * N_CTX, kv_unified=options.unified) as url:
        yield url


HEAD = """\
| typists | client | keys | requests | tokens evaluated per request | per key | shown | waited, ms p50 | p95 |
| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def _line(kind: str, n_clients: int, load: Load) -> str:
    """Return a row of the table; typists waited for the answers that no newer key overtook."""
    ends = Counter(answer.how for answer in load.answers)
    waited = [answer.ms for answer in load.answers if answer.how in ("shown", "empty")]
    known = load.evaluated != UNKNOWN
    figures: Sequence[str] = [
        f"{load.evaluated / max(1, load.n_requests):.1f}" if known else "?",
        f"{load.evaluated / load.n_keys:.1f}" if known else "?",
        f"{ends['shown'] / len(load.answers):.0%}",
        *(f"{at(waited, share):.0f}" for share in (0.5, 0.95)),
    ]
    cells = [str(n_clients), kind, str(load.n_keys), str(load.n_requests), *figures]
    return "| " + " | ".join(cells) + " |"


def _keys(path: str) -> list[str]:
    """Return the keys of a file as deploy/ has it."""
    lines = (line.split() for line in Path(path).read_text("utf-8").splitlines())
    return [words[1] for words in lines if len(words) > 1 and not words[0].startswith("#")]


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.deployment.load", __doc__)
    add = parser.add_argument
    everyone = [OURS, "llama.vim"]
    add("--clients", default="1,16", help="how many at once, one row each")
    add("--clients-of", type=arguments.names(everyone), default=everyone, help="kinds of client")
    add("--requests", type=int, default=REQUESTS, help="of each client's editor")
    add("--pace", type=float, default=PACE, help="times slower than a fast typist without pauses")
    add("--keystrokes", type=Path, metavar="FILE", help="what each types, recorded")
    add("--slots", type=int, default=N_SLOTS, help="of the server")
    add("--unified", action="store_true", help="all slots share one cache, as with -np auto")
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add(
        "--kind",
        choices=["llama-server", OPENAI],
        default="llama-server",
        help="what runs at --url",
    )
    add("--url", help="measure on a server that runs already")
    add("--served-model", default="", help="its name there")
    add(
        "--metrics",
        type=lambda text: text.split(","),
        help="servers behind --url, for their counts",
    )
    add("--session-header", default="", help="the header that a router reads")
    add("--keys", type=_keys, default=[], metavar="FILE", help="a line `name key` for each client")
    add(
        "--ca-file",
        default="",
        metavar="FILE",
        help="certificates that count besides the usual ones",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()

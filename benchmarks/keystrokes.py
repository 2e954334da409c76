r"""
What a keystroke costs the model server: every trace through every client on the same llama.cpp.

    python -m benchmarks.keystrokes                       # the bundled model; about half an hour
    python -m benchmarks.keystrokes --clients ours,llama.vim --traces straight,jumps
    python -m benchmarks.keystrokes --model mid.gguf --limit 60     # wall times that resemble a GPU's
    python tests/models.py large.gguf tiny 32768 && python -m benchmarks.keystrokes \
        --model large.gguf --ring --traces mix                      # a full ring: 16 chunks of 64 lines
    python -m benchmarks.keystrokes --url http://127.0.0.1:8012     # your own, with --slot-save-path
    python -m benchmarks.keystrokes --kind openai --url http://127.0.0.1:8080 --clients ours  # vLLM, mlx_lm.server …
    python -m benchmarks.keystrokes --kind openai --url ROUTER --metrics REPLICA,REPLICA --clients ours

Prints a table per trace and writes the raw numbers to --out. The server is
started again for each row, because it keeps what erased slots held in its own memory. A server that
runs already (--url) does, too: measure one row at a time with it where rows send the same prompts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import platform
import sys
from dataclasses import asdict
from itertools import product
from pathlib import Path

from benchmarks import arguments
from benchmarks.clients import Answer, Client, Ours, Peer, replay
from benchmarks.deployment.wire import Wire
from benchmarks.figures import Row, row, table
from benchmarks.metrics import Metered, total
from benchmarks.progress import tell
from benchmarks.serve import BUNDLED, N_BATCH, N_SLOTS, serving
from benchmarks.traces import TRACES, Trace, full_ring, load, neighbours
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config
from fim_lsp.settings.merge import make_config
from server_bridge.bridge import SESSION
from server_bridge.http.client import UNTAGGED, Tags
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.checkpoints import CLOSE_STEP
from server_bridge.llama.own import Own
from server_bridge.openai.backend import OpenAiServer
from server_bridge.process import sizing

OURS = "ours"
LLAMA_VIM = "llama.vim"
OPENAI = "openai"
N_PREDICT = 16  # tokens to decode at most, for every client: about a line, so that decoding does not hide prefill


def main() -> None:
    """Measure, print, write."""
    options = _options()
    rows: list[Row] = []
    plays = [*product(options.traces, options.clients)]
    for name, client in tell(plays, len(plays), ", ".join):
        trace = load(name).cut(options.limit)
        with _server(options) as url:
            rows.append(asyncio.run(_measure(trace, client, url, options)))
        print(table(rows[-1:]), _worst(rows[-1]), sep="\n", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    about = {"python": platform.python_version(), "model": options.model.name}
    document = json.dumps({**about, "rows": [*map(asdict, rows)]})
    (options.out / "keystrokes.json").write_text(document, "utf-8")
    print(table(rows))


async def _measure(trace: Trace, client: str, url: str, options: argparse.Namespace) -> Row:
    """One client on one trace, from empty slots."""
    servers = options.metrics or [url]
    tags = Tags({options.session_header: SESSION}) if options.session_header else UNTAGGED
    wire = Metered(url, servers, tags) if options.kind == OPENAI else Wire(url)
    if options.kind != OPENAI:
        await wire.get("/health")
        await wire.forget()
    before = await total(servers)
    if client == OURS:
        answers, mirror = await _ours(trace, wire, options)
    else:
        ring = full_ring() if options.ring else ()
        peer: Client = Peer(wire, ring, options.n_predict)
        answers = await replay(trace, peer)
        mirror = {}
    n_posts = wire.counts["posts"]
    n_evaluated = await total(servers) - before
    await wire.aclose()
    return row(
        trace, client, wire.calls, answers, n_posts=n_posts, server_total=n_evaluated, mirror=mirror,
    )  # fmt: skip


async def _ours(
    trace: Trace, wire: Wire, options: argparse.Namespace
) -> tuple[list[Answer], dict[str, int]]:
    is_openai = options.kind == OPENAI
    server = OpenAiServer(wire, options.served_model) if is_openai else _llama(wire, options)
    await server.connect()
    session = Session(_config(trace, options), lambda _: server)
    if options.ring:
        for event in neighbours():
            session.handle(event)
    answers = await replay(trace, Ours(session))
    stats = session.stats()
    await session.aclose()
    return answers, stats["mirror"]  # type: ignore[return-value]


def _llama(wire: Wire, options: argparse.Namespace) -> LlamaServer:
    """Return the server as an attached one, or as one of our own."""
    if not options.own:
        return LlamaServer(wire)
    facts = sizing.read_facts(options.model)
    memory = sizing.memory_of(facts, N_BATCH, N_SLOTS, sizing.physical())
    return LlamaServer(wire, own=Own("benchmark", memory))


def _config(trace: Trace, options: argparse.Namespace) -> Config:
    unpaced = {} if trace.paced else {"completion.debounceMs": 0}  # no next key to wait for
    return make_config({"completion.maxTokens": options.n_predict, **unpaced})


def _server(options: argparse.Namespace) -> contextlib.AbstractContextManager[str]:
    if options.url:
        return contextlib.nullcontext(options.url)
    flags: dict[str, object] = {}
    if options.own:
        copies = sizing.checkpoints(sizing.read_facts(options.model), N_SLOTS, sizing.physical())
        flags |= {"swa_full": True, "n_ctx_checkpoints": copies, "checkpoint_min_step": CLOSE_STEP}
    return serving(options.model, **flags)


def _worst(one: Row) -> str:
    """Return where the tokens went."""
    after = one.after_jumps
    return (
        f"first request after a jump: mean {sum(after) / max(1, len(after)):.0f}, "
        f"at most {max(after, default=0)} tokens; mirror: {one.mirror}"
    )


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.keystrokes", __doc__)
    add = parser.add_argument
    everyone = [OURS, LLAMA_VIM]
    add("--clients", type=arguments.names(everyone), default=everyone, help=", ".join(everyone))
    add("--traces", type=arguments.names(TRACES), default=list(TRACES), help=", ".join(TRACES))
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--url", help="measure on a server that runs already")
    add(
        "--metrics",
        type=lambda text: text.split(","),
        help="the replicas behind --url, for their counters",
    )
    add("--served-model", default="", help="its name, where --url does not tell (SGLang's gateway)")
    add("--session-header", default="", help="the setting of that name, for a router")
    add("--kind", choices=["llama-server", OPENAI], default="llama-server", help="what it is")
    add("--own", action="store_true", help="with the flags of fim-lsp serve, for us alone")
    add("--limit", type=int, default=sys.maxsize, help="at most so many requests of each trace")
    add("--n-predict", type=int, default=N_PREDICT, help="tokens per completion")
    add("--out", type=Path, default=Path("benchmarks/results"), help="where to write the results")
    add("--ring", action="store_true", help="files are open that fill the ring")
    return parser.parse_args()


if __name__ == "__main__":
    main()

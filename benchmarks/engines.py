"""
The embedded engine beside a llama-server, with and without drafts, by number of threads.

    export FIM_TEST_LLAMA_SERVER=$(sh scripts/install-llama-server)
    python -m benchmarks.engines --model qwen.gguf --threads 1 2
    python -m benchmarks.engines --model qwen.gguf --threads 2 --long-spins     # as libgomp does by default
    python -m benchmarks.engines --model qwen.gguf --threads 2 --servers engine "engine without repacked weights" --chars 32
    python -m benchmarks.engines --model big.gguf --servers llama-server --drafts --draft small.gguf ~/src/shop

All servers run at the same time, as `fim-lsp serve` starts them, and are asked in turn, in an order that changes, each
time for a prompt that none has seen: other work on the machine slows down all of them. A figure is the median over the
places of a speed relative to that of the first server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks import arguments
from benchmarks.layouts import OURS, Trial, prompt_at, trials
from benchmarks.serve import serving
from fim_lsp.prompt.window import Budget
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.process import programs, supervisor
from server_bridge.process.command_line import Machine
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import Model, Request, Timings
from tests.server_bridge.serving import served

ENGINE, SERVER, LOOSE = "engine", "llama-server", "engine without repacked weights"
NGRAMS, DRAFT, CHAIN = "n-grams", "draft model", "both"
N_PLACES = 12
PATIENCE_S = 300.0
N_CHARS = 500  # of a prompt, about 130 tokens
N_CTX = 4096
MEMORY = 4 << 30  # bytes that each server is given, so that several fit


class Written(NamedTuple):
    """What a server wrote at one place, and what that cost."""

    text: str
    cost: Timings


Rows = dict[str, list[Written]]


def main() -> None:
    """Measure, print, write."""
    options = _options()
    where = trials([path.resolve() for path in options.paths], options.places)
    written = asyncio.run(measure(options, where))
    print(table(written))
    if options.json:
        rows = {
            name: [[answer.text, *astuple(answer.cost)] for answer in mine]
            for name, mine in written.items()
        }
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")


async def measure(options: argparse.Namespace, where: Sequence[Trial]) -> Rows:
    """Return what each server wrote at all places."""
    async with AsyncExitStack() as running:
        servers: dict[str, Model] = {}

        async def start_engine(name: str, n_threads: int) -> None:
            ours = Embedded(EmbeddedSettings(model=options.model, n_threads=n_threads, n_ctx=N_CTX))
            running.push_async_callback(ours.aclose)
            servers[name] = await ours.connect()

        for n in options.threads:
            if ENGINE in options.servers:
                await start_engine(f"{ENGINE}, {n}", n)
            if LOOSE in options.servers:
                flags = {"n_threads": n, "no_extra_bufts": True}
                url = running.enter_context(serving(Path(options.model), **flags))
                servers[f"{LOOSE}, {n}"] = LlamaServer(Http(url, patience_s=PATIENCE_S))
            if options.long_spins:
                with patch.object(supervisor, "SPINS", {}):
                    await start_engine(f"{ENGINE}, {n}, long spins", n)
            for kind, wishes in kinds(options).items():
                folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
                server = served(folder, with_threads(n), model=options.model, **wishes)
                servers[f"{kind}, {n}"] = await running.enter_async_context(server)
        written: Rows = {name: [] for name in servers}
        window = Budget(options.chars * 3 // 5, options.chars // 5, options.chars // 5)
        for k, trial in enumerate(where):
            request = Request(prompt_at(window, trial), options.tokens)
            for name in [*servers][k % len(servers) :] + [*servers][: k % len(servers)]:
                reply = await servers[name].complete(request)
                written[name].append(Written(reply.text, reply.timings))
    return written


def kinds(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return which llama-servers are compared, and what of a plan makes each."""
    wishes: dict[str, dict[str, Any]] = {}
    if SERVER in options.servers:
        wishes[SERVER] = {"speculate": False}
    if options.drafts:
        wishes[NGRAMS] = {"speculate": True}
    if options.draft:
        wishes[DRAFT] = {"speculate": False, "draft": options.draft}
        wishes[CHAIN] = {"speculate": True, "draft": options.draft}
    return wishes


def with_threads(n: int) -> Machine:
    """Return a machine on which `fim-lsp serve` takes *n* threads, and little memory."""
    return programs.machine(None)._replace(cores=1 if n == 1 else 2 * n, memory=MEMORY)


def table(written: Rows) -> str:
    """Return a row for each server, in Markdown."""
    rows = [
        "| server, threads | prompt | tokens/s | decoding | tokens/s | drafts accepted | same text |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    first = next(iter(written.values()))
    for name, mine in written.items():
        accepted = sum(answer.cost.draft_accepted_n for answer in mine)
        drafted = sum(answer.cost.draft_n for answer in mine)
        n_same = sum(a.text == b.text for a, b in zip(mine, first, strict=True))
        speeds = list[str]()
        for speed in (_prompt, _decoding):
            per_ms = statistics.median(speed(answer.cost) for answer in mine)
            speeds += [f"{times_as_fast(mine, first, speed):.2f}", f"{per_ms * 1e3:.0f}"]
        cells = (name, *speeds, f"{accepted} of {drafted}", f"{n_same} of {len(mine)}")
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def times_as_fast(
    mine: Sequence[Written], first: Sequence[Written], speed: Callable[[Timings], float]
) -> float:
    """Return the median of the pairs of one place."""
    pairs = zip(mine, first, strict=True)
    return statistics.median(speed(a.cost) / speed(b.cost) for a, b in pairs if speed(b.cost))


def _prompt(cost: Timings) -> float:
    """Return tokens per millisecond."""
    return cost.prompt_n / max(cost.prompt_ms, 1e-3)


def _decoding(cost: Timings) -> float:
    """Return tokens per millisecond."""
    return cost.predicted_n / max(cost.predicted_ms, 1e-3)


def _options() -> argparse.Namespace:
    parser = arguments.parser("engines", __doc__)
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="*", type=Path, default=[OURS], help="files and folders")
    add("--model", default=str(programs.BUNDLED), help="a GGUF file (default: the bundled model)")
    add("--threads", type=int, nargs="+", default=[1, 2], metavar="N", help="of each server")
    add("--servers", nargs="*", choices=(ENGINE, LOOSE, SERVER), default=[ENGINE, SERVER])
    add("--long-spins", action="store_true", help="also with threads that spin for milliseconds")
    add("--drafts", action="store_true", help="also a llama-server that drafts by n-grams")
    add("--draft", default="", help="a smaller model of the same family: also with its drafts")
    add("--chars", type=int, default=N_CHARS, help="of each prompt")
    add("--tokens", type=int, default=16, help="of text at each place")
    add("--places", type=int, default=N_PLACES, help="so many prompts")
    add("--json", type=Path, help="where to write every text")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""
Does speculation pay: n-grams, a draft model, both as a chain, each beside a server without drafts.

    export FIM_TEST_LLAMA_SERVER=$(sh scripts/install-llama-server)
    python -m benchmarks.speculation --model big.gguf --draft small.gguf              # this project's own code
    python -m benchmarks.speculation --model big.gguf --threads 1 2 --json found.json ~/src/shop

A server cannot switch drafting per request, so there is one for each kind, all started as `fim-lsp serve` starts them.
At each place they write the same number of tokens one after the other, in an order that changes: other work on
the machine slows down all of them. A kind's speed is given relative to that of no drafts, as the median of the places.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.layouts import OURS, Trial, completed, prompt_at, trials
from fim_lsp.prompt.window import Budget
from server_bridge.process import programs
from server_bridge.process.command_line import Machine
from server_bridge.protocol import Model, Prompt, Request, Timings
from tests.server_bridge.serving import served

NONE, NGRAMS, MODEL, CHAIN = "none", "n-grams", "draft model", "both"
N_PLACES = 16
TOKENS = 32  # three lines
WINDOW = Budget(800, 200, 200)  # characters: what is evaluated first is not what is measured
MEMORY = 4 << 30  # bytes that each server is given, so that four of them fit


class Written(NamedTuple):
    """What a server wrote at one place, and what that cost."""

    text: str
    cost: Timings

    @property
    def per_second(self) -> float:
        """Tokens."""
        return 1e3 * self.cost.predicted_n / max(self.cost.predicted_ms, 1e-3)


Rows = dict[str, list[Written]]


def main() -> None:
    """Measure, print, write."""
    given = _options()
    where = trials([path.resolve() for path in given.paths], given.places)
    found = {n: asyncio.run(measured(given, n, where)) for n in given.threads}
    print(table(found))
    if given.json:
        rows = {
            f"{kind}, {n} threads": [[each.text, *_figures(each.cost)] for each in written]
            for n, by_kind in found.items()
            for kind, written in by_kind.items()
        }
        given.json.write_text(json.dumps(rows, indent=1), "utf-8")


async def measured(given: argparse.Namespace, n_threads: int, where: Sequence[Trial]) -> Rows:
    """Return what each kind of speculation wrote at all places."""
    found: Rows = {}
    machine = with_threads(n_threads)
    async with AsyncExitStack() as running:
        servers: dict[str, Model] = {}
        for kind, wishes in kinds(given.draft).items():
            folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
            serving = served(folder, machine, model=given.model, **wishes)
            servers[kind], found[kind] = await running.enter_async_context(serving), []
        for n, trial in enumerate(where):
            prompt = prompt_at(WINDOW, trial)
            order = [*servers][n % len(servers) :] + [*servers][: n % len(servers)]
            for kind in order:
                found[kind].append(await written(servers[kind], prompt))
    return found


def kinds(draft: str) -> dict[str, dict[str, Any]]:
    """Return what is compared, and what of a plan makes it."""
    found: dict[str, dict[str, Any]] = {NONE: {"speculate": False}, NGRAMS: {"speculate": True}}
    if draft:
        found[MODEL] = {"speculate": False, "draft": draft}
        found[CHAIN] = {"speculate": True, "draft": draft}
    return found


def with_threads(n: int) -> Machine:
    """Return a machine on which `fim-lsp serve` takes *n* threads, and little memory."""
    return programs.machine(None)._replace(cores=1 if n == 1 else 2 * n, memory=MEMORY)


async def written(server: Model, prompt: Prompt) -> Written:
    """Return what *server* goes on with once it has evaluated *prompt*."""
    reply = await completed(server, Request(prompt, TOKENS))
    return Written(reply.text, reply.timings)


def table(found: dict[int, Rows]) -> str:
    """Return a row for each number of threads and kind, in Markdown."""
    rows = [
        "| threads | drafts by | accepted | tokens/s | times as fast | same text |",
        "| ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for n_threads, by_kind in found.items():
        without = by_kind[NONE]
        for kind, mine in by_kind.items():
            accepted = sum(each.cost.draft_accepted_n for each in mine)
            drafted = sum(each.cost.draft_n for each in mine)
            speed = statistics.median(each.per_second for each in mine)
            n_same = sum(a.text == b.text for a, b in zip(mine, without, strict=True))
            rows.append(
                f"| {n_threads} | {kind} | {accepted} of {drafted} | {speed:.1f} "
                f"| {times_as_fast(mine, without):.2f} | {n_same} of {len(mine)} |"
            )
    return "\n".join(rows)


def times_as_fast(mine: Sequence[Written], without: Sequence[Written]) -> float:
    """Return the median of the pairs of one place."""
    pairs = zip(mine, without, strict=True)
    return statistics.median(a.per_second / b.per_second for a, b in pairs if b.cost.predicted_n)


def _figures(cost: Timings) -> tuple[float, ...]:
    return cost.predicted_n, cost.predicted_ms, cost.draft_n, cost.draft_accepted_n


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="*", type=Path, default=[OURS], help="files and folders")
    add("--model", default="", help="a GGUF file (default: the bundled model)")
    add("--draft", default="", help="a smaller one of the same family")
    add("--threads", type=int, nargs="+", default=[1], metavar="N", help="of each server")
    add("--places", type=int, default=N_PLACES, help="so many texts")
    add("--json", type=Path, help="where to write every text")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""
The engine inside the package beside a llama-server, and threads that spin beside threads that sleep.

    export FIM_TEST_LLAMA_SERVER=$(sh scripts/install-llama-server)
    python -m benchmarks.engines --model qwen.gguf --threads 1 2
    python -m benchmarks.engines --model qwen.gguf --threads 2 --long-spins     # as libgomp does by default

All run at the same time and are asked in turn, each time for a prompt that none has seen: other work on the machine slows
down all of them, and each figure is the median of what one took relative to the engine with the first number of threads.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from unittest.mock import patch

from benchmarks.layouts import OURS, prompt_at, trials
from benchmarks.speculation import with_threads
from fim_lsp.prompt.window import Budget
from server_bridge.process import programs, supervisor
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import Model, Request, Timings
from tests.server_bridge.serving import served

N_PLACES = 12
TOKENS = 16  # a line
WINDOW = Budget(300, 100, 100)  # characters, about 130 tokens
N_CTX = 4096

Costs = dict[str, list[Timings]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", default=str(programs.BUNDLED), help="a GGUF file (default: the bundled model)")
    add("--threads", type=int, nargs="+", default=[1, 2], metavar="N", help="of each server")
    add("--long-spins", action="store_true", help="also with threads that spin for milliseconds")
    add("--places", type=int, default=N_PLACES, help="so many prompts")
    print(table(asyncio.run(measured(parser.parse_args()))))


async def measured(given: argparse.Namespace) -> Costs:
    """Return what each took at all places."""
    async with AsyncExitStack() as running:

        async def engine(n: int) -> Model:
            ours = Embedded(EmbeddedSettings(model=given.model, n_threads=n, n_ctx=N_CTX))
            running.push_async_callback(ours.aclose)
            return await ours.connect()

        asked: dict[str, Model] = {}
        for n in given.threads:
            asked[f"engine, {n}"] = await engine(n)
            folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
            server = served(folder, with_threads(n), model=given.model, speculate=False)
            asked[f"llama-server, {n}"] = await running.enter_async_context(server)
            if given.long_spins:
                with patch.object(supervisor, "SPINS", {}):
                    asked[f"engine, {n}, long spins"] = await engine(n)
        found: Costs = {name: [] for name in asked}
        for k, trial in enumerate(trials([OURS], given.places)):
            prompt = prompt_at(WINDOW, trial)
            for name in [*asked][k % len(asked) :] + [*asked][: k % len(asked)]:
                found[name].append((await asked[name].complete(Request(prompt, TOKENS))).timings)
    return found


def table(found: Costs) -> str:
    """Return a row for each, in Markdown: prompt and decoding beside those of the first one."""
    rows = ["| server, threads | prompt | decoding |", "| --- | ---: | ---: |"]
    first = next(iter(found.values()))
    for name, costs in found.items():
        prompt = [_prompt(a) / _prompt(b) for a, b in zip(costs, first, strict=True)]
        decoded = [_decoded(a) / _decoded(b) for a, b in zip(costs, first, strict=True)]
        rows.append(
            f"| {name} | {statistics.median(prompt):.2f} | {statistics.median(decoded):.2f} |"
        )
    return "\n".join(rows)


def _prompt(cost: Timings) -> float:
    """Return tokens per millisecond."""
    return cost.prompt_n / cost.prompt_ms


def _decoded(cost: Timings) -> float:
    """Return tokens per millisecond."""
    return cost.predicted_n / cost.predicted_ms


if __name__ == "__main__":
    main()

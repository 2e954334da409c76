"""
How long a key waits while something else is being evaluated: in steps, at once, cancelled.

    python -m benchmarks.prefill                                    # the bundled model
    python -m benchmarks.prefill --model mid.gguf --chunks 16       # slower, as real models are
    python -m benchmarks.prefill --kind openai --url http://127.0.0.1:8080    # mlx_lm.server, vLLM …

While idle a session evaluates the ring ahead. A key comes in the middle of that, at nine moments in turn,
and asks for one token of another file, which is warm. *steps*: as the session does it, a quarter of a
second each. *at once*: one long request, the key waits for its end. *cancelled*: the same, but its
connection is closed when the key comes. The table also says how long the evaluation takes without
a key, and how much of the prompt is still to be evaluated after the key was answered: where a
server drops what it did for a cancelled request, that is all of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.figures import at
from benchmarks.places import LIBRARY, Place, frame, places, prompt
from benchmarks.serve import BUNDLED, serving
from fim_lsp.session import generation
from fim_lsp.session.scheduler import Scheduler
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.openai.backend import OpenAiServer
from server_bridge.protocol import Backend, Model, Prompt, Request

N_KEYS = 18
N_MOMENTS = 9  # of the evaluation at which a key comes: tenths of its time
N_CHUNKS = 4  # as many as fit into the bundled model's context beside the window
AT_ONCE = 1 << 20  # tokens: more than any prompt has
PATIENCE_S = 600.0  # for one request: a session itself never waits so long
QUIET = "nothing else"
MODES = ("steps", "at once", "cancelled")


@dataclass(slots=True)
class Row:
    """
    One way to evaluate ahead: how long a key waits, milliseconds undisturbed, tokens in all.

    *left* are shares of the prompt, one per key as are *waits_ms*.
    """

    name: str
    whole_ms: float = 0.0
    n_tokens: int = 0
    waits_ms: list[float] = field(default_factory=list)
    left: list[float] = field(default_factory=list)


def main() -> None:
    """Measure, print, write."""
    options = _options()
    where = places([LIBRARY], 1, options.chunks)[0]
    if options.url:
        kinds = {"llama-server": LlamaServer, "openai": OpenAiServer}
        rows = _run(
            kinds[options.kind](Http(options.url, patience_s=PATIENCE_S)), where, options.keys
        )
    else:
        with serving(options.model) as url:
            rows = _run(LlamaServer(Http(url, patience_s=PATIENCE_S)), where, options.keys)
    options.out.mkdir(parents=True, exist_ok=True)
    found = {row.name: [row.whole_ms, row.n_tokens, row.waits_ms, row.left] for row in rows}
    (options.out / "prefill.json").write_text(json.dumps(found), "utf-8")
    print(table(rows))


def _run(backend: Backend, where: Place, n_keys: int) -> list[Row]:
    return asyncio.run(measured(backend, where, n_keys))


async def measured(backend: Backend, where: Place, n_keys: int) -> list[Row]:
    """Return a row for each mode, after one for a key on an idle server."""
    model = await backend.connect()
    fresh, key = _fresh(where, model), _key(where, model)
    await _evaluate(model, next(fresh), AT_ONCE)  # the speed is learnt, the steps sized
    await model.complete(Request(key, 1))
    rows = [Row(QUIET)]
    for _ in range(n_keys):
        began = time.perf_counter()
        await model.complete(Request(key, 1))
        rows[0].waits_ms.append(_ms_since(began))
    for mode in MODES:
        row = Row(mode)
        step = generation.step_tokens(model.state) if mode == "steps" else AT_ONCE
        began = time.perf_counter()
        row.n_tokens = await _evaluate(model, next(fresh), step)
        row.whole_ms = _ms_since(began)
        for n in range(n_keys):
            moment_s = row.whole_ms / 1e3 * (1 + n % N_MOMENTS) / (1 + N_MOMENTS)
            ahead = next(fresh)
            cancel = mode == "cancelled"
            row.waits_ms.append(await _disturbed(model, ahead, key, step, moment_s, cancel=cancel))
            row.left.append(await _evaluate(model, ahead, step) / row.n_tokens)
        rows.append(row)
    await backend.aclose()
    return rows


async def _disturbed(
    model: Model, ahead: Prompt, key: Prompt, step: int, moment_s: float, *, cancel: bool
) -> float:
    """Evaluate *ahead*; after a moment a key comes. Milliseconds until it has its token."""
    scheduler = Scheduler(("warm",))

    async def warm() -> bool:
        return (await model.warm(ahead, step)).left > 0

    scheduler.background("warm", warm)
    await asyncio.sleep(moment_s)
    began = time.perf_counter()
    if cancel:
        await scheduler.aclose()
    waiting = asyncio.create_task(scheduler.foreground(lambda: model.complete(Request(key, 1))))
    scheduler.drop("warm")
    await waiting
    wait_ms = _ms_since(began)
    await scheduler.wait_idle()
    return wait_ms


async def _evaluate(model: Model, ahead: Prompt, step: int) -> int:
    """Evaluate what is left of a prompt; tokens."""
    n_tokens = 0
    while True:
        warmed = await model.warm(ahead, step)
        n_tokens += warmed.evaluated
        if not warmed.left:
            return n_tokens


def _fresh(where: Place, model: Model) -> Iterator[Prompt]:
    """Prompts that no server has seen: each begins differently."""
    around = prompt(where, frame(where, model.state), where.typed)
    n = 0
    while True:
        n += 1
        yield replace(around, repo=f"{n} {around.repo}", path="ahead.py")


def _key(where: Place, model: Model) -> Prompt:
    """Return the request of a key: a small prompt of another file."""
    around = prompt(where, frame(where, model.state), where.typed)
    return replace(around, repo="typed", chunks=())


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1e3


def table(rows: list[Row]) -> str:
    """Return a Markdown table."""
    lines = [
        "| evaluated ahead | key waits p50 ms | p95 | undisturbed ms | tokens | left after the key |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        waits = f"{at(row.waits_ms, 0.5):.0f} | {at(row.waits_ms, 0.95):.0f}"
        left = f"{sum(row.left) / len(row.left):.0%}" if row.left else ""
        whole = f"{row.whole_ms:.0f} | {row.n_tokens} | {left}" if row.left else " | | "
        lines.append(f"| {row.name} | {waits} | {whole} |")
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--url", help="measure on a server that runs already")
    add("--kind", choices=["llama-server", "openai"], default="llama-server", help="what it is")
    add("--chunks", type=int, default=N_CHUNKS, help="chunks of 64 lines to evaluate ahead")
    add("--keys", type=int, default=N_KEYS, help="so many per row")
    add("--out", type=Path, default=Path("benchmarks/results"), help="where to write the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()

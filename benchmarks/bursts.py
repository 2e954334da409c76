"""
Decoding in bursts: the same text, what it costs, and how long a newer key waits.

    python -m benchmarks.bursts                             # the bundled model
    python -m benchmarks.bursts --model mid.gguf --limit 20
    python -m benchmarks.bursts --url http://127.0.0.1:8080 --kind openai --name qwen2.5-coder

At each place 32 tokens are decoded by bursts of 1, 2, 4, 8, 16 and 32 tokens, the prompt being warm.
*same* counts places where the text is the one of a single request. *tokens again* are prompt tokens that
the bursts after the first evaluated: one each is the token made last, which any decoding evaluates.
*waits* is how long a burst takes: who presses a key while it is under way waits for what is left of it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.exact import PACKAGES, sources
from benchmarks.figures import at
from benchmarks.heldout import Hole, holes
from benchmarks.serve import BUNDLED, serving
from fim_lsp import engine
from fim_lsp.documents import Position, opened
from fim_lsp.view import Frame, Header
from fim_lsp.window import Budget, anchored, middle
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Backend, Prompt, Request, Stop, extended

BURSTS = (32, 16, 8, 4, 2, 1)  # tokens; the first is one request for all
N_TOKENS = 32
BUDGET = Budget(prefix=3000, suffix=1500, middle=1000)


class Decoded(NamedTuple):
    """*made* tokens spell *text*; what the bursts after the first evaluated, and how long each took."""

    text: str
    made: int
    again: list[int]
    ms: list[float]


@dataclass(frozen=True, slots=True)
class Row:
    """One length of bursts over all places."""

    burst: int
    places: int
    same: int
    tokens_again: float  # per burst after the first
    ms_per_token: float  # median over places
    waits_p50: float
    waits_p95: float


def main() -> None:
    """Measure, print, write."""
    options = _options()
    packages = {name: sources(name) for name in PACKAGES}
    wanted = holes(packages)
    wanted = wanted[:: max(1, len(wanted) // options.limit)]
    prompts = [_prompt(hole, packages[hole.package][hole.path]) for hole in wanted]
    with _server(options) as url:
        settings = BackendSettings(kind=options.kind, url=url, model=options.name)
        rows, chosen = asyncio.run(_measure(settings, prompts))
    print(table(rows), f"fim-lsp would take bursts of {chosen} tokens here", sep="\n")
    options.out.mkdir(parents=True, exist_ok=True)
    raw = json.dumps({"chosen": chosen, "rows": [asdict(row) for row in rows]}, indent=1)
    (options.out / f"bursts-{options.kind}.json").write_text(raw + "\n", "utf-8")


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    head = "| tokens per burst | places | same text | tokens again | ms per token | a key waits ms p50 | p95 |"
    lines = [head, "| ---: " * 7 + "|"]
    for row in rows:
        cells = (
            row.burst, row.places, row.same, f"{row.tokens_again:.2f}", f"{row.ms_per_token:.2f}",
            f"{row.waits_p50:.0f}", f"{row.waits_p95:.0f}",
        )  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


async def _measure(settings: BackendSettings, prompts: Sequence[Prompt]) -> tuple[list[Row], int]:
    backend = open_backend(settings)
    await backend.connect()
    decoded: dict[int, list[Decoded]] = {burst: [] for burst in BURSTS}
    for prompt in prompts:
        await _decode(backend, prompt, 1)  # warm
        for burst, some in decoded.items():
            some.append(await _decode(backend, prompt, burst))
    chosen = engine.burst_tokens(backend.state)
    await backend.aclose()
    wholes = [each.text for each in decoded[BURSTS[0]]]
    return [_row(burst, some, wholes) for burst, some in decoded.items()], chosen


async def _decode(backend: Backend, prompt: Prompt, burst: int) -> Decoded:
    """Up to `N_TOKENS` tokens, *burst* at a time."""
    text, again, made, ms = "", [], 0, []
    while made < N_TOKENS:
        began = time.perf_counter()
        reply = await backend.complete(Request(prompt, min(burst, N_TOKENS - made)))
        ms.append((time.perf_counter() - began) * 1e3)
        again.append(reply.timings.prompt_n)
        made += max(1, reply.timings.predicted_n)
        text, prompt = text + reply.text, extended(prompt, reply)
        if reply.stop is not Stop.LIMIT:
            break
    return Decoded(text, made, again[1:], ms)


def _row(burst: int, some: Sequence[Decoded], wholes: Sequence[str]) -> Row:
    again = [n for each in some for n in each.again]
    waits = [ms for each in some for ms in each.ms]
    return Row(
        burst=burst,
        places=len(some),
        same=sum(each.text == whole for each, whole in zip(some, wholes, strict=True)),
        tokens_again=sum(again) / max(1, len(again)),
        ms_per_token=at([sum(each.ms) / each.made for each in some], 0.5),
        waits_p50=at(waits, 0.5),
        waits_p95=at(waits, 0.95),
    )


def _prompt(hole: Hole, text: str) -> Prompt:
    """What the model is shown at a place, without chunks from elsewhere."""
    lines = text.split("\n")
    lines[hole.line] = hole.typed
    document = opened(f"file:///{hole.path}", "python", 1, "\n".join(lines))
    position = Position(hole.line, len(hole.typed))
    window = anchored(document, position, BUDGET, None)
    header = Header(hole.package, (), hole.path, "python")
    return engine.compose(Frame(header, window), middle(window, document, position), ())


def _server(options: argparse.Namespace) -> contextlib.AbstractContextManager[str]:
    return contextlib.nullcontext(options.url) if options.url else serving(options.model)


def _options() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--url", help="measure on a server that runs already")
    add("--kind", choices=("llama-server", "openai"), default="llama-server")
    add("--name", default="", help="of the model, where the server has several")
    add("--limit", type=int, default=100, help="about so many places")
    add("--out", type=Path, default=Path("benchmarks/results"), help="where to write the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()

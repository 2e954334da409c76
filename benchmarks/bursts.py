"""
How long a burst should be: what short requests cost in throughput, and how much sooner a newer key is served.

    python -m benchmarks.bursts                                     # the bundled model
    python -m benchmarks.bursts --model mid.gguf                    # slower, as real models are
    python -m benchmarks.bursts --url http://127.0.0.1:8080         # your own llama.cpp server
    python -m benchmarks.bursts --kind openai --url http://127.0.0.1:8000     # vLLM …

At each place the same text is decoded in bursts of 1, 2, 4 … tokens and in one request. Columns: whether
all texts are the same, token by token; the tokens evaluated to continue after a burst (at most); wall
time per token; and how long a newer key waits for its first token when it comes in the middle of the
decoding, which then pauses after its burst. "cancelled" is one long request whose connection is closed
instead. The last line says which burst the session would choose, and by what rule.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import at
from benchmarks.places import LIBRARY, Place, frame, places, prompt
from benchmarks.serve import BUNDLED, serving
from benchmarks.wire import Wire
from fim_lsp.documents import Position, opened
from fim_lsp.session import pacing
from fim_lsp.session.generation import Generation, Phase, Terms, generate
from fim_lsp.session.prefill import NOWHERE
from fim_lsp.session.scheduler import Scheduler
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.cursor import cursor_at
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Backend, Prompt, Reply, Request, Stop, extended

BURSTS = (1, 2, 4, 8, 16)
N_PLACES = 27
N_TOKENS = 64
N_MOMENTS = 9  # of the decoding at which a newer key comes: tenths of its time
NEWER = "q"  # agrees with hardly any text, so it cannot use the decoding


@dataclass(slots=True)
class Row:
    """One length of burst: lists have an entry per place. *same*: the text is that of one request."""

    burst: int
    same: list[bool]
    again: list[int]
    ms_per_token: list[float]
    waits_ms: list[float]


class Endless(Wire):
    """To llama.cpp, with a model that may not end its text: every decoding has the requested length."""

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        """Send as `Wire.post` does."""
        if path == "/completion":
            body = body[:-1] + b',"ignore_eos":true}'
        return await super().post(path, body)


def main() -> None:
    """Measure, print, write."""
    options = _options()
    where = places([LIBRARY], options.places, 0)
    if options.url:
        settings = BackendSettings(kind=options.kind, url=options.url)
        rows, line = asyncio.run(measured(open_backend(settings), where))
    else:
        with serving(options.model) as url:
            rows, line = asyncio.run(measured(endless(url), where))
    options.out.mkdir(parents=True, exist_ok=True)
    found = {"rows": [[getattr(row, name) for name in Row.__slots__] for row in rows]}
    (options.out / "bursts.json").write_text(json.dumps(found), "utf-8")
    print(table(rows), line, sep="\n\n")


def endless(url: str) -> LlamaServer:
    """A llama.cpp server as a backend whose texts do not end."""
    return LlamaServer(Endless(url))


async def measured(backend: Backend, where: list[Place]) -> tuple[list[Row], str]:
    """The rows, one long request last but one and cancelled ones last; and the burst that would be chosen."""
    await backend.connect()
    rows = [Row(burst, [], [], [], []) for burst in (*BURSTS, N_TOKENS, 0)]
    for n, cursor in enumerate(where):
        request = prompt(cursor, frame(cursor, backend.state), cursor.typed, ())
        newer = prompt(cursor, frame(cursor, backend.state), cursor.typed + NEWER, ())
        while (await backend.warm(request, pacing.step_tokens(backend.state))).left:
            pass
        whole, long_ms = await decoded(backend, request, N_TOKENS)
        moment_s = long_ms / 1e3 * (1 + n % N_MOMENTS) / (1 + N_MOMENTS)
        for row in rows:
            replies, ms = await decoded(backend, request, row.burst or N_TOKENS)
            row.same.append(_text(replies) == _text(whole))
            row.again += [reply.timings.prompt_n for reply in replies[1:]]
            row.ms_per_token.append(ms / sum(reply.timings.predicted_n for reply in replies))
            row.waits_ms.append(await waited(backend, request, newer, row.burst, moment_s))
    state = backend.state
    await backend.aclose()
    return rows, (
        f"At {state.decode_ms:.1f} ms per token a session decodes in bursts of "
        f"{pacing.burst_tokens(state)}: as many as take {1e3 * pacing.BURST_S:.0f} ms, "
        f"between {pacing.BURST_TOKENS[0]} and {pacing.BURST_TOKENS[1]}."
    )


async def decoded(backend: Backend, request: Prompt, burst: int) -> tuple[list[Reply], float]:
    """`N_TOKENS` tokens in bursts, and the milliseconds they took."""
    began, left, replies = time.perf_counter(), N_TOKENS, []
    while left > 0:
        reply = await backend.complete(Request(request, min(burst, left)))
        replies.append(reply)
        if reply.stop is not Stop.LIMIT:
            break
        request = extended(request, reply)
        left -= reply.timings.predicted_n
    return replies, (time.perf_counter() - began) * 1e3


async def waited(
    backend: Backend, request: Prompt, newer: Prompt, burst: int, moment_s: float
) -> float:
    """Milliseconds to the first token for a *newer* prompt, *moment_s* into a decoding; 0: cancel it."""
    scheduler, generation = Scheduler(()), _generation(request, burst or N_TOKENS)
    generating = asyncio.create_task(generate(generation, backend, scheduler, Stats()))
    await asyncio.sleep(moment_s)
    generation.waiting = 0
    began = time.perf_counter()
    if not burst:
        generating.cancel()
    await scheduler.foreground(lambda: backend.complete(Request(newer, 1)))
    ms = (time.perf_counter() - began) * 1e3
    await asyncio.gather(generating, return_exceptions=True)
    return ms


def _generation(request: Prompt, burst: int) -> Generation:
    """A generation that a request waits for and that never ends by itself."""
    terms = Terms(burst, N_TOKENS, pacing.STEP_TOKENS[1], lambda _: False)
    here = cursor_at(opened("", "", 1, ""), Position(0, 0), request.path)
    generation = Generation(here, NOWHERE, request.middle, request, terms, N_TOKENS)
    generation.phase, generation.waiting = Phase.DECODE, 1
    return generation


def table(rows: list[Row]) -> str:
    """A Markdown table."""
    lines = [
        "| burst | same text | evaluated again | ms per token | newer key p50 | p95 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        name = {0: "one, cancelled", N_TOKENS: "one"}.get(row.burst, str(row.burst))
        lines.append(
            f"| {name} | {sum(row.same)} of {len(row.same)} | {max(row.again, default=0)} "
            f"| {at(row.ms_per_token, 0.5):.2f} | {at(row.waits_ms, 0.5):.0f} | {at(row.waits_ms, 0.95):.0f} |"
        )
    return "\n".join(lines)


def _text(replies: list[Reply]) -> list[object]:
    """What was decoded, token by token where the backend tells them apart."""
    return [token.id for reply in replies for token in reply.tokens] + [
        "".join(reply.text for reply in replies)
    ]


def _options() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--url", help="measure on a server that runs already")
    add("--kind", choices=["llama-server", "openai"], default="llama-server", help="what it is")
    add("--places", type=int, default=N_PLACES, help="so many texts")
    add("--out", type=Path, default=Path("benchmarks/results"), help="where to write the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()

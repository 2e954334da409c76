"""
How long a burst should be: what short requests cost in throughput, what they spare somebody who types on.

    python -m benchmarks.bursts                                     # the bundled model
    python -m benchmarks.bursts --model mid.gguf                    # slower, as real models are
    python -m benchmarks.bursts --url http://127.0.0.1:8080         # your own llama.cpp server
    python -m benchmarks.bursts --kind openai --url http://127.0.0.1:8000     # vLLM …

At each place the same text is decoded in bursts of 1, 2, 4 … tokens and in one request. Columns: whether
all texts are the same, token by token; the tokens evaluated anew to go on after a burst (at most); wall
time per token; and how long a newer key waits for its first token when it comes in the middle of the
decoding, which then rests after its burst. "cancelled" is one long request whose connection is closed
instead. The last line says which burst the session would choose by itself, and by what rule.
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
from fim_lsp import engine
from fim_lsp.documents import Position, opened
from fim_lsp.flight import Flight, Terms, fly
from fim_lsp.prefill import NOWHERE
from fim_lsp.scheduler import Scheduler
from fim_lsp.stats import Stats
from fim_lsp.suggest.place import place_at
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.llama import LlamaServer
from server_bridge.protocol import Backend, Prompt, Reply, Request, Stop, extended

BURSTS = (1, 2, 4, 8, 16)
N_PLACES = 27
N_TOKENS = 64
N_MOMENTS = 9  # of the decoding at which a newer key comes: tenths of its time
NEWER = "q"  # agrees with hardly any text, so the decoding is of no use to it


@dataclass(slots=True)
class Row:
    """One length of burst: lists have an entry per place. *same*: the text is that of one request."""

    burst: int
    same: list[bool]
    anew: list[int]
    ms_per_token: list[float]
    waits_ms: list[float]


class Endless(Wire):
    """To llama.cpp, with a model that may not end its text: every decoding is as long as asked for."""

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
    """The rows, one long request last but one and cancelled ones last; and what would be chosen."""
    await backend.connect()
    rows = [Row(burst, [], [], [], []) for burst in (*BURSTS, N_TOKENS, 0)]
    for n, place in enumerate(where):
        asked = prompt(place, frame(place, backend.state), place.typed, ())
        newer = prompt(place, frame(place, backend.state), place.typed + NEWER, ())
        while (await backend.warm(asked, engine.step_tokens(backend.state))).left:
            pass
        whole, long_ms = await decoded(backend, asked, N_TOKENS)
        moment_s = long_ms / 1e3 * (1 + n % N_MOMENTS) / (1 + N_MOMENTS)
        for row in rows:
            replies, ms = await decoded(backend, asked, row.burst or N_TOKENS)
            row.same.append(_text(replies) == _text(whole))
            row.anew += [reply.timings.prompt_n for reply in replies[1:]]
            row.ms_per_token.append(ms / sum(reply.timings.predicted_n for reply in replies))
            row.waits_ms.append(await waited(backend, asked, newer, row.burst, moment_s))
    state = backend.state
    await backend.aclose()
    return rows, (
        f"At {state.decode_ms:.1f} ms per token a session decodes in bursts of "
        f"{engine.burst_tokens(state)}: as many as take {1e3 * engine.BURST_S:.0f} ms, "
        f"between {engine.BURST_TOKENS[0]} and {engine.BURST_TOKENS[1]}."
    )


async def decoded(backend: Backend, asked: Prompt, burst: int) -> tuple[list[Reply], float]:
    """`N_TOKENS` tokens in bursts, and the milliseconds they took."""
    began, left, replies = time.perf_counter(), N_TOKENS, []
    while left > 0:
        reply = await backend.complete(Request(asked, min(burst, left)))
        replies.append(reply)
        if reply.stop is not Stop.LIMIT:
            break
        asked = extended(asked, reply)
        left -= reply.timings.predicted_n
    return replies, (time.perf_counter() - began) * 1e3


async def waited(
    backend: Backend, asked: Prompt, newer: Prompt, burst: int, moment_s: float
) -> float:
    """Milliseconds to the first token for a *newer* prompt, *moment_s* into a decoding; 0: cancel it."""
    lane, flight = Scheduler(()), _flight(asked, burst or N_TOKENS)
    flying = asyncio.create_task(fly(flight, backend, lane, Stats()))
    await asyncio.sleep(moment_s)
    flight.waiting = 0
    began = time.perf_counter()
    if not burst:
        flying.cancel()
    await lane.foreground(lambda: backend.complete(Request(newer, 1)))
    ms = (time.perf_counter() - began) * 1e3
    await asyncio.gather(flying, return_exceptions=True)
    return ms


def _flight(asked: Prompt, burst: int) -> Flight:
    """A flight that somebody waits for and that is never whole."""
    terms = Terms(burst, N_TOKENS, engine.STEP_TOKENS[1], lambda _: False)
    here = place_at(opened("", "", 1, ""), Position(0, 0), asked.path)
    return Flight(
        here, NOWHERE, asked.middle, asked.forced, asked, terms, N_TOKENS, warmed=True, waiting=1
    )


def table(rows: list[Row]) -> str:
    """A Markdown table."""
    lines = [
        "| burst | same text | evaluated anew | ms per token | newer key p50 | p95 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        name = {0: "one, cancelled", N_TOKENS: "one"}.get(row.burst, str(row.burst))
        lines.append(
            f"| {name} | {sum(row.same)} of {len(row.same)} | {max(row.anew, default=0)} "
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
